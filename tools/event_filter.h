/*
 * Which events of a file are wanted: by type, category, process, thread and time.
 *
 * In: options of the reading commands. Out: yes or no. Never here: reading.
 */
#ifndef HOLTER_TOOLS_EVENT_FILTER_H
#define HOLTER_TOOLS_EVENT_FILTER_H

#include "reader/holter_reader.h"

/* Globs separated by commas. `hits`: how many types each of them matched. */
struct cli_globs {
	char *text;
	const char **at;
	uint64_t *hits;
	size_t count;
};

/* As given on the command line; NULL where not given. */
struct cli_filter_options {
	const char *events;
	const char *categories;
	const char *process;
	const char *thread;
	const char *begin;
	const char *end;
	const char *last;
};

struct cli_filter {
	struct cli_globs events;
	struct cli_globs categories;
	const char *process; /* glob or number; NULL = any */
	const char *thread;
	int64_t begin_ns; /* since the epoch; INT64_MIN = any */
	int64_t end_ns;	  /* INT64_MAX = any */
	struct holter_path *pid;
	struct holter_path *process_field;
};

/**
 * cli_glob_match() - does a text match a pattern with * and ?
 *
 * Return: true or false. Context: any thread; time is bounded by the product of the lengths.
 */
bool cli_glob_match(const char *text, const char *glob);

/**
 * cli_globs_init() - splits a list; NULL makes an empty one, which matches everything.
 * cli_globs_match_type(), cli_globs_match_name() - a type by its full name or what is behind its
 * last point.
 * cli_globs_fini() - gives the memory back.
 *
 * Return: match: true or false, counting hits. Context: one thread.
 */
void cli_globs_init(struct cli_globs *globs, const char *list);
bool cli_globs_match_type(struct cli_globs *globs, const struct holter_type *type);
bool cli_globs_match_name(struct cli_globs *globs, const char *name);
void cli_globs_fini(struct cli_globs *globs);

/**
 * cli_filter_needs_range() - do the options count from the recording's start or end?
 * cli_filter_init() - prepares a filter.
 * @start_ns, @end_ns: of the recording; only looked at when the range is needed.
 *
 * Return: needs: yes or no; init: 0, or CLI_USAGE after a message.
 * Context: one thread.
 */
bool cli_filter_needs_range(const struct cli_filter_options *options);
int cli_filter_init(struct cli_filter *filter, const struct cli_filter_options *options,
		    int64_t start_ns, int64_t end_ns);
void cli_filter_fini(struct cli_filter *filter);

/* Whether events of a type may be wanted; whether one of a wanted type is. */
bool cli_filter_type(struct cli_filter *filter, const struct holter_type *type);
bool cli_filter_event(struct cli_filter *filter, const struct holter_event *event);

/* Whether every event of a wanted type is wanted. */
static inline bool cli_filter_is_by_type(const struct cli_filter *filter)
{
	return !filter->process && !filter->thread && filter->begin_ns == INT64_MIN &&
	       filter->end_ns == INT64_MAX;
}

/**
 * cli_filter_report() - warns of globs that matched no type of the file.
 *
 * Return: 0, or CLI_FAILED when none of the events' globs matched. Context: one thread.
 */
int cli_filter_report(const struct cli_filter *filter, struct holter_reader *reader,
		      const char *path);

#endif
