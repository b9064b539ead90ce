/*
 * Decodes values, follows constant keys, walks structs and arrays.
 *
 * In: a field and its bytes, which were stepped over before (event_read.c, pool_read.c) and so lie
 * within bounds; bounds are checked again all the same, since a mapped file can change. Out: plain
 * values that point into the chunk. Texts go to reader->texts: those of the event, or of the chunk
 * while something is decoded that is kept.
 */
#include "reader/value_read.h"

#include "reader/event_read.h"
#include "reader/pool_read.h"
#include "reader/skip.h"
#include "reader/text_read.h"
#include "reader/time_read.h"

static int read_field(struct holter_reader *reader, const struct holter_field *field,
		      const uint8_t *at, const uint8_t *end, struct holter_value *value,
		      unsigned hops);

/* Fetches and keeps the text of a constant of type String, or of a simple type of one. */
static int constant_text(struct holter_reader *reader, const struct holter_type *type, uint64_t key,
			 struct holter_text *text, unsigned hops)
{
	struct rdr_constant *constant = type ? rdr_pool_find(type, key) : NULL;
	struct rdr_text_read read;
	struct holter_text *kept;
	int code;

	if (!constant || hops >= RDR_HOPS_MAX) {
		*text = (struct holter_text){ NULL, 0 };
		return 0;
	}
	if (likely(constant->decoded)) {
		*text = *(struct holter_text *)constant->decoded;
		return 0;
	}
	code = rdr_text_read(constant->at, constant->end, &reader->chunk.arena, &read);
	if (!code && read.encoding == RDR_TEXT_CONSTANT)
		code = constant_text(reader, reader->chunk.string_type, read.key, &read.text,
				     hops + 1);
	if (code)
		return code;
	kept = rdr_arena_alloc(&reader->chunk.arena, sizeof(*kept));
	if (!kept)
		return HOLTER_E_NOMEM;
	*kept = read.text;
	constant->decoded = kept;
	*text = read.text;
	return 0;
}

int rdr_constant_text(struct holter_reader *reader, const struct holter_type *type, uint64_t key,
		      struct holter_text *text)
{
	return constant_text(reader, type, key, text, 0);
}

static void set_text(struct holter_value *value, struct holter_text text)
{
	value->kind = text.data ? HOLTER_KIND_STRING : HOLTER_KIND_NULL;
	value->as.text = text;
}

static int read_text(struct holter_reader *reader, const uint8_t *at, const uint8_t *end,
		     struct holter_value *value)
{
	struct rdr_text_read read;
	int code = rdr_text_read(at, end, reader->texts, &read);

	if (!code && read.encoding == RDR_TEXT_CONSTANT) {
		value->is_constant = true;
		value->key = read.key;
		code = rdr_constant_text(reader, reader->chunk.string_type, read.key, &read.text);
	}
	if (!code)
		set_text(value, read.text);
	return code;
}

/* Integers: cut to the width of their type, as every reader of the format does. */
static void set_integer(struct holter_value *value, uint64_t bits, bool is_unsigned)
{
	switch (value->type->base) {
	case HOLTER_BASE_BYTE:
		bits = is_unsigned ? (uint8_t)bits : (uint64_t)(int8_t)bits;
		break;
	case HOLTER_BASE_SHORT:
		bits = is_unsigned ? (uint16_t)bits : (uint64_t)(int16_t)bits;
		break;
	case HOLTER_BASE_INT:
		bits = is_unsigned ? (uint32_t)bits : (uint64_t)(int32_t)bits;
		break;
	case HOLTER_BASE_CHAR:
		value->kind = HOLTER_KIND_CHAR;
		value->as.number = (uint16_t)bits;
		return;
	default:
		break;
	}
	value->kind = is_unsigned ? HOLTER_KIND_UINT : HOLTER_KIND_INT;
	value->as.number = bits;
}

static int read_primitive(struct holter_reader *reader, const uint8_t *at, const uint8_t *end,
			  struct holter_value *value, bool is_unsigned)
{
	uint64_t bits = 0;
	uint32_t bits32;
	float single;

	switch (value->type->op) {
	case RDR_OP_STRING:
		return read_text(reader, at, end, value);
	case RDR_OP_VARINT:
		if (!rdr_varint(at, end, &bits))
			return HOLTER_E_CORRUPT;
		set_integer(value, bits, is_unsigned);
		return 0;
	case RDR_OP_BYTE:
		if (at >= end)
			return HOLTER_E_CORRUPT;
		if (value->type->base == HOLTER_BASE_BYTE) {
			set_integer(value, *at, is_unsigned);
			return 0;
		}
		value->kind = HOLTER_KIND_BOOL;
		value->as.boolean = *at != 0;
		return 0;
	case RDR_OP_4:
		if (end - at < 4)
			return HOLTER_E_CORRUPT;
		bits32 = rdr_be32(at);
		memcpy(&single, &bits32, sizeof(single));
		value->kind = HOLTER_KIND_FLOAT;
		value->as.real = (double)single;
		return 0;
	case RDR_OP_8:
		if (end - at < 8)
			return HOLTER_E_CORRUPT;
		bits = rdr_be64(at);
		value->kind = HOLTER_KIND_DOUBLE;
		memcpy(&value->as.real, &bits, sizeof(bits));
		return 0;
	default:
		return HOLTER_E_CORRUPT;
	}
}

/* An inline value of `type`; value->field, is_constant and key are set already. */
static int read_inline(struct holter_reader *reader, const struct holter_type *type,
		       const uint8_t *at, const uint8_t *end, struct holter_value *value,
		       unsigned hops)
{
	const struct holter_field *outer = value->field;

	value->type = type;
	value->at = at;
	value->end = end;
	if (type->is_simple) {
		/* The one field stands for the value; name, label and unit stay the outer ones. */
		struct holter_value inner;
		int code = read_field(reader, &type->fields[0], at, end, &inner, hops + 1);

		if (code)
			return code;
		inner.field = outer;
		inner.is_constant |= value->is_constant;
		inner.key = value->is_constant ? value->key : inner.key;
		*value = inner;
		return 0;
	}
	if (type->op == RDR_OP_STRUCT) {
		value->kind = HOLTER_KIND_STRUCT;
		return 0;
	}
	return read_primitive(reader, at, end, value, outer && outer->is_unsigned);
}

static int read_constant(struct holter_reader *reader, const struct holter_type *type, uint64_t key,
			 struct holter_value *value, unsigned hops)
{
	const struct rdr_constant *constant;
	struct holter_text text;

	value->is_constant = true;
	value->key = key;
	value->type = type;
	if (type->role == RDR_ROLE_TEXT) {
		int code = rdr_constant_text(reader, type, key, &text);

		if (!code)
			set_text(value, text);
		return code;
	}
	constant = hops < RDR_HOPS_MAX ? rdr_pool_find(type, key) : NULL;
	if (!constant) {
		value->kind = HOLTER_KIND_NULL;
		return 0;
	}
	return read_inline(reader, type, constant->at, constant->end, value, hops);
}

static int read_element(struct holter_reader *reader, const struct holter_field *field,
			const uint8_t *at, const uint8_t *end, struct holter_value *value,
			unsigned hops)
{
	uint64_t key;

	*value = (struct holter_value){ .owner = reader, .field = field, .type = field->type };
	if (!field->is_pooled)
		return read_inline(reader, field->type, at, end, value, hops);
	if (!rdr_varint(at, end, &key))
		return HOLTER_E_CORRUPT;
	return read_constant(reader, field->type, key, value, hops);
}

static int read_field(struct holter_reader *reader, const struct holter_field *field,
		      const uint8_t *at, const uint8_t *end, struct holter_value *value,
		      unsigned hops)
{
	uint64_t count;

	if (unlikely(field->op == RDR_OP_BAD || hops > RDR_HOPS_MAX + RDR_DEPTH_MAX))
		return HOLTER_E_CORRUPT;
	if (likely(!field->is_array))
		return read_element(reader, field, at, end, value, hops);
	at = rdr_varint(at, end, &count);
	if (!at || count > (uint64_t)(end - at))
		return HOLTER_E_CORRUPT;
	*value = (struct holter_value){
		.kind = HOLTER_KIND_ARRAY,
		.owner = reader,
		.field = field,
		.type = field->type,
		.as.count = count,
		.element = field,
		.at = at,
		.end = end,
	};
	return 0;
}

int rdr_value_field(struct holter_reader *reader, const struct holter_field *field,
		    const uint8_t *at, const uint8_t *end, struct holter_value *value)
{
	struct holter_value result;
	int code = read_field(reader, field, at, end, &result, 0);

	if (!code)
		*value = result;
	return code;
}

int rdr_value_element(struct holter_reader *reader, const struct holter_field *field,
		      const uint8_t *at, const uint8_t *end, struct holter_value *value)
{
	struct holter_value result;
	int code = read_element(reader, field, at, end, &result, 0);

	if (!code)
		*value = result;
	return code;
}

struct holter_value holter_event_value(const struct holter_event *event)
{
	return (struct holter_value){
		.kind = HOLTER_KIND_STRUCT,
		.type = event->type,
		.owner = event->reader,
		.at = event->body,
		.end = event->end,
	};
}

int holter_event_field(const struct holter_event *event, size_t index, struct holter_value *value)
{
	const uint8_t *at;

	if (index >= event->type->field_count)
		return HOLTER_E_NO_FIELD;
	at = rdr_event_position(event, (uint32_t)index);
	if (!at)
		return HOLTER_E_CORRUPT;
	return rdr_value_field(event->reader, &event->type->fields[index], at, event->end, value);
}

void holter_walk_begin(struct holter_walk *walk, const struct holter_value *value)
{
	*walk = (struct holter_walk){ .of = *value, .at = value->at };
	if (value->kind == HOLTER_KIND_STRUCT)
		walk->count = value->type->field_count;
	else if (value->kind == HOLTER_KIND_ARRAY)
		walk->count = value->as.count;
}

int holter_walk_next(struct holter_walk *walk, struct holter_value *value)
{
	struct holter_reader *reader = (struct holter_reader *)(uintptr_t)walk->of.owner;
	const struct holter_field *field = walk->of.element;
	const uint8_t *end = walk->of.end;
	const uint8_t *next;
	int code;

	if (walk->index >= walk->count)
		return 0;
	if (walk->of.kind == HOLTER_KIND_STRUCT) {
		field = &walk->of.type->fields[walk->index];
		next = rdr_skip_field(field, walk->at, end);
		code = next ? rdr_value_field(reader, field, walk->at, next, value) : 0;
	} else {
		next = rdr_skip_element(field, walk->at, end);
		code = next ? rdr_value_element(reader, field, walk->at, next, value) : 0;
	}
	if (!next)
		return HOLTER_E_CORRUPT;
	if (code)
		return code;
	walk->at = next;
	walk->index++;
	return 1;
}

int holter_value_member(const struct holter_value *value, const char *name,
			struct holter_value *member)
{
	struct holter_reader *reader = (struct holter_reader *)(uintptr_t)value->owner;
	const uint8_t *at = value->at;

	if (value->kind != HOLTER_KIND_STRUCT)
		return HOLTER_E_WRONG_KIND;
	for (uint32_t i = 0; i < value->type->field_count; i++) {
		const struct holter_field *field = &value->type->fields[i];

		if (strcmp(field->name, name) == 0)
			return rdr_value_field(reader, field, at, value->end, member);
		at = rdr_skip_field(field, at, value->end);
		if (!at)
			return HOLTER_E_CORRUPT;
	}
	return HOLTER_E_NO_FIELD;
}

static int64_t scale(int64_t number, int64_t factor)
{
	int64_t result;

	if (number == INT64_MIN)
		return number;
	if (__builtin_mul_overflow(number, factor, &result))
		return number < 0 ? -INT64_MAX : INT64_MAX;
	return result;
}

int holter_value_ns(const struct holter_value *value, int64_t *ns)
{
	const struct rdr_chunk *chunk = &((const struct holter_reader *)value->owner)->chunk;
	int64_t number = value->as.integer;

	if (value->kind != HOLTER_KIND_INT && value->kind != HOLTER_KIND_UINT)
		return HOLTER_E_WRONG_KIND;
	switch (holter_field_unit(value->field)) {
	case HOLTER_UNIT_SPAN_TICKS:
		number = number == INT64_MIN ? number : rdr_span_ns(chunk, number);
		break;
	case HOLTER_UNIT_TIME_TICKS:
		number = number == INT64_MIN ? number : rdr_time_ns(chunk, number);
		break;
	case HOLTER_UNIT_SPAN_NS:
	case HOLTER_UNIT_TIME_NS:
		break;
	case HOLTER_UNIT_SPAN_US:
		number = scale(number, 1000);
		break;
	case HOLTER_UNIT_SPAN_MS:
	case HOLTER_UNIT_TIME_MS:
		number = scale(number, 1000000);
		break;
	case HOLTER_UNIT_SPAN_S:
		number = scale(number, 1000000000);
		break;
	default:
		return HOLTER_E_UNIT;
	}
	*ns = number;
	return 0;
}
