/*
 * How the fields of a chunk's types are shown: units, content type, names ready for JSON.
 *
 * In: types of the chunk a reader is in. Out: one array per type, made at first use. Never here:
 * the output itself (render_*.c).
 */
#ifndef HOLTER_TOOLS_FIELD_VIEW_H
#define HOLTER_TOOLS_FIELD_VIEW_H

#include "reader/holter_reader.h"
#include "tools/jfr_text.h"

enum cli_time { CLI_TIME_NONE, CLI_TIME_SPAN, CLI_TIME_MOMENT };
enum cli_amount { CLI_AMOUNT_NONE, CLI_AMOUNT_BYTES, CLI_AMOUNT_BITS };

/* What types jfr prints in a way of their own. */
enum cli_shape {
	CLI_SHAPE_PLAIN,
	CLI_SHAPE_THREAD,
	CLI_SHAPE_CLASS,
	CLI_SHAPE_LOADER,
	CLI_SHAPE_METHOD,
	CLI_SHAPE_FRAME,
	CLI_SHAPE_STACK,
	CLI_SHAPE_OLD_OBJECT,
};

struct cli_field_view {
	const struct holter_field *field;
	const char *name;
	const char *json; /* "name": with its quotes and one blank behind it */
	uint32_t json_length;
	uint8_t time;	/* enum cli_time */
	uint8_t amount; /* enum cli_amount */
	uint8_t shape;	/* enum cli_shape, of the field's type */
	bool has_content_type;
	bool is_percentage;
	bool is_frequency;
	bool is_address;
	bool is_late; /* eventThread, stackTrace: printed last in text */
};

/* The views of one type. */
struct cli_type_view {
	const struct holter_type *type;
	struct cli_field_view *fields;
	size_t field_count;
	uint8_t shape;
	bool is_wanted; /* by the filter in use (event_filter.h) */
};

struct cli_views {
	struct holter_reader *reader;
	struct cli_type_view **by_type; /* by index of the type; NULL = not made yet */
	size_t type_count;
	int32_t zone_s; /* of the chunk */
};

/**
 * cli_views_enter() - forgets the chunk before and prepares for the one the reader is in.
 * cli_views_fini() - gives everything back.
 * @views: zeroed before the first use.
 *
 * Return: nothing. Context: the reader's thread.
 */
void cli_views_enter(struct cli_views *views, struct holter_reader *reader);
void cli_views_fini(struct cli_views *views);

/**
 * cli_view_make() - makes the view of a type; use cli_view_of().
 *
 * Return: the view, until the next chunk. Context: the reader's thread.
 */
struct cli_type_view *cli_view_make(struct cli_views *views, const struct holter_type *type);

static inline struct cli_type_view *cli_view_of(struct cli_views *views,
						const struct holter_type *type)
{
	struct cli_type_view *view = views->by_type[holter_type_index(type)];

	return view ? view : cli_view_make(views, type);
}

/**
 * cli_value_integer() - an integer as jfr prints it: JDK 17 knows no unsigned numbers.
 * @value: of kind INT, UINT or CHAR.
 *
 * Return: the number. Context: any.
 */
int64_t cli_value_integer(const struct holter_value *value);

/**
 * cli_value_time() - the span or moment in an integer with a unit of time.
 * @is_none: out: it says "not available".
 *
 * Return: false when the unit is none of time that a JDK knows. Context: the reader's thread.
 */
bool cli_value_time(const struct holter_value *value, struct cli_span *span, bool *is_none);

/* Shape of a type, by its name. */
enum cli_shape cli_shape_of(const struct holter_type *type);

/* The annotation "jdk.jfr.NAME" of a field; NULL for none. */
const struct holter_annotation *cli_field_note(const struct holter_field *field, const char *name);

#endif
