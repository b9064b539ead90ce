/*
 * Events in the layout of `jfr print --json` of JDK 17, byte for byte.
 *
 * In: events. Out: JSON. Constants are rendered once (render_cache.c). Never here: filters, files.
 */
#include <math.h>

#include "tools/java_number.h"
#include "tools/render.h"

#define EVENT_INDENT 8 /* of the fields of an event */

static void begin_object(struct cli_render *render)
{
	cli_out_bytes(render->out, "{\n", 2);
	render->indent += 2;
}

static void end_object(struct cli_render *render)
{
	render->indent -= 2;
	cli_out_char(render->out, '\n');
	cli_out_spaces(render->out, render->indent);
	cli_out_char(render->out, '}');
}

/* The name of a member, behind the member before. */
static void begin_member(struct cli_render *render, const struct cli_field_view *view,
			 bool is_first)
{
	struct cli_out *out = render->out;

	if (!is_first)
		cli_out_bytes(out, ", \n", 3);
	cli_out_spaces(out, render->indent);
	cli_out_bytes(out, view->json, view->json_length);
}

void cli_json_begin(struct cli_render *render)
{
	cli_out_text(render->out, "{\n  \"recording\": {\n    \"events\": [");
}

void cli_json_end(struct cli_render *render)
{
	cli_out_text(render->out, "]\n  }\n}");
}

static void put_null(struct cli_render *render)
{
	cli_out_bytes(render->out, "null", 4);
}

static void put_real(struct cli_render *render, const struct holter_value *value)
{
	char buffer[CLI_NUMBER_BYTES];
	size_t length;

	if (!isfinite(value->as.real)) {
		put_null(render);
		return;
	}
	length = value->kind == HOLTER_KIND_FLOAT ? cli_java_float(buffer, (float)value->as.real)
						  : cli_java_double(buffer, value->as.real);
	cli_out_bytes(render->out, buffer, length);
}

static void put_time(struct cli_render *render, const struct holter_value *value,
		     const struct cli_field_view *view)
{
	struct cli_out *out = render->out;
	struct cli_span span;
	bool is_none;

	if (!cli_value_time(value, &span, &is_none)) {
		cli_out_i64(out, cli_value_integer(value));
		return;
	}
	cli_out_char(out, '"');
	if (view->time == CLI_TIME_SPAN)
		cli_iso_span(out, is_none ? (struct cli_span){ INT64_MIN, 0 } : span);
	else if (is_none)
		cli_out_text(out, "-999999999-01-01T00:00+18:00");
	else
		cli_iso_time(out, span, render->views.zone_s);
	cli_out_char(out, '"');
}

static void put_char(struct cli_render *render, uint16_t unit)
{
	char utf8[3] = { (char)unit, 0, 0 };
	size_t length = 1;

	if (unit >= 0x800) {
		utf8[0] = (char)(0xe0 | unit >> 12);
		utf8[1] = (char)(0x80 | (unit >> 6 & 63));
		utf8[2] = (char)(0x80 | (unit & 63));
		length = 3;
	} else if (unit >= 0x80) {
		utf8[0] = (char)(0xc0 | unit >> 6);
		utf8[1] = (char)(0x80 | (unit & 63));
		length = 2;
	}
	cli_out_json(render->out, utf8, length);
}

static void put_struct(struct cli_render *render, const struct holter_value *value)
{
	struct cli_type_view *view = cli_view_of(&render->views, value->type);
	struct holter_value member;
	struct holter_walk walk;
	size_t number = 0;

	if (render->depth >= CLI_RENDER_DEPTH ||
	    render->out->used - render->event_at > CLI_RENDER_EVENT) {
		put_null(render);
		return;
	}
	render->depth++;
	begin_object(render);
	holter_walk_begin(&walk, value);
	for (; number < view->field_count && holter_walk_next(&walk, &member) > 0; number++) {
		begin_member(render, &view->fields[number], number == 0);
		cli_json_value(render, &member, &view->fields[number]);
	}
	for (; number < view->field_count; number++) {
		begin_member(render, &view->fields[number], number == 0);
		put_null(render);
	}
	end_object(render);
	render->depth--;
}

static void put_array(struct cli_render *render, const struct holter_value *value,
		      const struct cli_field_view *view)
{
	bool is_frames = cli_shape_of(value->type) == CLI_SHAPE_FRAME;
	struct holter_value element;
	struct holter_walk walk;
	bool is_first = true;
	uint32_t left = is_frames ? render->stack_depth : UINT32_MAX;

	cli_out_char(render->out, '[');
	holter_walk_begin(&walk, value);
	for (; left && holter_walk_next(&walk, &element) > 0; left--) {
		if (!is_first)
			cli_out_bytes(render->out, ", ", 2);
		is_first = false;
		cli_json_value(render, &element, view);
	}
	cli_out_char(render->out, ']');
}

/* A struct, from the cache where it is a constant. */
static void put_constant(struct cli_render *render, const struct holter_value *value)
{
	size_t from;

	if (!value->is_constant) {
		put_struct(render, value);
		return;
	}
	if (cli_cache_find(render, value))
		return;
	from = render->out->used;
	put_struct(render, value);
	cli_cache_keep(render, value, from);
}

void cli_json_value(struct cli_render *render, const struct holter_value *value,
		    const struct cli_field_view *view)
{
	switch (value->kind) {
	case HOLTER_KIND_NULL:
		put_null(render);
		break;
	case HOLTER_KIND_BOOL:
		cli_out_text(render->out, value->as.boolean ? "true" : "false");
		break;
	case HOLTER_KIND_INT:
	case HOLTER_KIND_UINT:
		if (view->time)
			put_time(render, value, view);
		else
			cli_out_i64(render->out, cli_value_integer(value));
		break;
	case HOLTER_KIND_CHAR:
		put_char(render, (uint16_t)value->as.number);
		break;
	case HOLTER_KIND_FLOAT:
	case HOLTER_KIND_DOUBLE:
		put_real(render, value);
		break;
	case HOLTER_KIND_STRING:
		cli_out_json(render->out, value->as.text.data, value->as.text.length);
		break;
	case HOLTER_KIND_STRUCT:
		put_constant(render, value);
		break;
	case HOLTER_KIND_ARRAY:
		put_array(render, value, view);
		break;
	}
}

void cli_json_event(struct cli_render *render, const struct holter_event *event)
{
	const struct holter_type *type = holter_event_type(event);
	struct cli_type_view *view = cli_view_of(&render->views, type);
	const char *name = holter_type_name(type);
	struct cli_out *out = render->out;
	struct holter_value value;

	render->event_at = out->used;
	cli_out_text(out, render->is_first ? "{\n      \"type\": " : ", {\n      \"type\": ");
	render->is_first = false;
	cli_out_json(out, name, strlen(name));
	cli_out_text(out, ", \n      \"values\": {\n");
	render->indent = EVENT_INDENT;
	for (size_t i = 0; i < view->field_count; i++) {
		begin_member(render, &view->fields[i], i == 0);
		if (holter_event_field(event, i, &value) == 0)
			cli_json_value(render, &value, &view->fields[i]);
		else
			put_null(render);
	}
	cli_out_text(out, "\n      }\n    }");
	cli_out_settle(out);
}
