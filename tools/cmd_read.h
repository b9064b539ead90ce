/*
 * What the reading commands share: opening a recording, telling what is wrong with it, walking its
 * events in order of time.
 *
 * In: a file name and a filter. Out: calls for chunks and events. Never here: output.
 */
#ifndef HOLTER_TOOLS_CMD_READ_H
#define HOLTER_TOOLS_CMD_READ_H

#include <time.h>

#include "tools/cmd.h"
#include "tools/event_filter.h"

#define CLI_WARNINGS_SHOWN 20

/* Rows for the options that choose events; to be put into a table of struct cli_option. */
#define CLI_FILTER_OPTIONS(options)                                                                \
	{ "events", 0,                                                                             \
	  "GLOBS",  "only these types: names, with or without package; * ?",                       \
	  NULL,	    &(options).events,                                                             \
	  NULL,	    NULL },                                                                        \
		{ "categories",		 0,    "GLOBS", "only types of these categories", NULL,    \
		  &(options).categories, NULL, NULL },                                             \
		{ "process",	      0,    "PID|NAME", "only events of this process", NULL,       \
		  &(options).process, NULL, NULL },                                                \
		{ "thread", 0,                                                                     \
		  "NAME",   "only events of threads of this name or number",                       \
		  NULL,	    &(options).thread,                                                     \
		  NULL,	    NULL },                                                                \
		{ "begin", 0,                                                                      \
		  "TIME",  "not before: -30s, 10s, 16:51:28, 2026-11-30T16:51:28Z",                \
		  NULL,	   &(options).begin,                                                       \
		  NULL,	   NULL },                                                                 \
		{ "end", 0, "TIME", "not behind", NULL, &(options).end, NULL, NULL },              \
	{                                                                                          \
		"last", 0, "TIME", "only what lies so long before the end", NULL, &(options).last, \
			NULL, NULL                                                                 \
	}

struct cli_input {
	const char *path;
	struct holter_reader *reader;
	uint64_t shown;	  /* problems told so far */
	uint64_t damages; /* told or not */
	uint64_t notes;
	bool is_in_file_order; /* the walk does not sort */
	void (*tell)(void *context, const struct holter_problem *problem); /* NULL: cli_warn() */
	void *context;
	time_t begun;
	bool has_progress;
};

/* What a command does with what it is shown; not 0 ends the walk. */
struct cli_visitor {
	void (*chunk)(void *context, struct holter_reader *reader); /* may be NULL */
	int (*event)(void *context, const struct holter_event *event);
	void (*chunk_end)(void *context); /* may be NULL */
	void *context;
};

/**
 * cli_input_operand() - the one file a command was given.
 *
 * Return: it; NULL after a message about wrong use. Context: main thread, as everything here.
 */
const char *cli_input_operand(int argc, char **argv, int first);

/**
 * cli_input_open() - opens a recording. Damage found later is told as it is met.
 * @input: zeroed but for `tell` and `context`.
 *
 * Return: 0; CLI_FAILED after a message. Context: main thread; blocks.
 */
int cli_input_open(struct cli_input *input, const char *path);

/**
 * cli_input_close() - closes it.
 * @status: of the command so far.
 *
 * Return: the command's exit status: CLI_FAILED when something was damaged.
 * Context: main thread.
 */
int cli_input_close(struct cli_input *input, int status);

/**
 * cli_input_filter() - a filter for the file, reading its time range first where needed.
 *
 * Return: 0 or an exit status after a message. Context: main thread; blocks.
 */
int cli_input_filter(struct cli_input *input, const struct cli_filter_options *options,
		     struct cli_filter *filter);

/**
 * cli_input_walk() - shows every wanted event, sorted by end within each chunk as `jfr print` does.
 * @filter: NULL for all.
 *
 * Return: 0, what a visitor returned, or CLI_FAILED after a message. Context: main thread.
 */
int cli_input_walk(struct cli_input *input, struct cli_filter *filter,
		   const struct cli_visitor *visitor);

/**
 * cli_read_failed() - a message for a negative code of the reader.
 *
 * Return: CLI_FAILED. Context: main thread.
 */
int cli_read_failed(const struct cli_input *input, int code);

#endif
