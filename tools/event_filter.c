/*
 * Filters of the reading commands (event_filter.h).
 *
 * In: text of options, types and events. Out: yes or no. Never here: rules of one command.
 */
#include "tools/event_filter.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "recorder/base/text.h"
#include "tools/cmd.h"

#define NEAREST_MAX 1024

bool cli_glob_match(const char *text, const char *glob)
{
	const char *star = NULL;
	const char *resume = NULL;

	while (*text) {
		if (*glob == '*') {
			star = ++glob;
			resume = text;
		} else if (*glob == '?' || *glob == *text) {
			glob++;
			text++;
		} else if (star) {
			glob = star;
			text = ++resume;
		} else {
			return false;
		}
	}
	while (*glob == '*')
		glob++;
	return !*glob;
}

void cli_globs_init(struct cli_globs *globs, const char *list)
{
	char *rest;
	char *word;

	*globs = (struct cli_globs){ .count = 0 };
	if (!list)
		return;
	globs->text = cli_strdup(list);
	globs->at = cli_alloc((strlen(list) + 1) * sizeof(*globs->at));
	globs->hits = cli_alloc((strlen(list) + 1) * sizeof(*globs->hits));
	for (word = strtok_r(globs->text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		size_t length;

		while (isspace((unsigned char)*word))
			word++;
		length = strlen(word);
		while (length && isspace((unsigned char)word[length - 1]))
			word[--length] = 0;
		if (!length)
			continue;
		globs->hits[globs->count] = 0;
		globs->at[globs->count++] = word;
	}
}

void cli_globs_fini(struct cli_globs *globs)
{
	free(globs->text);
	free(globs->at);
	free(globs->hits);
	*globs = (struct cli_globs){ .count = 0 };
}

static const char *simple_name(const char *name)
{
	const char *point = strrchr(name, '.');

	return point ? point + 1 : name;
}

bool cli_globs_match_name(struct cli_globs *globs, const char *name)
{
	bool is_match = !globs->text;

	for (size_t i = 0; i < globs->count; i++) {
		if (!cli_glob_match(name, globs->at[i]) &&
		    !cli_glob_match(simple_name(name), globs->at[i]))
			continue;
		globs->hits[i]++;
		is_match = true;
	}
	return is_match;
}

bool cli_globs_match_type(struct cli_globs *globs, const struct holter_type *type)
{
	return cli_globs_match_name(globs, holter_type_name(type));
}

/* "JVM" for "Java Virtual Machine". */
static bool is_acronym(const char *words, const char *acronym)
{
	bool is_start = true;

	if (!strchr(words, ' '))
		return false;
	for (; *words; words++) {
		if (is_start && isupper((unsigned char)*words) && *acronym++ != *words)
			return false;
		is_start = isspace((unsigned char)*words) != 0;
	}
	return !*acronym;
}

static bool match_categories(struct cli_globs *globs, const struct holter_type *type)
{
	bool is_match = !globs->text;

	for (size_t c = 0; c < holter_type_category_count(type); c++) {
		const char *category = holter_type_category(type, c);

		for (size_t i = 0; category && i < globs->count; i++) {
			if (!cli_glob_match(category, globs->at[i]) &&
			    !is_acronym(category, globs->at[i]))
				continue;
			globs->hits[i]++;
			is_match = true;
		}
	}
	return is_match;
}

bool cli_filter_type(struct cli_filter *filter, const struct holter_type *type)
{
	bool is_event = cli_globs_match_type(&filter->events, type);
	bool is_category = match_categories(&filter->categories, type);

	/* Where both are given either will do, as with a JDK 17. */
	if (filter->events.text && filter->categories.text)
		return is_event || is_category;
	return is_event && is_category;
}

static bool is_relative(const char *text)
{
	uint64_t span;

	text += *text == '-' || *text == '+';
	return text_parse_span(text, strlen(text), &span) == 0;
}

bool cli_filter_needs_range(const struct cli_filter_options *options)
{
	return options->last || (options->begin && strchr(options->begin, 'T') == NULL) ||
	       (options->end && strchr(options->end, 'T') == NULL);
}

/* The fraction of a second behind a time, in ns; NULL when it is no number. */
static const char *parse_fraction(const char *at, int64_t *ns)
{
	int64_t unit = 100000000;

	*ns = 0;
	if (*at != '.')
		return at;
	if (!isdigit((unsigned char)*++at))
		return NULL;
	for (; isdigit((unsigned char)*at); at++, unit /= 10)
		*ns += (*at - '0') * unit;
	return at;
}

/* Seconds east of Greenwich at the end of an ISO time: nothing, Z, +hh:mm. */
static bool parse_zone(const char *at, int64_t *zone_s)
{
	int hours;
	int minutes = 0;
	int used = 0;

	*zone_s = 0;
	if (!*at || strcmp(at, "Z") == 0)
		return true;
	if ((*at != '+' && *at != '-') || !isdigit((unsigned char)at[1]))
		return false;
	if (sscanf(at + 1, "%2d:%2d%n", &hours, &minutes, &used) < 2 || at[1 + used])
		return false;
	*zone_s = (hours * 3600 + minutes * 60) * (*at == '-' ? -1 : 1);
	return true;
}

/* "2026-11-30T16:51:28.5Z", or "16:51[:28.5]" on the day the recording began; UTC. */
static bool parse_moment(const char *text, int64_t start_ns, int64_t *ns)
{
	bool is_full = strchr(text, 'T') != NULL;
	time_t start_s = (time_t)(start_ns / 1000000000);
	int64_t fraction = 0;
	int64_t zone_s;
	struct tm tm;
	const char *at;

	if (!gmtime_r(&start_s, &tm))
		return false;
	tm.tm_sec = 0;
	at = strptime(text, is_full ? "%Y-%m-%dT%H:%M" : "%H:%M", &tm);
	if (at && *at == ':')
		at = strptime(at, ":%S", &tm);
	at = at ? parse_fraction(at, &fraction) : NULL;
	if (!at || !parse_zone(at, &zone_s))
		return false;
	*ns = ((int64_t)timegm(&tm) - zone_s) * 1000000000 + fraction;
	return true;
}

static int parse_time(const char *option, const char *text, int64_t start_ns, int64_t end_ns,
		      int64_t *ns)
{
	uint64_t span = 0;
	int64_t from = *text == '-' ? end_ns : start_ns;

	if (is_relative(text)) {
		const char *at = text + (*text == '-' || *text == '+');

		text_parse_span(at, strlen(at), &span);
		span = min_u64(span, INT64_MAX / 2);
		*ns = *text == '-' ? from - (int64_t)span : from + (int64_t)span;
		return 0;
	}
	if (parse_moment(text, start_ns, ns))
		return 0;
	return cli_usage("%s: \"%s\" is not a time such as -30s (before the end), 10s (after the "
			 "start), 16:51:28 or 2026-11-30T16:51:28Z (UTC)",
			 option, text);
}

static int parse_times(struct cli_filter *filter, const struct cli_filter_options *options,
		       int64_t start_ns, int64_t end_ns)
{
	uint64_t span;
	int status = 0;

	if (options->last && (options->begin || options->end))
		return cli_usage("--last goes with neither --begin nor --end");
	if (options->last) {
		status = cli_span("--last", options->last, &span);
		if (!status)
			filter->begin_ns = end_ns - (int64_t)min_u64(span, INT64_MAX / 2);
	}
	if (!status && options->begin)
		status = parse_time("--begin", options->begin, start_ns, end_ns, &filter->begin_ns);
	if (!status && options->end)
		status = parse_time("--end", options->end, start_ns, end_ns, &filter->end_ns);
	if (!status && filter->begin_ns > filter->end_ns)
		return cli_usage("--begin lies behind --end");
	return status;
}

int cli_filter_init(struct cli_filter *filter, const struct cli_filter_options *options,
		    int64_t start_ns, int64_t end_ns)
{
	*filter = (struct cli_filter){ .process = options->process,
				       .thread = options->thread,
				       .begin_ns = INT64_MIN,
				       .end_ns = INT64_MAX };
	cli_globs_init(&filter->events, options->events);
	cli_globs_init(&filter->categories, options->categories);
	if (holter_path_create("pid", &filter->pid) ||
	    holter_path_create("process", &filter->process_field))
		cli_fatal(CLI_FAILED, "out of memory");
	return parse_times(filter, options, start_ns, end_ns);
}

void cli_filter_fini(struct cli_filter *filter)
{
	cli_globs_fini(&filter->events);
	cli_globs_fini(&filter->categories);
	holter_path_destroy(filter->pid);
	holter_path_destroy(filter->process_field);
	*filter = (struct cli_filter){ .process = NULL };
}

static bool is_number(const char *text, int64_t number)
{
	uint64_t value;

	return text_parse_u64(text, strlen(text), &value) == 0 && (int64_t)value == number;
}

/* A group is named `nginx[4711]`; asked for is 4711, nginx, or a glob. */
static bool match_group(const char *group, const char *process)
{
	const char *bracket = strrchr(group, '[');
	char name[256];
	size_t length;

	if (cli_glob_match(group, process))
		return true;
	if (!bracket)
		return false;
	if (is_number(process, strtoll(bracket + 1, NULL, 10)))
		return true;
	length = (size_t)(bracket - group);
	if (length >= sizeof(name))
		return false;
	memcpy(name, group, length);
	name[length] = 0;
	return cli_glob_match(name, process);
}

static bool match_field(struct holter_path *path, const struct holter_event *event,
			const char *process)
{
	struct holter_value value;

	if (holter_path_get(path, event, &value) != 0 ||
	    (value.kind != HOLTER_KIND_INT && value.kind != HOLTER_KIND_UINT))
		return false;
	return is_number(process, value.as.integer);
}

static bool match_process(struct cli_filter *filter, const struct holter_event *event)
{
	const struct holter_thread *thread = holter_event_thread(event);

	if (thread && thread->group && match_group(thread->group, filter->process))
		return true;
	return match_field(filter->pid, event, filter->process) ||
	       match_field(filter->process_field, event, filter->process);
}

static bool match_thread(const struct holter_event *event, const char *name)
{
	const struct holter_thread *thread = holter_event_thread(event);

	if (!thread)
		return false;
	return (thread->os_name && cli_glob_match(thread->os_name, name)) ||
	       (thread->java_name && cli_glob_match(thread->java_name, name)) ||
	       is_number(name, thread->os_id);
}

bool cli_filter_event(struct cli_filter *filter, const struct holter_event *event)
{
	if (filter->begin_ns != INT64_MIN && holter_event_end_ns(event) < filter->begin_ns)
		return false;
	if (filter->end_ns != INT64_MAX && holter_event_start_ns(event) > filter->end_ns)
		return false;
	if (filter->process && !match_process(filter, event))
		return false;
	return !filter->thread || match_thread(event, filter->thread);
}

/* The name that comes nearest to what was asked for, with or without package. */
static const char *nearest_type(struct holter_reader *reader, const char *word)
{
	const char *names[NEAREST_MAX];
	const struct holter_type_count *counts;
	size_t all = holter_reader_counts(reader, &counts);
	size_t count = 0;
	bool is_full = strchr(word, '.') != NULL;

	if (strpbrk(word, "*?"))
		return NULL;
	for (size_t i = 0; i < all && count < NEAREST_MAX; i++)
		names[count++] = is_full ? counts[i].name : simple_name(counts[i].name);
	return cli_nearest(word, names, count);
}

int cli_filter_report(const struct cli_filter *filter, struct holter_reader *reader,
		      const char *path)
{
	const struct cli_globs *globs = &filter->events;
	size_t missed = 0;

	for (size_t i = 0; i < globs->count; i++) {
		const char *nearest;

		if (globs->hits[i])
			continue;
		missed++;
		nearest = nearest_type(reader, globs->at[i]);
		if (nearest)
			cli_warn("%s: no event type matches \"%s\": did you mean \"%s\"?", path,
				 globs->at[i], nearest);
		else
			cli_warn("%s: no event type matches \"%s\" (`holter summary` lists them)",
				 path, globs->at[i]);
	}
	for (size_t i = 0; i < filter->categories.count; i++)
		if (!filter->categories.hits[i])
			cli_warn("%s: no event type has a category that matches \"%s\"", path,
				 filter->categories.at[i]);
	return globs->count && missed == globs->count ? CLI_FAILED : 0;
}
