/*
 * Events as text: what the renderers share.
 *
 * In: events of the chunk a reader is in, in the order they are to appear. Out: bytes in a struct
 * cli_out. Never here: which events, which file (cmd_*.c).
 */
#ifndef HOLTER_TOOLS_RENDER_H
#define HOLTER_TOOLS_RENDER_H

#include "tools/field_view.h"

#define CLI_RENDER_DEPTH 48	       /* constants refer to each other, also in circles */
#define CLI_RENDER_EVENT (16ull << 20) /* structs are cut off in an event longer than this */
#define CLI_CACHE_BYTES (32ull << 20)  /* most that is kept of rendered constants */

struct cli_cache_entry;

/* Constants that were rendered, by type, key and indentation. */
struct cli_cache {
	struct cli_cache_entry *slots;
	size_t slot_count;
	size_t used;
	char *bytes;
	size_t byte_count;
	size_t byte_size;
};

struct cli_render {
	struct cli_out *out;
	struct cli_views views;
	struct cli_cache cache;
	uint32_t stack_depth;
	uint32_t indent;
	uint32_t depth;
	size_t event_at; /* where the event begins in the output's buffer */
	bool is_first;
};

/**
 * cli_render_init() - prepares rendering. cli_render_enter() - once for each chunk.
 * cli_render_fini() - gives the memory back, not the output.
 * @stack_depth: most frames shown of a stack.
 *
 * Return: nothing. Context: the reader's thread, as everything here.
 */
void cli_render_init(struct cli_render *render, struct cli_out *out, uint32_t stack_depth);
void cli_render_enter(struct cli_render *render, struct holter_reader *reader);
void cli_render_fini(struct cli_render *render);

/**
 * cli_cache_find() - puts a constant that was rendered before into the output.
 * cli_cache_keep() - remembers what was rendered since `from`.
 * @from: offset in the output's buffer.
 *
 * Return: find: whether it was there. Context: see above.
 */
bool cli_cache_find(struct cli_render *render, const struct holter_value *value);
void cli_cache_keep(struct cli_render *render, const struct holter_value *value, size_t from);

/**
 * cli_json_begin(), cli_json_event(), cli_json_end() - the layout of `jfr print --json`.
 * cli_json_value() - one value as it stands there.
 * cli_text_event() - the layout of `jfr print`.
 *
 * Return: nothing; damaged values become null and are counted by the reader.
 * Context: see above.
 */
void cli_json_begin(struct cli_render *render);
void cli_json_event(struct cli_render *render, const struct holter_event *event);
void cli_json_value(struct cli_render *render, const struct holter_value *value,
		    const struct cli_field_view *view);
void cli_json_end(struct cli_render *render);
void cli_text_event(struct cli_render *render, const struct holter_event *event);

/**
 * cli_method_text() - a method as jfr prints it: "java.lang.Thread.sleep(long)".
 *
 * Return: nothing. Context: see above.
 */
void cli_method_text(struct cli_out *out, const struct holter_method *method);

/* A name of a class with points for slashes. */
void cli_class_text(struct cli_out *out, const char *name);

#endif
