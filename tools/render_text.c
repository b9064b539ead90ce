/*
 * Events in the layout of `jfr print` of JDK 17.
 *
 * In: events. Out: text for people. Never here: how a unit is written (jfr_text.c), filters.
 */
#include <math.h>
#include <stdio.h>

#include "tools/java_number.h"
#include "tools/render.h"

static void put_value(struct cli_render *render, const struct holter_value *value,
		      const struct cli_field_view *view, const char *behind);

static void put_line(struct cli_render *render, const char *text, const char *behind)
{
	cli_out_text(render->out, text);
	cli_out_text(render->out, behind);
	cli_out_char(render->out, '\n');
}

/* Text of a member, NULL where it has none. */
static const char *member_text(const struct holter_value *value, const char *name,
			       struct holter_value *member)
{
	if (value->kind != HOLTER_KIND_STRUCT || holter_value_member(value, name, member) != 0 ||
	    member->kind != HOLTER_KIND_STRING)
		return NULL;
	return member->as.text.data;
}

static int64_t member_integer(const struct holter_value *value, const char *name, int64_t otherwise)
{
	struct holter_value member;

	if (value->kind != HOLTER_KIND_STRUCT || holter_value_member(value, name, &member) != 0 ||
	    (member.kind != HOLTER_KIND_INT && member.kind != HOLTER_KIND_UINT))
		return otherwise;
	return cli_value_integer(&member);
}

static bool member_struct(const struct holter_value *value, const char *name,
			  struct holter_value *member)
{
	return value->kind == HOLTER_KIND_STRUCT && holter_value_member(value, name, member) == 0 &&
	       member->kind == HOLTER_KIND_STRUCT;
}

void cli_class_text(struct cli_out *out, const char *name)
{
	for (; *name; name++)
		cli_out_char(out, *name == '/' ? '.' : *name);
}

static const char *primitive_of(char letter)
{
	switch (letter) {
	case 'I':
		return "int";
	case 'J':
		return "long";
	case 'Z':
		return "boolean";
	case 'D':
		return "double";
	case 'F':
		return "float";
	case 'S':
		return "short";
	case 'C':
		return "char";
	case 'B':
		return "byte";
	default:
		return "<unknown-descriptor-type>";
	}
}

/*
 * One type of a descriptor, "[Ljava/lang/String;" as java.lang.String[]. Returns what is behind it.
 * is_simple: without package. size: put into the first brackets where not NULL.
 */
static const char *put_descriptor(struct cli_out *out, const char *at, const char *end,
				  bool is_simple, const char *size)
{
	const char *name;
	const char *stop;
	size_t brackets = 0;

	for (; at < end && *at == '['; at++)
		brackets++;
	if (at < end && *at == 'L') {
		stop = memchr(at, ';', (size_t)(end - at));
		stop = stop ? stop : end;
		name = at + 1;
		for (const char *c = name; is_simple && c < stop; c++)
			if (*c == '/' || *c == '.')
				name = c + 1;
		for (; name < stop; name++)
			cli_out_char(out, *name == '/' ? '.' : *name);
		at = stop < end ? stop + 1 : end;
	} else if (at < end) {
		cli_out_text(out, primitive_of(*at++));
	}
	for (; brackets; brackets--) {
		cli_out_char(out, '[');
		cli_out_text(out, size ? size : "");
		cli_out_char(out, ']');
		size = NULL;
	}
	return at;
}

void cli_method_text(struct cli_out *out, const struct holter_method *method)
{
	const char *at = method->descriptor;
	const char *end = strrchr(at, ')');
	bool is_first = true;

	cli_class_text(out, method->class_name);
	cli_out_char(out, '.');
	cli_out_text(out, method->name);
	cli_out_char(out, '(');
	/* A descriptor that is none is shown as no parameters, where jfr gives up. */
	for (at += *at == '('; end && at < end; is_first = false) {
		if (!is_first)
			cli_out_bytes(out, ", ", 2);
		at = put_descriptor(out, at, end, true, NULL);
	}
	cli_out_char(out, ')');
}

static void put_class_name(struct cli_out *out, const char *name, const char *size)
{
	if (*name == '[')
		put_descriptor(out, name, name + strlen(name), false, size);
	else
		cli_class_text(out, name);
}

static void put_thread(struct cli_render *render, const struct holter_value *value,
		       const char *behind)
{
	struct cli_out *out = render->out;
	int64_t java_id = member_integer(value, "javaThreadId", -1);
	struct holter_value member;
	const char *name = member_text(value, java_id > 0 ? "javaName" : "osName", &member);

	cli_out_char(out, '"');
	cli_out_text(out, name ? name : "null");
	cli_out_text(out, java_id > 0 ? "\" (javaThreadId = " : "\" (osThreadId = ");
	cli_out_i64(out, java_id > 0 ? java_id : member_integer(value, "osThreadId", -1));
	put_line(render, ")", behind);
}

static void put_class(struct cli_render *render, const struct holter_value *value,
		      const char *behind)
{
	struct cli_out *out = render->out;
	struct holter_value loader, type, member;
	const char *name = member_text(value, "name", &member);

	put_class_name(out, name ? name : "null", NULL);
	cli_out_text(out, " (classLoader = ");
	name = "null";
	if (member_struct(value, "classLoader", &loader)) {
		name = member_text(&loader, "name", &member);
		if (!name && member_struct(&loader, "type", &type))
			name = member_text(&type, "name", &member);
	}
	cli_class_text(out, name ? name : "null");
	put_line(render, ")", behind);
}

static void put_loader(struct cli_render *render, const struct holter_value *value)
{
	struct cli_out *out = render->out;
	struct holter_value type, member;
	const char *name;

	if (!member_struct(value, "type", &type)) {
		cli_out_text(out, "null\n");
		return;
	}
	name = member_text(&type, "name", &member);
	cli_class_text(out, name ? name : "null");
	cli_out_text(out, " (id = ");
	cli_out_i64(out, (int64_t)value->key);
	cli_out_text(out, ")\n");
}

/* A method as a value, from its members: it need not be part of a stack. */
static void put_method(struct cli_render *render, const struct holter_value *value)
{
	struct holter_value type, name, descriptor, class_name;
	struct holter_method method = { .name = "", .class_name = "", .descriptor = "" };
	const char *text = member_text(value, "name", &name);

	method.name = text ? text : "";
	text = member_text(value, "descriptor", &descriptor);
	method.descriptor = text ? text : "";
	if (member_struct(value, "type", &type)) {
		text = member_text(&type, "name", &class_name);
		method.class_name = text ? text : "";
	}
	cli_method_text(render->out, &method);
}

static void put_object(struct cli_render *render, const struct holter_value *object, int64_t size)
{
	struct cli_out *out = render->out;
	struct holter_value type, member;
	char digits[24] = "";
	const char *text;

	if (size > 0)
		snprintf(digits, sizeof(digits), "%lld", (long long)size);
	if (member_struct(object, "type", &type)) {
		text = member_text(&type, "name", &member);
		put_class_name(out, text ? text : "null", digits);
		text = member_text(object, "description", &member);
		if (text) {
			cli_out_char(out, ' ');
			cli_out_text(out, text);
		}
	}
	cli_out_char(out, '\n');
}

/* One step of the chain of references that keeps an old object alive. */
static bool put_reference(struct cli_render *render, const struct holter_value *reference,
			  struct holter_value *object)
{
	struct cli_out *out = render->out;
	struct holter_value array, field, member;
	int64_t size = INT64_MIN;
	const char *name;

	if (member_integer(reference, "skip", 0) > 0) {
		cli_out_spaces(out, render->indent);
		cli_out_text(out, "...\n");
	}
	cli_out_spaces(out, render->indent);
	if (member_struct(reference, "field", &field)) {
		name = member_text(&field, "name", &member);
		cli_out_text(out, name ? name : "null");
	}
	if (member_struct(reference, "array", &array)) {
		size = member_integer(&array, "size", 0);
		if (!member_struct(reference, "field", &field)) {
			cli_out_char(out, '[');
			cli_out_i64(out, member_integer(&array, "index", 0));
			cli_out_char(out, ']');
		}
	}
	cli_out_text(out, " : ");
	if (!member_struct(reference, "object", object))
		return false;
	put_object(render, object, size);
	return true;
}

static void put_old_object(struct cli_render *render, const struct holter_value *value,
			   const struct holter_event *event)
{
	struct cli_out *out = render->out;
	struct holter_value object = *value;
	struct holter_value reference, elements;
	int64_t size = 0;

	if (holter_event_get(event, "arrayElements", &elements) == 0 &&
	    elements.kind == HOLTER_KIND_INT)
		size = elements.as.integer;
	cli_out_text(out, " [\n");
	render->indent += 2;
	cli_out_spaces(out, render->indent);
	put_object(render, &object, size);
	for (int steps = 0; steps < 4096 && member_struct(&object, "referrer", &reference); steps++)
		if (!put_reference(render, &reference, &object))
			break;
	render->indent -= 2;
	cli_out_spaces(out, render->indent);
	cli_out_text(out, "]\n");
}

static void put_members(struct cli_render *render, const struct holter_value *value,
			const char *behind)
{
	struct cli_type_view *view = cli_view_of(&render->views, value->type);
	struct cli_out *out = render->out;
	struct holter_value member;
	struct holter_walk walk;

	if (render->depth >= CLI_RENDER_DEPTH || out->used - render->event_at > CLI_RENDER_EVENT) {
		put_line(render, "N/A", behind);
		return;
	}
	render->depth++;
	cli_out_text(out, "{\n");
	render->indent += 2;
	holter_walk_begin(&walk, value);
	for (size_t i = 0; i < view->field_count && holter_walk_next(&walk, &member) > 0; i++) {
		cli_out_spaces(out, render->indent);
		cli_out_text(out, view->fields[i].name);
		cli_out_text(out, " = ");
		put_value(render, &member, &view->fields[i], "");
	}
	render->indent -= 2;
	render->depth--;
	cli_out_spaces(out, render->indent);
	put_line(render, "}", behind);
}

static void put_struct(struct cli_render *render, const struct holter_value *value,
		       const char *behind)
{
	switch (cli_view_of(&render->views, value->type)->shape) {
	case CLI_SHAPE_THREAD:
		put_thread(render, value, behind);
		break;
	case CLI_SHAPE_CLASS:
		put_class(render, value, behind);
		break;
	case CLI_SHAPE_LOADER:
		put_loader(render, value);
		break;
	case CLI_SHAPE_METHOD:
		put_method(render, value);
		cli_out_char(render->out, '\n');
		break;
	default:
		put_members(render, value, behind);
		break;
	}
}

static void put_array(struct cli_render *render, const struct holter_value *value,
		      const struct cli_field_view *view)
{
	struct cli_out *out = render->out;
	struct holter_value element;
	struct holter_walk walk;

	cli_out_text(out, "[\n");
	render->indent += 2;
	holter_walk_begin(&walk, value);
	for (uint64_t i = 1; holter_walk_next(&walk, &element) > 0; i++) {
		cli_out_spaces(out, render->indent);
		put_value(render, &element, view, i < value->as.count ? ", " : "");
	}
	render->indent -= 2;
	cli_out_spaces(out, render->indent);
	cli_out_text(out, "]\n");
}

/* A number by the unit of its field; false when its field has none. */
static bool put_with_unit(struct cli_render *render, const struct holter_value *value,
			  const struct cli_field_view *view)
{
	bool is_real = value->kind == HOLTER_KIND_FLOAT || value->kind == HOLTER_KIND_DOUBLE;
	double real = is_real ? value->as.real : (double)cli_value_integer(value);
	int64_t integer = is_real ? (int64_t)real : cli_value_integer(value);
	struct cli_out *out = render->out;

	if (view->is_percentage)
		cli_text_percent(out, real);
	else if (view->amount)
		cli_text_amount(out, integer, view->amount == CLI_AMOUNT_BITS, view->is_frequency);
	else if (view->is_address)
		cli_text_address(out, (uint64_t)integer);
	else
		return false;
	return true;
}

/* Time stamps and spans; false when the unit is none of time. */
static bool put_time(struct cli_render *render, const struct holter_value *value,
		     const struct cli_field_view *view)
{
	struct cli_out *out = render->out;
	struct cli_span span;
	bool is_none;

	if (!cli_value_time(value, &span, &is_none))
		return false;
	if (is_none)
		cli_out_text(out, "N/A");
	else if (view->time == CLI_TIME_SPAN && view->has_content_type)
		cli_text_span(out, span);
	else if (view->time == CLI_TIME_SPAN)
		cli_iso_span(out, span);
	else if (view->has_content_type)
		cli_text_time(out, span, render->views.zone_s);
	else
		cli_iso_time(out, span, render->views.zone_s);
	return true;
}

static bool is_not_available(const struct holter_value *value)
{
	if (value->kind == HOLTER_KIND_FLOAT || value->kind == HOLTER_KIND_DOUBLE)
		return isnan(value->as.real) || value->as.real == (double)-INFINITY;
	if (holter_type_base(value->type) == HOLTER_BASE_INT)
		return cli_value_integer(value) == INT32_MIN;
	return cli_value_integer(value) == INT64_MIN;
}

static void put_number(struct cli_render *render, const struct holter_value *value,
		       const struct cli_field_view *view)
{
	bool is_real = value->kind == HOLTER_KIND_FLOAT || value->kind == HOLTER_KIND_DOUBLE;
	struct cli_out *out = render->out;
	char buffer[CLI_NUMBER_BYTES];

	if (!is_real && view->time && put_time(render, value, view))
		return;
	if (is_not_available(value)) {
		cli_out_text(out, "N/A");
		return;
	}
	if (view->has_content_type && put_with_unit(render, value, view))
		return;
	if (!is_real)
		cli_out_i64(out, cli_value_integer(value));
	else if (value->kind == HOLTER_KIND_FLOAT)
		cli_out_bytes(out, buffer, cli_java_float(buffer, (float)value->as.real));
	else
		cli_out_bytes(out, buffer, cli_java_double(buffer, value->as.real));
	if (view->has_content_type && view->is_frequency)
		cli_out_text(out, " Hz");
}

static void put_unit(struct cli_out *out, uint16_t unit)
{
	if (unit >= 0x800) {
		cli_out_char(out, (char)(0xe0 | unit >> 12));
		cli_out_char(out, (char)(0x80 | (unit >> 6 & 63)));
	} else if (unit >= 0x80) {
		cli_out_char(out, (char)(0xc0 | unit >> 6));
	}
	cli_out_char(out, (char)(unit < 0x80 ? unit : 0x80 | (unit & 63)));
}

/* A value and the end of its line. */
static void put_value(struct cli_render *render, const struct holter_value *value,
		      const struct cli_field_view *view, const char *behind)
{
	struct cli_out *out = render->out;

	switch (value->kind) {
	case HOLTER_KIND_STRUCT:
		put_struct(render, value, behind);
		return;
	case HOLTER_KIND_ARRAY:
		put_array(render, value, view);
		return;
	case HOLTER_KIND_NULL:
		cli_out_text(out, "N/A");
		break;
	case HOLTER_KIND_BOOL:
		cli_out_text(out, value->as.boolean ? "true" : "false");
		break;
	case HOLTER_KIND_CHAR:
		put_unit(out, (uint16_t)value->as.number);
		break;
	case HOLTER_KIND_STRING:
		cli_out_char(out, '"');
		cli_out_bytes(out, value->as.text.data, value->as.text.length);
		cli_out_char(out, '"');
		break;
	default:
		put_number(render, value, view);
		break;
	}
	put_line(render, "", value->kind == HOLTER_KIND_NULL ? behind : "");
}

static void put_stack(struct cli_render *render, const struct holter_stack *stack)
{
	struct cli_out *out = render->out;
	uint32_t shown = 0;
	uint32_t i;

	cli_out_text(out, "  stackTrace = [\n");
	for (i = 0; i < stack->frame_count && shown < render->stack_depth; i++) {
		const struct holter_frame *frame = &stack->frames[i];

		if (frame->method->hidden)
			continue;
		cli_out_text(out, "    ");
		cli_method_text(out, frame->method);
		if (frame->line >= 0) {
			cli_out_text(out, " line: ");
			cli_out_i64(out, frame->line);
		}
		cli_out_char(out, '\n');
		shown++;
	}
	if (stack->is_truncated || i == render->stack_depth)
		cli_out_text(out, "    ...\n");
	cli_out_text(out, "  ]\n");
}

static void put_field(struct cli_render *render, const struct holter_event *event, size_t number,
		      const struct cli_field_view *view)
{
	struct cli_out *out = render->out;
	struct holter_value value;

	if (holter_event_field(event, number, &value) != 0)
		value = (struct holter_value){ .kind = HOLTER_KIND_NULL };
	if (strcmp(view->name, "duration") == 0 && value.kind == HOLTER_KIND_INT &&
	    value.as.integer == 0)
		return;
	cli_out_spaces(out, render->indent);
	cli_out_text(out, view->name);
	cli_out_text(out, " = ");
	if (view->shape == CLI_SHAPE_OLD_OBJECT && value.kind == HOLTER_KIND_STRUCT)
		put_old_object(render, &value, event);
	else
		put_value(render, &value, view, "");
}

/* The thread and the stack come last, and only where there is one. */
static void put_late(struct cli_render *render, const struct holter_event *event, const char *name)
{
	const struct cli_type_view *view = cli_view_of(&render->views, holter_event_type(event));
	const struct holter_stack *stack;
	struct holter_value value;

	for (size_t i = 0; i < view->field_count; i++) {
		if (!view->fields[i].is_late || strcmp(view->fields[i].name, name) != 0)
			continue;
		if (holter_event_field(event, i, &value) != 0 || value.kind != HOLTER_KIND_STRUCT)
			return;
		stack = holter_value_stack(&value);
		if (stack) {
			put_stack(render, stack);
			return;
		}
		cli_out_text(render->out, "  ");
		cli_out_text(render->out, name);
		cli_out_text(render->out, " = ");
		put_value(render, &value, &view->fields[i], "");
		return;
	}
}

void cli_text_event(struct cli_render *render, const struct holter_event *event)
{
	const struct holter_type *type = holter_event_type(event);
	struct cli_type_view *view = cli_view_of(&render->views, type);
	struct cli_out *out = render->out;

	render->event_at = out->used;
	render->indent = 2;
	cli_out_text(out, holter_type_name(type));
	cli_out_text(out, " {\n");
	for (size_t i = 0; i < view->field_count; i++)
		if (!view->fields[i].is_late)
			put_field(render, event, i, &view->fields[i]);
	put_late(render, event, "eventThread");
	put_late(render, event, "stackTrace");
	cli_out_text(out, "}\n\n");
	cli_out_settle(out);
}
