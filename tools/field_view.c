/*
 * Views of fields (field_view.h).
 *
 * In: annotations. Out: flags that renderers test instead of comparing names per value.
 */
#include "tools/field_view.h"

#include <stdlib.h>

#include "tools/cmd.h"

#define ZONE_MAX_S (18 * 3600)

static bool is_note(const struct holter_annotation *note, const char *name)
{
	const struct holter_type *type = holter_annotation_type(note);
	const char *full = type ? holter_type_name(type) : "";

	return strncmp(full, "jdk.jfr.", 8) == 0 && strcmp(full + 8, name) == 0;
}

const struct holter_annotation *cli_field_note(const struct holter_field *field, const char *name)
{
	for (size_t i = 0; i < holter_field_annotation_count(field); i++)
		if (is_note(holter_field_annotation(field, i), name))
			return holter_field_annotation(field, i);
	return NULL;
}

/* Whether one of the annotations has a type that is itself marked as ContentType. */
static bool has_content_type(const struct holter_field *field)
{
	for (size_t i = 0; i < holter_field_annotation_count(field); i++) {
		const struct holter_annotation *note = holter_field_annotation(field, i);
		const struct holter_type *type = holter_annotation_type(note);

		for (size_t n = 0; type && n < holter_type_annotation_count(type); n++)
			if (is_note(holter_type_annotation(type, n), "ContentType"))
				return true;
	}
	return false;
}

enum cli_shape cli_shape_of(const struct holter_type *type)
{
	static const struct {
		const char *name;
		enum cli_shape shape;
	} shapes[] = {
		{ "java.lang.Thread", CLI_SHAPE_THREAD },
		{ "java.lang.Class", CLI_SHAPE_CLASS },
		{ "jdk.types.ClassLoader", CLI_SHAPE_LOADER },
		{ "jdk.types.Method", CLI_SHAPE_METHOD },
		{ "jdk.types.StackFrame", CLI_SHAPE_FRAME },
		{ "jdk.types.StackTrace", CLI_SHAPE_STACK },
		{ "jdk.types.OldObject", CLI_SHAPE_OLD_OBJECT },
	};

	for (size_t i = 0; type && i < ARRAY_LEN(shapes); i++)
		if (strcmp(shapes[i].name, holter_type_name(type)) == 0)
			return shapes[i].shape;
	return CLI_SHAPE_PLAIN;
}

static char *json_name(const char *name, uint32_t *length)
{
	struct cli_out out;
	char *text;

	cli_out_init(&out, -1, 0);
	cli_out_json(&out, name, strlen(name));
	cli_out_text(&out, ": ");
	*length = (uint32_t)out.used;
	text = cli_alloc(out.used);
	memcpy(text, out.data, out.used);
	cli_out_free(&out);
	return text;
}

static void view_amount(struct cli_field_view *view)
{
	const struct holter_annotation *note = cli_field_note(view->field, "DataAmount");
	const char *unit;

	if (!note)
		return;
	unit = holter_annotation_value_count(note) ? holter_annotation_value(note, 0) : "BYTES";
	if (unit && strcmp(unit, "BITS") == 0)
		view->amount = CLI_AMOUNT_BITS;
	else if (unit && strcmp(unit, "BYTES") == 0)
		view->amount = CLI_AMOUNT_BYTES;
}

static void view_field(struct cli_field_view *view, const struct holter_field *field)
{
	const char *name = holter_field_name(field);

	*view = (struct cli_field_view){ .field = field, .name = name };
	view->json = json_name(name, &view->json_length);
	view->shape = cli_shape_of(holter_field_type(field));
	if (cli_field_note(field, "Timespan"))
		view->time = CLI_TIME_SPAN;
	else if (cli_field_note(field, "Timestamp"))
		view->time = CLI_TIME_MOMENT;
	view->has_content_type = has_content_type(field);
	view->is_percentage = cli_field_note(field, "Percentage") != NULL;
	view->is_frequency = cli_field_note(field, "Frequency") != NULL;
	view->is_address = cli_field_note(field, "MemoryAddress") != NULL;
	view_amount(view);
	view->is_late = strcmp(name, "eventThread") == 0 || strcmp(name, "stackTrace") == 0;
}

struct cli_type_view *cli_view_make(struct cli_views *views, const struct holter_type *type)
{
	size_t count = holter_type_field_count(type);
	struct cli_type_view *view = cli_alloc(sizeof(*view));

	*view = (struct cli_type_view){ .type = type, .field_count = count };
	view->shape = cli_shape_of(type);
	view->fields = cli_alloc(count * sizeof(*view->fields));
	for (size_t i = 0; i < count; i++)
		view_field(&view->fields[i], holter_type_field(type, i));
	views->by_type[holter_type_index(type)] = view;
	return view;
}

static void forget(struct cli_views *views)
{
	for (size_t i = 0; i < views->type_count; i++) {
		struct cli_type_view *view = views->by_type[i];

		if (!view)
			continue;
		for (size_t n = 0; n < view->field_count; n++)
			free((void *)(uintptr_t)view->fields[n].json);
		free(view->fields);
		free(view);
	}
	free(views->by_type);
	views->by_type = NULL;
	views->type_count = 0;
}

void cli_views_enter(struct cli_views *views, struct holter_reader *reader)
{
	const struct holter_chunk *chunk = holter_reader_chunk(reader);
	int64_t zone_s = chunk ? chunk->gmt_offset_ms / 1000 : 0;

	forget(views);
	views->reader = reader;
	views->type_count = holter_reader_type_count(reader);
	views->by_type = cli_alloc(views->type_count * sizeof(*views->by_type));
	memset(views->by_type, 0, views->type_count * sizeof(*views->by_type));
	views->zone_s = zone_s >= -ZONE_MAX_S && zone_s <= ZONE_MAX_S ? (int32_t)zone_s : 0;
}

void cli_views_fini(struct cli_views *views)
{
	forget(views);
}

int64_t cli_value_integer(const struct holter_value *value)
{
	uint64_t bits = value->as.number;

	if (value->kind == HOLTER_KIND_INT)
		return value->as.integer;
	switch (holter_type_base(value->type)) {
	case HOLTER_BASE_BYTE:
		return (int8_t)bits;
	case HOLTER_BASE_SHORT:
		return (int16_t)bits;
	case HOLTER_BASE_INT:
		return (int32_t)bits;
	default:
		return (int64_t)bits;
	}
}

bool cli_value_time(const struct holter_value *value, struct cli_span *span, bool *is_none)
{
	int64_t number = cli_value_integer(value);
	int64_t ns;

	*is_none = number == INT64_MIN;
	switch (value->field ? holter_field_unit(value->field) : HOLTER_UNIT_NONE) {
	case HOLTER_UNIT_SPAN_TICKS:
	case HOLTER_UNIT_TIME_TICKS:
		if (holter_value_ns(value, &ns) != 0)
			return false;
		*span = cli_span_of(ns, 1000000000);
		return true;
	case HOLTER_UNIT_SPAN_NS:
	case HOLTER_UNIT_TIME_NS:
		*span = cli_span_of(number, 1000000000);
		return true;
	case HOLTER_UNIT_SPAN_US:
		*span = cli_span_of(number, 1000000);
		return true;
	case HOLTER_UNIT_SPAN_MS:
	case HOLTER_UNIT_TIME_MS:
		*span = cli_span_of(number, 1000);
		return true;
	case HOLTER_UNIT_SPAN_S:
		*span = cli_span_of(number, 1);
		return true;
	default:
		return false;
	}
}
