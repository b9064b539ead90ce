/*
 * Links types: bases, units, labels, well-known fields, and for every field the operation that
 * skips it, so that events need no look at the metadata any more.
 *
 * Types that contain themselves without a pool between, or an undeclared type, get RDR_OP_BAD:
 * the length of their values is not known. All others nest less than RDR_DEPTH_MAX deep, which
 * bounds the recursion of whoever skips or walks them.
 */
#include "reader/types_link.h"

#include <stdlib.h>

#include "reader/counts.h"

static const struct {
	const char *name;
	enum holter_base base;
	enum rdr_op op;
} primitives[] = {
	{ "boolean", HOLTER_BASE_BOOLEAN, RDR_OP_BYTE },
	{ "byte", HOLTER_BASE_BYTE, RDR_OP_BYTE },
	{ "short", HOLTER_BASE_SHORT, RDR_OP_VARINT },
	{ "char", HOLTER_BASE_CHAR, RDR_OP_VARINT },
	{ "int", HOLTER_BASE_INT, RDR_OP_VARINT },
	{ "long", HOLTER_BASE_LONG, RDR_OP_VARINT },
	{ "float", HOLTER_BASE_FLOAT, RDR_OP_4 },
	{ "double", HOLTER_BASE_DOUBLE, RDR_OP_8 },
	{ "java.lang.String", HOLTER_BASE_STRING, RDR_OP_STRING },
};

static void find_base(struct holter_type *type)
{
	type->op = type->field_count ? RDR_OP_STRUCT : RDR_OP_BAD;
	for (size_t i = 0; i < ARRAY_LEN(primitives); i++) {
		if (strcmp(type->name, primitives[i].name) != 0)
			continue;
		/* A JVM declares String with no fields or with one; its bytes are those of a text.
		 */
		if (type->field_count && primitives[i].base != HOLTER_BASE_STRING)
			continue;
		type->base = primitives[i].base;
		type->op = primitives[i].op;
	}
	type->depth = type->op == RDR_OP_BAD ? RDR_DEPTH_MAX : 0;
	type->is_simple =
		type->is_marked_simple && type->op == RDR_OP_STRUCT && type->field_count == 1;
}

/* One more than the deepest inline field; RDR_DEPTH_MAX when one is not readable. */
static uint8_t depth_of(const struct holter_type *type)
{
	uint8_t depth = 1;

	for (uint32_t i = 0; i < type->field_count; i++) {
		const struct holter_field *field = &type->fields[i];

		if (field->is_pooled)
			continue;
		if (!field->type || field->type->depth >= RDR_DEPTH_MAX)
			return RDR_DEPTH_MAX;
		if (field->type->depth + 1 > depth)
			depth = field->type->depth + 1;
	}
	return depth;
}

/* Depths by repetition: without recursion, and circles simply never come to rest. */
static void find_depths(struct rdr_chunk *chunk)
{
	bool is_changed = true;

	for (int round = 0; round <= RDR_DEPTH_MAX && is_changed; round++) {
		is_changed = false;
		for (uint32_t i = 0; i < chunk->type_count; i++) {
			struct holter_type *type = &chunk->types[i];
			uint8_t depth = type->op == RDR_OP_STRUCT ? depth_of(type) : type->depth;

			if (depth > type->depth) {
				type->depth = depth;
				is_changed = true;
			}
		}
	}
	for (uint32_t i = 0; i < chunk->type_count; i++)
		if (chunk->types[i].depth >= RDR_DEPTH_MAX)
			chunk->types[i].op = RDR_OP_BAD;
}

static const char *value_of(const struct holter_annotation *annotation)
{
	for (uint32_t i = 0; i < annotation->attribute_count; i++)
		if (annotation->attributes[i].key &&
		    strcmp(annotation->attributes[i].key, "value") == 0)
			return annotation->attributes[i].value;
	return NULL;
}

/* Name behind "jdk.jfr.", or "" for other annotations. */
static const char *short_name(const struct holter_annotation *annotation)
{
	static const char package[] = "jdk.jfr.";

	if (!annotation->type || strncmp(annotation->type->name, package, sizeof(package) - 1) != 0)
		return "";
	return annotation->type->name + sizeof(package) - 1;
}

static uint8_t unit_by_name(const char *annotation, const char *value)
{
	static const struct {
		const char *annotation;
		const char *value; /* NULL = any */
		enum holter_unit unit;
	} units[] = {
		{ "Timespan", "TICKS", HOLTER_UNIT_SPAN_TICKS },
		{ "Timespan", "NANOSECONDS", HOLTER_UNIT_SPAN_NS },
		{ "Timespan", "MICROSECONDS", HOLTER_UNIT_SPAN_US },
		{ "Timespan", "MILLISECONDS", HOLTER_UNIT_SPAN_MS },
		{ "Timespan", "SECONDS", HOLTER_UNIT_SPAN_S },
		{ "Timestamp", "TICKS", HOLTER_UNIT_TIME_TICKS },
		{ "Timestamp", "MILLISECONDS_SINCE_EPOCH", HOLTER_UNIT_TIME_MS },
		{ "Timestamp", "NANOSECONDS_SINCE_EPOCH", HOLTER_UNIT_TIME_NS },
		{ "DataAmount", "BITS", HOLTER_UNIT_BITS },
		{ "DataAmount", NULL, HOLTER_UNIT_BYTES },
		{ "Frequency", NULL, HOLTER_UNIT_HERTZ },
		{ "Percentage", NULL, HOLTER_UNIT_PERCENT },
		{ "MemoryAddress", NULL, HOLTER_UNIT_ADDRESS },
	};

	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (strcmp(annotation, units[i].annotation) == 0 &&
		    (!units[i].value || (value && strcmp(value, units[i].value) == 0)))
			return units[i].unit;
	return HOLTER_UNIT_NONE;
}

static void read_field_annotations(struct holter_field *field)
{
	bool is_rate = false;

	for (uint32_t i = 0; i < field->annotations.count; i++) {
		const struct holter_annotation *annotation = &field->annotations.all[i];
		const char *name = short_name(annotation);
		const char *value = value_of(annotation);
		uint8_t unit = unit_by_name(name, value);

		if (strcmp(name, "Label") == 0)
			field->label = value;
		else if (strcmp(name, "Description") == 0)
			field->description = value;
		else if (strcmp(name, "Unsigned") == 0)
			field->is_unsigned = true;
		is_rate |= unit == HOLTER_UNIT_HERTZ;
		if (unit && (unit != HOLTER_UNIT_HERTZ || !field->unit))
			field->unit = unit;
	}
	if (is_rate && field->unit == HOLTER_UNIT_BYTES)
		field->unit = HOLTER_UNIT_BYTES_PER_S;
	if (is_rate && field->unit == HOLTER_UNIT_BITS)
		field->unit = HOLTER_UNIT_BITS_PER_S;
}

static void link_field(struct holter_field *field)
{
	field->element_op = RDR_OP_BAD;
	if (field->is_pooled && field->type)
		field->element_op = RDR_OP_VARINT;
	else if (field->type)
		field->element_op = field->type->op;
	field->op = field->element_op;
	if (field->is_array && field->op != RDR_OP_BAD)
		field->op = RDR_OP_ARRAY;
	read_field_annotations(field);
}

static void link_fields(struct holter_type *type)
{
	bool is_all_varints = type->op == RDR_OP_STRUCT;

	for (uint32_t i = 0; i < type->field_count; i++) {
		link_field(&type->fields[i]);
		is_all_varints &= type->fields[i].op == RDR_OP_VARINT;
	}
	type->varint_count = is_all_varints ? type->field_count : 0;
}

/* How events of the type are taken apart: a head to be decoded, then runs to be stepped over. */
static bool make_segments(struct rdr_chunk *chunk, struct holter_type *type)
{
	uint32_t at = 0;

	while (at < type->field_count && at < RDR_HEAD_MAX && type->fields[at].op == RDR_OP_VARINT)
		at++;
	type->head_count = at;
	type->segments =
		rdr_arena_array(&chunk->arena, type->field_count - at, sizeof(*type->segments));
	if (!type->segments)
		return false;
	while (at < type->field_count) {
		uint16_t number = (uint16_t)type->segment_count++;
		struct rdr_segment *segment = &type->segments[number];

		segment->field = (uint16_t)at;
		for (; at < type->field_count && type->fields[at].op == RDR_OP_VARINT; at++) {
			type->fields[at].segment = number;
			segment->run++;
		}
		if (!segment->run)
			type->fields[at++].segment = number;
	}
	return true;
}

static bool read_categories(struct rdr_chunk *chunk, struct holter_type *type,
			    const struct holter_annotation *annotation)
{
	type->categories = rdr_arena_array(&chunk->arena, annotation->attribute_count,
					   sizeof(*type->categories));
	if (!type->categories)
		return false;
	type->category_count = 0;
	for (uint32_t i = 0; i < annotation->attribute_count; i++) {
		const struct rdr_attribute *attribute = &annotation->attributes[i];

		if (attribute->key && strncmp(attribute->key, "value", 5) == 0 && attribute->value)
			type->categories[type->category_count++] = attribute->value;
	}
	return true;
}

static bool read_type_annotations(struct rdr_chunk *chunk, struct holter_type *type)
{
	for (uint32_t i = 0; i < type->annotations.count; i++) {
		const struct holter_annotation *annotation = &type->annotations.all[i];
		const char *name = short_name(annotation);

		if (strcmp(name, "Label") == 0)
			type->label = value_of(annotation);
		else if (strcmp(name, "Description") == 0)
			type->description = value_of(annotation);
		else if (strcmp(name, "Category") == 0 && !read_categories(chunk, type, annotation))
			return false;
	}
	return true;
}

/* Number of the field with this name and operation, -1 for none. */
static int32_t find_field(const struct holter_type *type, const char *name, enum rdr_op op,
			  const char *type_name)
{
	for (int32_t i = 0; i < type->field_count; i++) {
		const struct holter_field *field = &type->fields[i];

		if (strcmp(field->name, name) != 0 || field->op != op)
			continue;
		if (!type_name || strcmp(field->type->name, type_name) == 0)
			return i;
	}
	return -1;
}

static void find_role(struct holter_type *type)
{
	static const char thread[] = "java.lang.Thread";

	if (type->base == HOLTER_BASE_STRING ||
	    (type->is_simple && type->fields[0].op == RDR_OP_STRING))
		type->role = RDR_ROLE_TEXT;
	else if (strcmp(type->name, thread) == 0)
		type->role = RDR_ROLE_THREAD;
	else if (strcmp(type->name, "jdk.types.StackTrace") == 0)
		type->role = RDR_ROLE_STACK;
	else if (strcmp(type->name, "jdk.types.Method") == 0)
		type->role = RDR_ROLE_METHOD;
	if (!type->is_event)
		return;
	type->start_field = find_field(type, "startTime", RDR_OP_VARINT, "long");
	type->duration_field = find_field(type, "duration", RDR_OP_VARINT, "long");
	type->thread_field = find_field(type, "eventThread", RDR_OP_VARINT, thread);
	if (type->thread_field < 0)
		type->thread_field = find_field(type, "sampledThread", RDR_OP_VARINT, thread);
	type->stack_field = find_field(type, "stackTrace", RDR_OP_VARINT, "jdk.types.StackTrace");
}

static bool reserve_segments(struct holter_reader *reader, size_t count)
{
	const uint8_t **segments;

	if (count < reader->event_segments_capacity)
		return true;
	segments = realloc(reader->event_segments, (count + 1) * sizeof(*segments));
	if (!segments)
		return false;
	reader->event_segments = segments;
	reader->event_segments_capacity = count + 1;
	return true;
}

bool rdr_types_link(struct holter_reader *reader)
{
	struct rdr_chunk *chunk = &reader->chunk;
	size_t most_segments = 0;

	for (uint32_t i = 0; i < chunk->type_count; i++) {
		find_base(&chunk->types[i]);
		if (chunk->types[i].base == HOLTER_BASE_STRING)
			chunk->string_type = &chunk->types[i];
	}
	find_depths(chunk);
	for (uint32_t i = 0; i < chunk->type_count; i++)
		link_fields(&chunk->types[i]);
	for (uint32_t i = 0; i < chunk->type_count; i++) {
		struct holter_type *type = &chunk->types[i];

		type->is_event = type->super && strcmp(type->super, "jdk.jfr.Event") == 0;
		find_role(type);
		if (!read_type_annotations(chunk, type) ||
		    (type->is_event && !make_segments(chunk, type)))
			return false;
		most_segments = max_u64(most_segments, type->segment_count);
		if (type->is_event &&
		    !rdr_count_number(reader, type->name, (int64_t)type->id, &type->count_number))
			return false;
	}
	return reserve_segments(reader, most_segments);
}
