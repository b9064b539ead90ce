/*
 * Configuration into a region and out of it again (config.h).
 *
 * In: struct rec_config. Out: the settings page, header fields and text of a region, in an order
 * that hooks may watch at any moment. Never here: parsing.
 */
#include <fcntl.h>
#include <unistd.h>

#include "recorder/base/text.h"
#include "recorder/engine/config.h"
#include "recorder/engine/config_value.h"
#include "recorder/sys/raw.h"

/* The text section: the configuration, then at this offset what was wrong with it. */
#define PROBLEMS_AT (REC_TEXT_BYTES - PROBLEMS_BYTES)
#define PROBLEMS_BYTES 1024u

struct rec_event_setting rec_config_setting(const struct rec_config *config,
					    const struct ev_type *type, uint64_t *threshold_ns)
{
	const struct rec_config_event *own = &config->event[type->number];
	const struct ev_preset everything = { 1, 1, 0 };
	const struct ev_preset *preset = config->preset == REC_PRESET_EVERYTHING ? &everything
					 : config->preset == REC_PRESET_PROFILE
						 ? &type->preset_profile
						 : &type->preset_default;
	bool by_preset = preset->enabled &&
			 (config->preset != REC_PRESET_NONE || type->gate == EV_GATE_DUMP);
	bool is_enabled = own->set & REC_CONFIG_SET_ENABLED ? own->is_enabled : by_preset;
	bool has_stack = own->set & REC_CONFIG_SET_STACK ? own->has_stack : preset->stack;
	struct rec_event_setting setting = { 0, 0, 0, 0, 0 };

	*threshold_ns = own->set & REC_CONFIG_SET_THRESHOLD ? own->threshold_ns
							    : preset->threshold_us * 1000ull;
	setting.flags = (is_enabled ? REC_EVENT_ENABLED : 0) |
			(has_stack && (type->shape & EV_HAS_STACK) ? REC_EVENT_STACK : 0);
	setting.period_ms = own->set & REC_CONFIG_SET_PERIOD ? own->period_ms : 0;
	setting.sample = own->set & REC_CONFIG_SET_SAMPLE ? own->sample : 1;
	setting.threshold_us = (uint32_t)(*threshold_ns / 1000);
	return setting;
}

/* Everything the settings page will hold. */
static void settings_fill(const struct rec_config *config, const struct rec_region *region,
			  struct rec_settings *page)
{
	bool is_on = config->recording != 0;

	memset(page, 0, sizeof(*page));
	for (uint32_t i = 0; i < ev_type_count; i++) {
		const struct ev_type *type = &ev_types[i];
		struct rec_event_setting *event = &page->event[type->number];
		uint64_t ns;

		*event = rec_config_setting(config, type, &ns);
		event->threshold_ticks = UINT64_MAX;
		if (!(event->flags & REC_EVENT_ENABLED))
			continue;
		event->threshold_ticks = rec_clock_span_ticks(&region->header->clock, ns);
		if (is_on)
			page->gate[type->gate] = 1;
	}
	for (uint32_t i = 0; i < ARRAY_LEN(page->user); i++)
		page->user[i].flags = REC_EVENT_ENABLED | REC_EVENT_STACK;
	page->gate[EV_GATE_USER] = is_on;
	if (is_on && (page->event[EV_Malloc].flags & REC_EVENT_ENABLED))
		page->memory_mode = (uint8_t)config->memory_mode;
	/* Sleeps and waits for conditions look at it too, not only locks. */
	if (page->gate[EV_GATE_LOCK])
		page->lock_mode = (uint8_t)config->lock_mode;
	page->stack_depth = (uint8_t)config->stack_depth;
	page->recording = is_on;
	page->alloc_interval = config->alloc_interval;
}

static void event_store(struct rec_event_setting *to, const struct rec_event_setting *from)
{
	bool is_closing = from->threshold_ticks == UINT64_MAX;

	/* The threshold is what hooks compare: it falls first when closing, last when opening. */
	if (is_closing)
		__atomic_store_n(&to->threshold_ticks, UINT64_MAX, __ATOMIC_RELEASE);
	__atomic_store_n(&to->flags, from->flags, __ATOMIC_RELAXED);
	__atomic_store_n(&to->period_ms, from->period_ms, __ATOMIC_RELAXED);
	__atomic_store_n(&to->sample, from->sample, __ATOMIC_RELAXED);
	__atomic_store_n(&to->threshold_us, from->threshold_us, __ATOMIC_RELAXED);
	if (!is_closing)
		__atomic_store_n(&to->threshold_ticks, from->threshold_ticks, __ATOMIC_RELEASE);
}

/* Gates and modes; `is_opening` selects those that are on afterwards, else those that are off. */
static void gates_store(struct rec_settings *to, const struct rec_settings *from, bool is_opening)
{
	for (unsigned i = 0; i < ARRAY_LEN(to->gate); i++)
		if ((from->gate[i] != 0) == is_opening)
			__atomic_store_n(&to->gate[i], from->gate[i], __ATOMIC_RELEASE);
	if ((from->memory_mode != REC_MEMORY_OFF) == is_opening)
		__atomic_store_n(&to->memory_mode, from->memory_mode, __ATOMIC_RELEASE);
	if ((from->lock_mode != REC_LOCK_OFF) == is_opening)
		__atomic_store_n(&to->lock_mode, from->lock_mode, __ATOMIC_RELEASE);
}

static void settings_store(struct rec_settings *to, const struct rec_settings *from)
{
	gates_store(to, from, false);
	__atomic_store_n(&to->recording, from->recording, __ATOMIC_RELAXED);
	__atomic_store_n(&to->stack_depth, from->stack_depth, __ATOMIC_RELAXED);
	__atomic_store_n(&to->alloc_interval, from->alloc_interval, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < ARRAY_LEN(to->event); i++)
		event_store(&to->event[i], &from->event[i]);
	for (unsigned i = 0; i < ARRAY_LEN(to->user); i++)
		event_store(&to->user[i], &from->user[i]);
	gates_store(to, from, true);
	__atomic_fetch_add(&to->generation, 1, __ATOMIC_RELEASE);
}

/* Puts the working folder before a path that does not begin with '/'. */
static void make_absolute(char path[REC_CONFIG_PATH])
{
	char whole[REC_CONFIG_PATH];
	long got;
	size_t used, length = strlen(path);

	if (path[0] == '/')
		return;
	got = raw_syscall3(SYS_getcwd, (long)whole, sizeof(whole), 0);
	/* The kernel counts the NUL, and says "(unreachable)..." of a folder outside our root. */
	if (got < 2 || whole[0] != '/')
		return;
	used = (size_t)got - 1;
	if (used + 1 + length >= sizeof(whole))
		return;
	if (length && used > 1)
		whole[used++] = '/';
	memcpy(whole + used, path, length + 1);
	memcpy(path, whole, used + length + 1);
}

static void resolve_paths(struct rec_config *config)
{
	bool is_default = !config->dir[0];

	make_absolute(config->dir);
	if (config->dir[0] != '/' ||
	    (is_default &&
	     raw_syscall3(SYS_faccessat, AT_FDCWD, (long)config->dir, W_OK | X_OK) != 0))
		memcpy(config->dir, "/tmp", 5);
	if (config->log[0])
		make_absolute(config->log);
}

int rec_config_print(const struct rec_config *config, char *buffer, size_t size)
{
	struct text text = text_init(buffer, size);
	size_t whole = 0;

	for (unsigned key = 0; key < REC_CONFIG_KEY_COUNT; key++) {
		if (key == REC_CONFIG_config || (key == REC_CONFIG_log && !config->log[0]) ||
		    (key == REC_CONFIG_dir && !config->dir[0]))
			continue;
		text_put(&text, text.used ? "," : "");
		text_put(&text, rec_config_keys[key].name);
		text_put(&text, "=");
		rec_config_value_print(config, key, &text);
		whole = text.is_cut ? whole : text.used;
	}
	for (uint32_t i = 0; i < ev_type_count * REC_CONFIG_EVENT_SETTINGS; i++) {
		const struct ev_type *type = &ev_types[i / REC_CONFIG_EVENT_SETTINGS];
		const struct rec_config_event *event = &config->event[type->number];
		unsigned setting = i % REC_CONFIG_EVENT_SETTINGS;

		if (!(event->set & 1u << setting))
			continue;
		text_put(&text, ",");
		text_put(&text, strrchr(type->name, '.') + 1);
		text_put(&text, "#");
		text_put(&text, rec_config_event_names[setting]);
		text_put(&text, "=");
		rec_config_event_print(event, setting, &text);
		whole = text.is_cut ? whole : text.used;
	}
	if (!text.is_cut)
		return 0;
	buffer[whole] = 0;
	return HOLTER_E_LIMIT;
}

/* Processes and the leader read these at any moment, one by one. */
static void header_store(const struct rec_config *config, struct rec_header *header)
{
	__atomic_store_n(&header->children, config->children, __ATOMIC_RELAXED);
	__atomic_store_n(&header->dump_on_exit, config->dump_on_exit, __ATOMIC_RELAXED);
	__atomic_store_n(&header->compress, config->compress, __ATOMIC_RELAXED);
	__atomic_store_n(&header->interval_ms, config->interval_ms, __ATOMIC_RELAXED);
	__atomic_store_n(&header->trigger_signal, config->signal, __ATOMIC_RELAXED);
	__atomic_store_n(&header->leader_mode, config->leader, __ATOMIC_RELAXED);
}

int rec_config_apply(struct rec_config *config, struct rec_region *region,
		     const struct rec_config_report *report)
{
	struct rec_settings page;
	int result;

	resolve_paths(config);
	config->memory_bytes = region->layout.chunk_max * (uint64_t)REC_CHUNK_BYTES;
	header_store(config, region->header);
	result = rec_config_print(config, region->text, PROBLEMS_AT);
	if (report) {
		struct text text = text_init(region->text + PROBLEMS_AT, PROBLEMS_BYTES);

		text_put(&text, report->text);
	}
	settings_fill(config, region, &page);
	settings_store(region->settings, &page);
	/* The leader may have another interval to keep. */
	__atomic_fetch_add(&region->header->trigger.word, 1, __ATOMIC_RELEASE);
	raw_futex(&region->header->trigger.word, 1 /* FUTEX_WAKE */, 1, NULL);
	return result;
}

/* Copies NUL-ended bytes of the region, which may not be ended at all. */
static size_t copy_bounded(const char *from, size_t limit, char *to, size_t size)
{
	size_t length = 0;

	while (length < limit && length + 1 < size && from[length]) {
		to[length] = from[length];
		length++;
	}
	to[length] = 0;
	return length;
}

int rec_config_load(struct rec_config *config, const struct rec_region *region)
{
	struct rec_config_report report = { 0 };
	char text[PROBLEMS_AT];
	int wrong;

	rec_config_defaults(config);
	copy_bounded(region->text, PROBLEMS_AT, text, sizeof(text));
	wrong = rec_config_parse(config, text, REC_CONFIG_NO_FILES, &report);
	config->given = 0;
	config->memory_bytes = region->layout.chunk_max * (uint64_t)REC_CHUNK_BYTES;
	config->recording = region->settings->recording != 0;
	return wrong ? HOLTER_E_CORRUPT : 0;
}

size_t rec_config_problems(const struct rec_region *region, char *buffer, size_t size)
{
	return copy_bounded(region->text + PROBLEMS_AT, PROBLEMS_BYTES, buffer, size);
}
