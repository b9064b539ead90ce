/*
 * The walks of skip.h. Recursion is bounded by RDR_DEPTH_MAX (types_link.c); counts need no bound
 * of their own, since every element takes at least one byte and the bytes are bounded.
 */
#include "reader/skip.h"

#include "reader/text_read.h"

static const uint8_t *skip_bytes(const uint8_t *at, const uint8_t *end, size_t size)
{
	return (size_t)(end - at) >= size ? at + size : NULL;
}

/*
 * A word at a time: each byte without the top bit ends an integer. A word starts where an integer
 * does, so a word without such a byte is one of nine bytes, whose last may look like any.
 */
const uint8_t *rdr_skip_varints(const uint8_t *at, const uint8_t *end, uint64_t count)
{
	while (count && end - at >= 9) {
		uint64_t word;
		uint64_t ends;
		uint64_t found;

		memcpy(&word, at, 8);
		ends = ~word >> 7 & 0x0101010101010101ull;
		found = ends * 0x0101010101010101ull >> 56;
		if (found > count)
			break;
		if (!found) {
			at += 9;
			count--;
			continue;
		}
		at += 8 - (unsigned)__builtin_clzll(ends) / 8;
		count -= found;
	}
	while (at && count--)
		at = rdr_skip_varint(at, end);
	return at;
}

static const uint8_t *skip_array(const struct holter_field *field, const uint8_t *at,
				 const uint8_t *end)
{
	uint64_t count = 0;
	uint64_t per_element = 0;

	at = rdr_varint(at, end, &count);
	/* Frames of a stack are the bulk of most recordings. */
	if (field->element_op == RDR_OP_VARINT)
		per_element = 1;
	else if (field->element_op == RDR_OP_STRUCT)
		per_element = field->type->varint_count;
	if (at && per_element && count <= (uint64_t)(end - at))
		return rdr_skip_varints(at, end, count * per_element);
	while (at && count--)
		at = rdr_skip_element(field, at, end);
	return at;
}

const uint8_t *rdr_skip_other(const struct holter_field *field, uint8_t op, const uint8_t *at,
			      const uint8_t *end)
{
	switch (op) {
	case RDR_OP_BYTE:
		return skip_bytes(at, end, 1);
	case RDR_OP_VARINT:
		return rdr_skip_varint(at, end);
	case RDR_OP_4:
		return skip_bytes(at, end, 4);
	case RDR_OP_8:
		return skip_bytes(at, end, 8);
	case RDR_OP_STRING:
		return rdr_text_skip(at, end);
	case RDR_OP_STRUCT:
		return rdr_skip_type(field->type, at, end);
	case RDR_OP_ARRAY:
		return skip_array(field, at, end);
	default:
		return NULL;
	}
}

const uint8_t *rdr_skip_type(const struct holter_type *type, const uint8_t *at, const uint8_t *end)
{
	/* A primitive stands for itself, as a field of its type would. */
	const struct holter_field self = { .type = (struct holter_type *)(uintptr_t)type };

	if (type->op != RDR_OP_STRUCT)
		return rdr_skip_other(&self, type->op, at, end);
	for (uint32_t i = 0; i < type->field_count && at; i++)
		at = rdr_skip_field(&type->fields[i], at, end);
	return at;
}
