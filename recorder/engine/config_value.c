/*
 * One reader and one printer for each kind of value in format/settings.def (config_value.h).
 *
 * In: text of a value. Out: fields of struct rec_config, or text again. Never here: files, regions.
 */
#include "recorder/engine/config_value.h"

#include <signal.h>

#define RT_FIRST 34 /* what glibc calls SIGRTMIN; the two below are its own */
#define RT_LAST 64
#define INTERVAL_MIN_NS 10000000ull
#define INTERVAL_MAX_NS 3600000000000ull

static const char *const preset_names[] = { "default", "profile", "everything", "none" };
static const char *const leader_names[] = { "process", "thread", "none" };
static const char *const lock_names[] = { "off", "try", "timed" };

static const struct {
	const char *name;
	int number;
} signal_names[] = {
	{ "HUP", SIGHUP },	 { "INT", SIGINT },   { "QUIT", SIGQUIT },   { "ILL", SIGILL },
	{ "TRAP", SIGTRAP },	 { "ABRT", SIGABRT }, { "BUS", SIGBUS },     { "FPE", SIGFPE },
	{ "KILL", SIGKILL },	 { "USR1", SIGUSR1 }, { "SEGV", SIGSEGV },   { "USR2", SIGUSR2 },
	{ "PIPE", SIGPIPE },	 { "ALRM", SIGALRM }, { "TERM", SIGTERM },   { "CHLD", SIGCHLD },
	{ "CONT", SIGCONT },	 { "STOP", SIGSTOP }, { "TSTP", SIGTSTP },   { "TTIN", SIGTTIN },
	{ "TTOU", SIGTTOU },	 { "URG", SIGURG },   { "XCPU", SIGXCPU },   { "XFSZ", SIGXFSZ },
	{ "VTALRM", SIGVTALRM }, { "PROF", SIGPROF }, { "WINCH", SIGWINCH }, { "IO", SIGIO },
	{ "PWR", SIGPWR },	 { "SYS", SIGSYS },
};

const char *const rec_config_event_names[REC_CONFIG_EVENT_SETTINGS] = {
	"enabled", "threshold", "stackTrace", "period", "sample",
};
const char *const rec_config_event_values[REC_CONFIG_EVENT_SETTINGS] = {
	"true or false",
	"a time from 0 to 1h, like 10ms",
	"true or false",
	"a time from 10ms to 1h, like 5s",
	"a number: one event in so many",
};

static int find_name(const char *const *names, unsigned name_count, const char *value, size_t count)
{
	for (unsigned i = 0; i < name_count; i++)
		if (text_equal_case(value, count, names[i]))
			return (int)i;
	return -1;
}

static int span_error(int result)
{
	return result == -2 ? HOLTER_E_UNIT : result == -3 ? HOLTER_E_LIMIT : HOLTER_E_SYNTAX;
}

static int read_path(char *field, const char *value, size_t count)
{
	if (count >= REC_CONFIG_PATH)
		return HOLTER_E_LIMIT;
	memcpy(field, value, count);
	field[count] = 0;
	return 0;
}

static int read_DIR(struct rec_config *config, const char *value, size_t count)
{
	return count ? read_path(config->dir, value, count) : HOLTER_E_SYNTAX;
}

static int read_LOG(struct rec_config *config, const char *value, size_t count)
{
	return read_path(config->log, value, text_equal_case(value, count, "none") ? 0 : count);
}

static int read_MEMORY(struct rec_config *config, const char *value, size_t count)
{
	uint64_t bytes;
	int result = text_parse_size(value, count, &bytes);

	if (result)
		return span_error(result);
	if (bytes < REC_MEMORY_MIN || bytes > REC_MEMORY_MAX)
		return HOLTER_E_LIMIT;
	config->memory_bytes = align_up(bytes, REC_CHUNK_BYTES);
	return 0;
}

int rec_config_preset(const char *value, size_t count)
{
	return find_name(preset_names, ARRAY_LEN(preset_names), value, count);
}

static int read_PRESET(struct rec_config *config, const char *value, size_t count)
{
	int preset = rec_config_preset(value, count);

	if (preset < 0)
		return HOLTER_E_SYNTAX;
	config->preset = (uint32_t)preset;
	return 0;
}

/* A number, a name with or without SIG, or RTMIN+n and RTMAX-n. */
static int signal_number(const char *value, size_t count)
{
	uint64_t number;
	int base;

	if (text_parse_u64(value, count, &number) == 0)
		return number >= 1 && number <= RT_LAST ? (int)number : -1;
	if (count > 3 && text_equal_case(value, 3, "SIG")) {
		value += 3;
		count -= 3;
	}
	for (unsigned i = 0; i < ARRAY_LEN(signal_names); i++)
		if (text_equal_case(value, count, signal_names[i].name))
			return signal_names[i].number;
	if (count < 5)
		return -1;
	base = text_equal_case(value, 5, "RTMIN")   ? RT_FIRST
	       : text_equal_case(value, 5, "RTMAX") ? RT_LAST
						    : 0;
	if (!base)
		return -1;
	if (count == 5)
		return base;
	if (value[5] != (base == RT_FIRST ? '+' : '-') ||
	    text_parse_u64(value + 6, count - 6, &number) || number > RT_LAST - RT_FIRST)
		return -1;
	return base == RT_FIRST ? base + (int)number : base - (int)number;
}

/* Signals that cannot be caught, or that mean a fault of the program. */
static bool signal_is_unfit(int number)
{
	return number == SIGKILL || number == SIGSTOP || number == SIGSEGV || number == SIGBUS ||
	       number == SIGFPE || number == SIGILL || number == SIGTRAP || number == SIGSYS ||
	       number == SIGCHLD || (number >= 32 && number < RT_FIRST);
}

static int read_SIGNAL(struct rec_config *config, const char *value, size_t count)
{
	int number;

	if (text_equal_case(value, count, "none")) {
		config->signal = 0;
		return 0;
	}
	number = signal_number(value, count);
	if (number < 0)
		return HOLTER_E_SYNTAX;
	if (signal_is_unfit(number))
		return HOLTER_E_LIMIT;
	config->signal = number;
	return 0;
}

static int read_bool(uint32_t *field, const char *value, size_t count)
{
	int result = text_parse_bool(value, count);

	if (result < 0)
		return HOLTER_E_SYNTAX;
	*field = (uint32_t)result;
	return 0;
}

static int read_LEADER(struct rec_config *config, const char *value, size_t count)
{
	int mode = find_name(leader_names, ARRAY_LEN(leader_names), value, count);

	if (mode < 0)
		return HOLTER_E_SYNTAX;
	config->leader = (uint32_t)mode;
	return 0;
}

static int read_DEPTH(struct rec_config *config, const char *value, size_t count)
{
	uint64_t depth;

	if (text_parse_u64(value, count, &depth))
		return HOLTER_E_SYNTAX;
	if (depth < 1 || depth > REC_CONFIG_DEPTH_MAX)
		return HOLTER_E_LIMIT;
	config->stack_depth = (uint32_t)depth;
	return 0;
}

static int read_ALLOC(struct rec_config *config, const char *value, size_t count)
{
	uint64_t bytes;
	int result;

	if (text_equal_case(value, count, "off") || text_equal_case(value, count, "all")) {
		config->memory_mode =
			text_equal_case(value, count, "off") ? REC_MEMORY_OFF : REC_MEMORY_ALL;
		return 0;
	}
	result = text_parse_size(value, count, &bytes);
	if (result)
		return span_error(result);
	if (bytes < 1 || bytes > 1ull << 40)
		return HOLTER_E_LIMIT;
	config->memory_mode = REC_MEMORY_SAMPLE;
	config->alloc_interval = bytes;
	return 0;
}

static int read_LOCKS(struct rec_config *config, const char *value, size_t count)
{
	int mode = find_name(lock_names, ARRAY_LEN(lock_names), value, count);

	if (mode < 0)
		return HOLTER_E_SYNTAX;
	config->lock_mode = (uint32_t)mode;
	return 0;
}

static int read_ms(uint32_t *field, const char *value, size_t count)
{
	uint64_t ns;
	int result = text_parse_span(value, count, &ns);

	if (result)
		return span_error(result);
	if (ns < INTERVAL_MIN_NS || ns > INTERVAL_MAX_NS)
		return HOLTER_E_LIMIT;
	*field = (uint32_t)(ns / 1000000);
	return 0;
}

int rec_config_value_read(struct rec_config *config, enum rec_config_key key, const char *value,
			  size_t count)
{
	switch (key) {
	case REC_CONFIG_dir:
		return read_DIR(config, value, count);
	case REC_CONFIG_memory:
		return read_MEMORY(config, value, count);
	case REC_CONFIG_settings:
		return read_PRESET(config, value, count);
	case REC_CONFIG_signal:
		return read_SIGNAL(config, value, count);
	case REC_CONFIG_dumponexit:
		return read_bool(&config->dump_on_exit, value, count);
	case REC_CONFIG_children:
		return read_bool(&config->children, value, count);
	case REC_CONFIG_leader:
		return read_LEADER(config, value, count);
	case REC_CONFIG_stackdepth:
		return read_DEPTH(config, value, count);
	case REC_CONFIG_alloc:
		return read_ALLOC(config, value, count);
	case REC_CONFIG_locks:
		return read_LOCKS(config, value, count);
	case REC_CONFIG_compress:
		return read_bool(&config->compress, value, count);
	case REC_CONFIG_interval:
		return read_ms(&config->interval_ms, value, count);
	case REC_CONFIG_log:
		return read_LOG(config, value, count);
	default:
		return HOLTER_E_SYNTAX;
	}
}

void rec_config_signal_name(int number, struct text *text)
{
	if (number == 0) {
		text_put(text, "none");
		return;
	}
	for (unsigned i = 0; i < ARRAY_LEN(signal_names); i++)
		if (signal_names[i].number == number) {
			text_put(text, signal_names[i].name);
			return;
		}
	if (number >= RT_FIRST && number <= RT_LAST) {
		text_put(text, "RTMIN+");
		number -= RT_FIRST;
	}
	text_put_u64(text, (uint64_t)number);
}

/* A path, with a backslash before what the parser would take as an end. */
static void print_path(const char *path, struct text *text)
{
	for (; *path; path++) {
		if (*path == ',' || *path == '\\')
			text_put(text, "\\");
		text_put_bytes(text, path, 1);
	}
}

static void print_alloc(const struct rec_config *config, struct text *text)
{
	if (config->memory_mode == REC_MEMORY_SAMPLE)
		text_put_size(text, config->alloc_interval);
	else
		text_put(text, config->memory_mode == REC_MEMORY_ALL ? "all" : "off");
}

static void print_bool(uint32_t value, struct text *text)
{
	text_put(text, value ? "yes" : "no");
}

void rec_config_value_print(const struct rec_config *config, enum rec_config_key key,
			    struct text *text)
{
	switch (key) {
	case REC_CONFIG_dir:
		print_path(config->dir, text);
		break;
	case REC_CONFIG_memory:
		text_put_size(text, config->memory_bytes);
		break;
	case REC_CONFIG_settings:
		text_put(text, preset_names[config->preset]);
		break;
	case REC_CONFIG_signal:
		rec_config_signal_name(config->signal, text);
		break;
	case REC_CONFIG_dumponexit:
		print_bool(config->dump_on_exit, text);
		break;
	case REC_CONFIG_children:
		print_bool(config->children, text);
		break;
	case REC_CONFIG_leader:
		text_put(text, leader_names[config->leader]);
		break;
	case REC_CONFIG_stackdepth:
		text_put_u64(text, config->stack_depth);
		break;
	case REC_CONFIG_alloc:
		print_alloc(config, text);
		break;
	case REC_CONFIG_locks:
		text_put(text, lock_names[config->lock_mode]);
		break;
	case REC_CONFIG_compress:
		print_bool(config->compress, text);
		break;
	case REC_CONFIG_interval:
		text_put_span(text, config->interval_ms * 1000000ull);
		break;
	case REC_CONFIG_log:
		print_path(config->log, text);
		break;
	default:
		break;
	}
}

static int read_threshold(struct rec_config_event *event, const char *value, size_t count)
{
	uint64_t ns;
	int result = text_parse_span(value, count, &ns);

	if (result)
		return span_error(result);
	if (ns > INTERVAL_MAX_NS)
		return HOLTER_E_LIMIT;
	event->threshold_ns = ns;
	return 0;
}

static int read_sample(struct rec_config_event *event, const char *value, size_t count)
{
	uint64_t sample;

	if (text_parse_u64(value, count, &sample))
		return HOLTER_E_SYNTAX;
	if (sample < 1 || sample > 1000000000)
		return HOLTER_E_LIMIT;
	event->sample = (uint32_t)sample;
	return 0;
}

int rec_config_event_read(struct rec_config_event *event, unsigned setting, const char *value,
			  size_t count)
{
	int flag = text_parse_bool(value, count);
	int result = flag < 0 ? HOLTER_E_SYNTAX : 0;

	switch (1u << setting) {
	case REC_CONFIG_SET_ENABLED:
		event->is_enabled = flag < 0 ? event->is_enabled : (uint8_t)flag;
		break;
	case REC_CONFIG_SET_STACK:
		event->has_stack = flag < 0 ? event->has_stack : (uint8_t)flag;
		break;
	case REC_CONFIG_SET_THRESHOLD:
		result = read_threshold(event, value, count);
		break;
	case REC_CONFIG_SET_PERIOD:
		result = read_ms(&event->period_ms, value, count);
		break;
	default:
		result = read_sample(event, value, count);
		break;
	}
	if (!result)
		event->set |= (uint8_t)(1u << setting);
	return result;
}

void rec_config_event_print(const struct rec_config_event *event, unsigned setting,
			    struct text *text)
{
	switch (1u << setting) {
	case REC_CONFIG_SET_ENABLED:
		text_put(text, event->is_enabled ? "true" : "false");
		break;
	case REC_CONFIG_SET_STACK:
		text_put(text, event->has_stack ? "true" : "false");
		break;
	case REC_CONFIG_SET_THRESHOLD:
		text_put_span(text, event->threshold_ns);
		break;
	case REC_CONFIG_SET_PERIOD:
		text_put_span(text, event->period_ms * 1000000ull);
		break;
	default:
		text_put_u64(text, event->sample);
		break;
	}
}
