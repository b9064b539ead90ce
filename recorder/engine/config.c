/*
 * Reads configuration text: items, files of items, keys, events, complaints (config.h).
 *
 * In: HOLTER, the options of `holter run`, files. Out: struct rec_config and a report of what was
 * wrong. Values of one key are read in config_value.c, regions are config_apply.c's. Never here:
 * allocation, stdio, printing.
 */
#include "recorder/engine/config.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "recorder/base/text.h"
#include "recorder/engine/config_value.h"
#include "recorder/sys/raw.h"

#define FILE_BYTES (64u << 10)
#define VALUE_BYTES (REC_CONFIG_PATH + 64)

/* Files are read in a pass of their own, so that keys given beside them win. */
enum pass { PASS_FILES, PASS_KEYS };

struct parser {
	struct rec_config *config;
	struct rec_config_report *report;
	const char *begin; /* of the text, or of the line of a file */
	const char *file;  /* NULL: not inside a file */
	uint32_t line;
	unsigned flags;
	enum pass pass;
};

/* One item: key=value, or Event#setting=value. */
struct item {
	const char *at;
	size_t key_count;
	const char *value;	 /* in the text, for positions */
	char plain[VALUE_BYTES]; /* without backslashes, ended by NUL */
	size_t plain_count;
};

const struct rec_config_key_info rec_config_keys[REC_CONFIG_KEY_COUNT] = {
#define SETTING(name, kind, value, live, values, text)                                             \
	[REC_CONFIG_##name] = { #name, value, values, text, live },
#include "recorder/format/settings.def"
};

/* Why a key cannot change while the program runs. */
static const char *const fixed_reasons[REC_CONFIG_KEY_COUNT] = {
	[REC_CONFIG_memory] = "the ring has its size since the start",
	[REC_CONFIG_signal] = "the handler was installed at the start",
	[REC_CONFIG_children] = "children that run already have joined or not",
	[REC_CONFIG_leader] = "it was chosen at the start",
	[REC_CONFIG_config] = "it is read at the start: give the keys themselves",
};

void rec_config_defaults(struct rec_config *config)
{
	memset(config, 0, sizeof(*config));
	config->recording = 1;
	config->alloc_interval = REC_CONFIG_SAMPLE_BYTES;
	for (unsigned key = 0; key < REC_CONFIG_KEY_COUNT; key++) {
		const char *value = rec_config_keys[key].value;

		if (*value)
			rec_config_value_read(config, key, value, strlen(value));
	}
}

/* Begins a complaint: code, position, and "FILE:LINE: " where it comes from a file. */
static struct text complain(struct parser *p, int code, const char *where)
{
	struct rec_config_report *report = p->report;
	size_t used = strlen(report->text);
	struct text text;

	if (!report->count++) {
		report->code = code;
		report->position = (uint32_t)(where - p->begin);
	}
	text = text_init(report->text + used, sizeof(report->text) - used);
	if (used)
		text_put(&text, "; ");
	if (p->file) {
		text_put_bytes(&text, p->file, strlen(p->file));
		text_put(&text, ":");
		text_put_u64(&text, p->line);
		text_put(&text, ": ");
	}
	return text;
}

static void put_quoted(struct text *text, const char *bytes, size_t count)
{
	text_put(text, "\"");
	text_put_bytes(text, bytes, min_u64(count, 128));
	text_put(text, count <= 128 ? "\"" : "...\"");
}

struct nearest {
	const char *word;
	size_t count;
	const char *best;
	uint32_t distance;
};

static void nearest_try(struct nearest *nearest, const char *name)
{
	uint32_t distance;

	if (!text_is_near(nearest->word, nearest->count, name, &distance) ||
	    (nearest->best && distance >= nearest->distance))
		return;
	nearest->best = name;
	nearest->distance = distance;
}

/* Names the nearest, or all there are. */
static void put_choice(struct text *text, const struct nearest *nearest, const char *const *all,
		       size_t count)
{
	if (nearest->best) {
		text_put(text, ": did you mean ");
		put_quoted(text, nearest->best, strlen(nearest->best));
		text_put(text, "?");
		return;
	}
	text_put(text, ": there are");
	for (size_t i = 0; i < count; i++) {
		text_put(text, " ");
		text_put(text, all[i]);
	}
}

static int unknown_key(struct parser *p, const struct item *item)
{
	struct text text = complain(p, HOLTER_E_UNKNOWN_KEY, item->at);
	struct nearest nearest = { item->at, item->key_count, NULL, 0 };
	const char *names[REC_CONFIG_KEY_COUNT];

	text_put(&text, "unknown key ");
	put_quoted(&text, item->at, item->key_count);
	for (unsigned key = 0; key < REC_CONFIG_KEY_COUNT; key++) {
		names[key] = rec_config_keys[key].name;
		nearest_try(&nearest, names[key]);
	}
	put_choice(&text, &nearest, names, REC_CONFIG_KEY_COUNT);
	return HOLTER_E_UNKNOWN_KEY;
}

static int unknown_event(struct parser *p, const struct item *item, size_t count)
{
	struct text text = complain(p, HOLTER_E_UNKNOWN_EVENT, item->at);
	struct nearest nearest = { item->at, count, NULL, 0 };

	text_put(&text, "unknown event ");
	put_quoted(&text, item->at, count);
	for (uint32_t i = 0; i < ev_type_count; i++) {
		nearest_try(&nearest, ev_types[i].name);
		nearest_try(&nearest, strrchr(ev_types[i].name, '.') + 1);
	}
	if (nearest.best)
		put_choice(&text, &nearest, NULL, 0);
	else
		text_put(&text, ": holter-events(7) lists them");
	return HOLTER_E_UNKNOWN_EVENT;
}

static int unknown_setting(struct parser *p, const struct item *item, size_t hash)
{
	const char *name = item->at + hash + 1;
	size_t count = item->key_count - hash - 1;
	struct text text = complain(p, HOLTER_E_UNKNOWN_KEY, name);
	struct nearest nearest = { name, count, NULL, 0 };

	text_put(&text, "unknown setting ");
	put_quoted(&text, name, count);
	text_put(&text, " of event ");
	put_quoted(&text, item->at, hash);
	for (unsigned i = 0; i < REC_CONFIG_EVENT_SETTINGS; i++)
		nearest_try(&nearest, rec_config_event_names[i]);
	put_choice(&text, &nearest, rec_config_event_names, REC_CONFIG_EVENT_SETTINGS);
	return HOLTER_E_UNKNOWN_KEY;
}

static int wrong_value(struct parser *p, const struct item *item, int code, const char *values)
{
	struct text text = complain(p, code, item->value);

	text_put_bytes(&text, item->at, min_u64(item->key_count, 128));
	text_put(&text, ": ");
	put_quoted(&text, item->plain, item->plain_count);
	text_put(&text, code == HOLTER_E_UNIT	 ? " has a wrong unit or none"
			: code == HOLTER_E_LIMIT ? " is out of range"
						 : " is no such value");
	text_put(&text, ": give ");
	text_put(&text, values);
	return code;
}

static int set_event(struct parser *p, const struct item *item, size_t hash)
{
	const struct ev_type *type = ev_type_by_name(item->at, hash);
	const char *name = item->at + hash + 1;
	size_t count = item->key_count - hash - 1;

	if (!type)
		return unknown_event(p, item, hash);
	for (unsigned i = 0; i < REC_CONFIG_EVENT_SETTINGS; i++) {
		struct rec_config_event *event = &p->config->event[type->number];
		int code;

		if (!text_equal_case(name, count, rec_config_event_names[i]))
			continue;
		code = rec_config_event_read(event, i, item->plain, item->plain_count);
		return code ? wrong_value(p, item, code, rec_config_event_values[i]) : 0;
	}
	return unknown_setting(p, item, hash);
}

static int parse_items(struct parser *p, const char *at);

static int file_trouble(struct parser *p, const struct item *item, int code, const char *why)
{
	struct text text = complain(p, code, item->value);

	text_put_bytes(&text, item->at, item->key_count);
	text_put(&text, ": ");
	put_quoted(&text, item->plain, item->plain_count);
	text_put(&text, why);
	return code;
}

/* Lines of a file are texts of their own; `bytes` is ended by NUL and changed. */
static int parse_lines(struct parser *outer, const char *path, char *bytes)
{
	struct parser p = *outer;
	int result = 0;

	p.file = path;
	p.line = 0;
	p.pass = PASS_KEYS;
	while (bytes) {
		char *end = strchr(bytes, '\n');

		if (end)
			*end = 0;
		p.line++;
		p.begin = bytes;
		result = parse_items(&p, bytes);
		if (result && (p.flags & REC_CONFIG_STRICT))
			return result;
		bytes = end ? end + 1 : NULL;
	}
	return 0;
}

static int parse_file(struct parser *p, const struct item *item, const char *unreadable)
{
	char *bytes = raw_mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long got;
	int result;

	if (raw_is_error(bytes))
		return file_trouble(p, item, HOLTER_E_NOMEM, ": no memory to read it");
	got = raw_read_file(item->plain, bytes, FILE_BYTES);
	if (got < 0)
		result = file_trouble(p, item, HOLTER_E_OPEN, unreadable);
	else if (got == FILE_BYTES - 1)
		result = file_trouble(p, item, HOLTER_E_LIMIT, " is larger than 64 KiB");
	else
		result = parse_lines(p, item->plain, bytes);
	raw_munmap(bytes, FILE_BYTES);
	return result;
}

static int fixed_key(struct parser *p, const struct item *item, enum rec_config_key key)
{
	struct text text = complain(p, HOLTER_E_FIXED, item->at);

	text_put(&text, rec_config_keys[key].name);
	text_put(&text, " cannot be changed while the program runs: ");
	text_put(&text, fixed_reasons[key] ? fixed_reasons[key] : "fixed at the start");
	return HOLTER_E_FIXED;
}

static int set_key(struct parser *p, const struct item *item, enum rec_config_key key)
{
	bool is_file =
		key == REC_CONFIG_config || (key == REC_CONFIG_settings &&
					     rec_config_preset(item->plain, item->plain_count) < 0);
	int code;

	if ((p->flags & REC_CONFIG_LIVE) && !rec_config_keys[key].is_live)
		return p->pass == PASS_KEYS ? fixed_key(p, item, key) : 0;
	if (is_file && (p->file || (p->flags & REC_CONFIG_NO_FILES)))
		return file_trouble(p, item, HOLTER_E_SYNTAX,
				    ": a file of settings cannot name another one");
	if (is_file && p->pass == PASS_FILES)
		return parse_file(
			p, item,
			key == REC_CONFIG_config
				? " cannot be read"
				: " is neither default, profile, everything, none nor a file that "
				  "can be read");
	if (is_file || p->pass == PASS_FILES)
		return 0;
	code = rec_config_value_read(p->config, key, item->plain, item->plain_count);
	if (code)
		return wrong_value(p, item, code, rec_config_keys[key].values);
	p->config->given |= 1u << key;
	return 0;
}

static int set_item(struct parser *p, const struct item *item)
{
	for (size_t i = 0; i < item->key_count; i++)
		if (item->at[i] == '#')
			return p->pass == PASS_KEYS ? set_event(p, item, i) : 0;
	for (unsigned key = 0; key < REC_CONFIG_KEY_COUNT; key++)
		if (text_equal(item->at, item->key_count, rec_config_keys[key].name))
			return set_key(p, item, key);
	return p->pass == PASS_KEYS ? unknown_key(p, item) : 0;
}

static int no_value(struct parser *p, const char *at, size_t count)
{
	struct text text;

	if (p->pass == PASS_FILES)
		return 0;
	text = complain(p, HOLTER_E_SYNTAX, at);
	put_quoted(&text, at, count);
	text_put(&text, " is not KEY=VALUE");
	return HOLTER_E_SYNTAX;
}

/* Splits [at, at + count) at its first '=' and takes the backslashes out of the value. */
static int parse_item(struct parser *p, const char *at, size_t count)
{
	struct item item = { .at = at };
	const char *end = at + count;

	while (at < end && *at != '=')
		at++;
	if (at == end || at == item.at)
		return no_value(p, item.at, count);
	item.value = at + 1;
	while (at > item.at && at[-1] == ' ')
		at--;
	item.key_count = (size_t)(at - item.at);
	for (at = item.value; at < end && *at == ' ';)
		at++;
	for (; at < end && item.plain_count < VALUE_BYTES - 1; at++) {
		if (*at == '\\' && at + 1 < end && (at[1] == ',' || at[1] == '\\'))
			at++;
		item.plain[item.plain_count++] = *at;
	}
	item.plain[item.plain_count] = 0;
	return set_item(p, &item);
}

/* End of the item that begins at `at`: a comma or newline outside parentheses, or the text's end.
 */
static const char *item_end(const char *at)
{
	int depth = 0;

	for (; *at && *at != '\n'; at++) {
		if (*at == '\\' && at[1])
			at++;
		else if (*at == '(')
			depth++;
		else if (*at == ')' && depth)
			depth--;
		else if (*at == ',' && !depth)
			break;
	}
	return at;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static int parse_items(struct parser *p, const char *at)
{
	bool is_line_start = true;

	for (;;) {
		const char *end, *last;
		int result = 0;

		while (is_space(*at))
			at++;
		end = is_line_start && *at == '#' ? at + strcspn(at, "\n") : item_end(at);
		for (last = end; last > at && is_space(last[-1]);)
			last--;
		if (last > at && !(is_line_start && *at == '#'))
			result = parse_item(p, at, (size_t)(last - at));
		if (result && (p->flags & REC_CONFIG_STRICT))
			return result;
		if (!*end)
			return 0;
		is_line_start = *end == '\n';
		at = end + 1;
	}
}

int rec_config_parse(struct rec_config *config, const char *text, unsigned flags,
		     struct rec_config_report *report)
{
	struct parser p = { config, report, text, NULL, 0, flags, PASS_FILES };
	int result;

	memset(report, 0, sizeof(*report));
	if (!text)
		return 0;
	result = parse_items(&p, text);
	p.pass = PASS_KEYS;
	if (!result)
		result = parse_items(&p, text);
	return flags & REC_CONFIG_STRICT ? result : (int)report->count;
}
