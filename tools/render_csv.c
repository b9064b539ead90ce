/*
 * Tables of events (render_tables.h).
 *
 * In: a type, then its events. Out: RFC 4180: commas, CR LF, quotes where needed. A column is a
 * path, so that chunks whose type has other fields fit into the same table.
 */
#include <math.h>
#include <stdlib.h>

#include "tools/cmd.h"
#include "tools/java_number.h"
#include "tools/render_tables.h"

#define NEST_MAX 4
#define PATH_BYTES 512

struct cli_csv_column {
	struct holter_path *path;
	uint8_t time; /* enum cli_time */
};

static void put_quoted(struct cli_out *out, const char *text, size_t count)
{
	bool is_plain = true;

	for (size_t i = 0; i < count && is_plain; i++)
		is_plain = !strchr(",\"\r\n", text[i]) || !text[i];
	if (is_plain) {
		cli_out_bytes(out, text, count);
		return;
	}
	cli_out_char(out, '"');
	for (size_t i = 0; i < count; i++) {
		if (text[i] == '"')
			cli_out_char(out, '"');
		cli_out_char(out, text[i]);
	}
	cli_out_char(out, '"');
}

static void add_column(struct cli_csv *csv, struct cli_out *out, const char *path, uint8_t time)
{
	struct cli_csv_column column = { NULL, time };

	if (holter_path_create(path, &column.path) != 0)
		return; /* a name that cannot be part of a path */
	csv->columns = cli_realloc(csv->columns, (csv->count + 1) * sizeof(*csv->columns));
	csv->columns[csv->count++] = column;
	if (csv->count > 1)
		cli_out_char(out, ',');
	put_quoted(out, path, strlen(path));
}

static void add_columns(struct cli_csv *csv, struct cli_out *out, const char *before,
			const struct holter_type *type, int depth);

static void add_field(struct cli_csv *csv, struct cli_out *out, const char *before,
		      const struct holter_field *field, int depth)
{
	const struct holter_type *type = holter_field_type(field);
	bool is_struct = type && holter_type_base(type) == HOLTER_BASE_STRUCT &&
			 !holter_type_is_simple(type) && !holter_field_is_array(field);
	uint8_t time = cli_field_note(field, "Timespan")    ? CLI_TIME_SPAN
		       : cli_field_note(field, "Timestamp") ? CLI_TIME_MOMENT
							    : CLI_TIME_NONE;
	enum cli_shape shape = cli_shape_of(type);
	char path[PATH_BYTES];
	char number[PATH_BYTES + 16];

	snprintf(path, sizeof(path), "%s%s%s", before, *before ? "." : "",
		 holter_field_name(field));
	if (is_struct && shape == CLI_SHAPE_PLAIN) {
		add_columns(csv, out, path, type, depth + 1);
		return;
	}
	add_column(csv, out, path, time);
	if (shape == CLI_SHAPE_THREAD && is_struct) {
		snprintf(number, sizeof(number), "%s.osThreadId", path);
		add_column(csv, out, number, CLI_TIME_NONE);
	}
}

static void add_columns(struct cli_csv *csv, struct cli_out *out, const char *before,
			const struct holter_type *type, int depth)
{
	for (size_t i = 0; depth < NEST_MAX && i < holter_type_field_count(type); i++)
		add_field(csv, out, before, holter_type_field(type, i), depth);
}

void cli_csv_begin(struct cli_csv *csv, struct cli_out *out, const struct holter_type *type)
{
	*csv = (struct cli_csv){ .columns = NULL };
	cli_out_init(&csv->text, -1, 0);
	cli_render_init(&csv->json, &csv->text, UINT32_MAX);
	add_columns(csv, out, "", type, 0);
	cli_out_text(out, "\r\n");
}

void cli_csv_enter(struct cli_csv *csv, struct holter_reader *reader)
{
	cli_render_enter(&csv->json, reader);
}

static const char *text_member(const struct holter_value *value, const char *name,
			       struct holter_value *member)
{
	if (holter_value_member(value, name, member) != 0 || member->kind != HOLTER_KIND_STRING)
		return NULL;
	return member->as.text.data;
}

static void put_stack(struct cli_out *text, const struct holter_stack *stack)
{
	for (uint32_t i = 0; i < stack->frame_count; i++) {
		if (i)
			cli_out_char(text, '\n');
		cli_method_text(text, stack->frames[i].method);
	}
}

static void put_struct(struct cli_csv *csv, const struct holter_value *value)
{
	const struct holter_thread *thread = holter_value_thread(value);
	const struct holter_stack *stack = holter_value_stack(value);
	struct cli_out *text = &csv->text;
	struct holter_value type, member;
	const char *name;

	if (stack) {
		put_stack(text, stack);
		return;
	}
	if (thread) {
		name = thread->java_name ? thread->java_name : thread->os_name;
		cli_out_text(text, name ? name : "");
		return;
	}
	name = text_member(value, "name", &member);
	switch (cli_shape_of(value->type)) {
	case CLI_SHAPE_METHOD:
		if (holter_value_member(value, "type", &type) == 0 &&
		    type.kind == HOLTER_KIND_STRUCT && text_member(&type, "name", &type)) {
			cli_class_text(text, type.as.text.data);
			cli_out_char(text, '.');
		}
		cli_out_text(text, name ? name : "");
		break;
	case CLI_SHAPE_CLASS:
	case CLI_SHAPE_LOADER:
		cli_class_text(text, name ? name : "");
		break;
	default:
		cli_json_value(&csv->json, value, NULL);
		break;
	}
}

static void put_time(struct cli_csv *csv, const struct holter_value *value, uint8_t time)
{
	struct cli_span span;
	bool is_none;
	int64_t ns;

	if (!cli_value_time(value, &span, &is_none)) {
		cli_out_i64(&csv->text, cli_value_integer(value));
		return;
	}
	if (is_none)
		return;
	if (time == CLI_TIME_MOMENT)
		cli_iso_time(&csv->text, span, 0);
	else if (holter_value_ns(value, &ns) == 0)
		cli_out_i64(&csv->text, ns);
}

static void put_value(struct cli_csv *csv, const struct cli_csv_column *column,
		      const struct holter_value *value)
{
	struct cli_field_view plain = { .time = CLI_TIME_NONE };
	struct cli_out *text = &csv->text;
	char buffer[CLI_NUMBER_BYTES];

	switch (value->kind) {
	case HOLTER_KIND_NULL:
		break;
	case HOLTER_KIND_STRING:
		cli_out_bytes(text, value->as.text.data, value->as.text.length);
		break;
	case HOLTER_KIND_INT:
	case HOLTER_KIND_UINT:
		if (column->time)
			put_time(csv, value, column->time);
		else if (value->kind == HOLTER_KIND_UINT)
			cli_out_u64(text, value->as.number);
		else
			cli_out_i64(text, value->as.integer);
		break;
	case HOLTER_KIND_FLOAT:
		if (isfinite(value->as.real))
			cli_out_bytes(text, buffer, cli_java_float(buffer, (float)value->as.real));
		break;
	case HOLTER_KIND_DOUBLE:
		if (isfinite(value->as.real))
			cli_out_bytes(text, buffer, cli_java_double(buffer, value->as.real));
		break;
	case HOLTER_KIND_STRUCT:
		put_struct(csv, value);
		break;
	default:
		cli_json_value(&csv->json, value, &plain);
		break;
	}
}

void cli_csv_row(struct cli_csv *csv, struct cli_out *out, const struct holter_event *event)
{
	struct holter_value value;

	for (size_t i = 0; i < csv->count; i++) {
		if (i)
			cli_out_char(out, ',');
		if (holter_path_get(csv->columns[i].path, event, &value) != 0)
			continue;
		csv->text.used = 0;
		csv->json.indent = 0;
		csv->json.event_at = 0;
		put_value(csv, &csv->columns[i], &value);
		put_quoted(out, csv->text.data, csv->text.used);
	}
	cli_out_text(out, "\r\n");
	cli_out_settle(out);
}

void cli_csv_end(struct cli_csv *csv)
{
	for (size_t i = 0; i < csv->count; i++)
		holter_path_destroy(csv->columns[i].path);
	free(csv->columns);
	cli_render_fini(&csv->json);
	cli_out_free(&csv->text);
}
