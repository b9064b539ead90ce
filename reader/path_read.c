/*
 * Paths such as "stackTrace.frames[0].method.name": parsed once, matched with each event type once
 * a chunk, then followed without any text.
 *
 * In: the path's text and the fields of types. Out: values. A match is bound to the chunk by
 * reader, nonce and serial, so that a path may be used with many readers and never looks at the
 * types of a chunk that is gone.
 */
#include <stdlib.h>

#include "reader/model.h"
#include "reader/skip.h"
#include "reader/value_read.h"

#define STEPS_MAX 64
#define INDEX_MAX 1000000000u

struct step {
	const char *name; /* NULL: an element */
	uint32_t index;
};

/* How a path is followed from events of one type. */
struct route {
	int code;	   /* 0, or why it cannot be followed */
	uint32_t fields[]; /* number of the field for each step that is a name */
};

struct holter_path {
	char *text; /* cut at the dots */
	struct step *steps;
	uint32_t step_count;
	/* bound to */
	const struct holter_reader *reader;
	uint64_t nonce;
	uint64_t serial;
	struct route **routes; /* by index of the type; NULL = not matched yet */
	size_t route_count;
};

/* Parses "[n]" at `at`; returns what is behind it, NULL when it is wrong. */
static char *parse_index(char *at, struct step *step)
{
	uint64_t index = 0;
	char *digit = at + 1;

	for (; *digit >= '0' && *digit <= '9' && index < INDEX_MAX; digit++)
		index = index * 10 + (uint64_t)(*digit - '0');
	if (*digit != ']' || digit == at + 1)
		return NULL;
	*step = (struct step){ .index = (uint32_t)index };
	*at = 0;
	return digit + 1;
}

static bool parse(struct holter_path *path)
{
	char *at = path->text;

	for (;;) {
		size_t length = strcspn(at, ".[]");

		if (!length || path->step_count >= STEPS_MAX)
			return false;
		path->steps[path->step_count++] = (struct step){ .name = at };
		at += length;
		while (*at == '[') {
			if (path->step_count >= STEPS_MAX)
				return false;
			at = parse_index(at, &path->steps[path->step_count++]);
			if (!at)
				return false;
		}
		if (!*at)
			return true;
		if (*at != '.')
			return false;
		*at++ = 0;
	}
}

int holter_path_create(const char *path, struct holter_path **result)
{
	struct holter_path *made = calloc(1, sizeof(*made));
	int code = HOLTER_E_NOMEM;

	if (!made)
		return code;
	made->text = strdup(path);
	made->steps = calloc(STEPS_MAX, sizeof(*made->steps));
	if (!made->text || !made->steps)
		goto out;
	code = parse(made) ? 0 : HOLTER_E_SYNTAX;
	if (!code) {
		*result = made;
		return 0;
	}
out:
	holter_path_destroy(made);
	return code;
}

static void forget_routes(struct holter_path *path)
{
	for (size_t i = 0; i < path->route_count; i++)
		free(path->routes[i]);
	free(path->routes);
	path->routes = NULL;
	path->route_count = 0;
	path->reader = NULL;
}

void holter_path_destroy(struct holter_path *path)
{
	if (!path)
		return;
	forget_routes(path);
	free(path->text);
	free(path->steps);
	free(path);
}

/* Simple types are not seen in values, so paths go through them. */
static const struct holter_field *unwrap(const struct holter_field *field)
{
	for (int i = 0; i < RDR_DEPTH_MAX && field->op != RDR_OP_BAD && !field->is_array &&
			field->type->is_simple;
	     i++)
		field = &field->type->fields[0];
	return field;
}

/* Matches the steps with the fields from `type` on. */
static int match(const struct holter_path *path, const struct holter_type *type,
		 struct route *route)
{
	const struct holter_field *field = NULL;
	bool is_array = false;

	for (uint32_t i = 0; i < path->step_count; i++) {
		const struct step *step = &path->steps[i];
		uint32_t number = 0;

		if (!step->name) {
			if (!is_array)
				return HOLTER_E_NO_FIELD;
			is_array = false;
			continue;
		}
		if (is_array || (field && field->type->op != RDR_OP_STRUCT))
			return HOLTER_E_NO_FIELD;
		if (field)
			type = field->type;
		while (number < type->field_count &&
		       strcmp(type->fields[number].name, step->name) != 0)
			number++;
		if (number == type->field_count || type->fields[number].op == RDR_OP_BAD)
			return HOLTER_E_NO_FIELD;
		route->fields[i] = number;
		field = unwrap(&type->fields[number]);
		if (field->op == RDR_OP_BAD)
			return HOLTER_E_NO_FIELD;
		is_array = field->is_array;
	}
	return 0;
}

static struct route *find_route(struct holter_path *path, const struct holter_event *event)
{
	const struct holter_reader *reader = event->reader;
	uint32_t index = event->type->index;
	struct route *route;

	if (unlikely(path->serial != reader->serial || path->reader != reader ||
		     path->nonce != reader->nonce)) {
		forget_routes(path);
		path->routes = calloc(reader->chunk.type_count, sizeof(struct route *));
		if (!path->routes)
			return NULL;
		path->route_count = reader->chunk.type_count;
		path->reader = reader;
		path->serial = reader->serial;
		path->nonce = reader->nonce;
	}
	route = path->routes[index];
	if (likely(route))
		return route;
	route = calloc(1, sizeof(*route) + path->step_count * sizeof(route->fields[0]));
	if (!route)
		return NULL;
	route->code = match(path, event->type, route);
	path->routes[index] = route;
	return route;
}

/* From a value to its member or element. */
static int follow(struct holter_reader *reader, const struct step *step, uint32_t number,
		  struct holter_value *value)
{
	const struct holter_field *field;
	const uint8_t *at = value->at;
	const uint8_t *end = value->end;

	if (!step->name) {
		/* Inside a simple type the array is that of the inner field. */
		if (value->kind != HOLTER_KIND_ARRAY || step->index >= value->as.count) {
			value->kind = HOLTER_KIND_NULL;
			return 0;
		}
		field = value->element;
		for (uint32_t i = 0; i < step->index && at; i++)
			at = rdr_skip_element(field, at, end);
		return at ? rdr_value_element(reader, field, at, end, value) : HOLTER_E_CORRUPT;
	}
	if (value->kind != HOLTER_KIND_STRUCT || number >= value->type->field_count)
		return HOLTER_E_CORRUPT;
	field = value->type->fields;
	for (uint32_t i = 0; i < number && at; i++)
		at = rdr_skip_field(&field[i], at, end);
	return at ? rdr_value_field(reader, &field[number], at, end, value) : HOLTER_E_CORRUPT;
}

int holter_path_get(struct holter_path *path, const struct holter_event *event,
		    struct holter_value *value)
{
	struct route *route = find_route(path, event);
	struct holter_value result;
	int code;

	if (!route)
		return HOLTER_E_NOMEM;
	if (route->code)
		return route->code;
	code = holter_event_field(event, route->fields[0], &result);
	for (uint32_t i = 1; i < path->step_count && !code && result.kind != HOLTER_KIND_NULL; i++)
		code = follow(event->reader, &path->steps[i], route->fields[i], &result);
	if (!code)
		*value = result;
	return code;
}

int holter_event_get(const struct holter_event *event, const char *path, struct holter_value *value)
{
	struct holter_path *made;
	int code = holter_path_create(path, &made);

	if (code)
		return code;
	code = holter_path_get(made, event, value);
	holter_path_destroy(made);
	return code;
}
