/*
 * Events as tables (CSV, RFC 4180) and as collapsed stacks for flame graphs.
 *
 * In: events, one after the other. Out: text in a struct cli_out. Never here: files, filters.
 */
#ifndef HOLTER_TOOLS_RENDER_TABLES_H
#define HOLTER_TOOLS_RENDER_TABLES_H

#include "tools/render.h"

/* One table, for the events of one type. */
struct cli_csv {
	struct cli_csv_column *columns;
	size_t count;
	struct cli_render json; /* for what is no single value */
	struct cli_out text;	/* of a value, before it is quoted */
};

/**
 * cli_csv_begin() - columns of a type, and the line that names them. Structs become a column per
 * member, joined by points; a thread is its name and number, a stack its methods from the leaf,
 * a class or method its name. Spans are nanoseconds, moments ISO 8601.
 * cli_csv_enter() - once for each chunk. cli_csv_row() - a line. cli_csv_end() - gives back.
 *
 * Return: nothing. Context: the reader's thread.
 */
void cli_csv_begin(struct cli_csv *csv, struct cli_out *out, const struct holter_type *type);
void cli_csv_enter(struct cli_csv *csv, struct holter_reader *reader);
void cli_csv_row(struct cli_csv *csv, struct cli_out *out, const struct holter_event *event);
void cli_csv_end(struct cli_csv *csv);

enum cli_folded_value {
	CLI_FOLDED_COUNT,
	CLI_FOLDED_DURATION,
	CLI_FOLDED_WEIGHT,
	CLI_FOLDED_BYTES
};

struct cli_folded_stack;

/* Sums by stack. */
struct cli_folded {
	struct cli_folded_stack **slots; /* by hash of the text */
	size_t slot_count;
	size_t count;
	struct cli_out text;
	/* sums of the chunk's stacks that were met last */
	struct cli_folded_recent {
		const struct holter_stack *stack;
		struct cli_folded_stack *sum;
	} * recent;
};

/**
 * cli_folded_init() - no stacks. cli_folded_enter() - once for each chunk. cli_folded_add() - an
 * event's stack. cli_folded_write() - a line per stack, root first, sorted. cli_folded_fini().
 *
 * Return: add: false when the event has no stack or not that value. Context: the reader's thread.
 */
void cli_folded_init(struct cli_folded *folded);
void cli_folded_enter(struct cli_folded *folded);
bool cli_folded_add(struct cli_folded *folded, const struct holter_event *event,
		    enum cli_folded_value value);
void cli_folded_write(struct cli_folded *folded, struct cli_out *out);
void cli_folded_fini(struct cli_folded *folded);

/* Whether events of a type have a weight, as sampled allocations do. */
bool cli_type_has_weight(const struct holter_type *type);

#endif
