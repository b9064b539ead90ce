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

static const uint8_t *skip_array(const struct holter_field *field, const uint8_t *at,
				 const uint8_t *end)
{
	uint64_t count;

	at = rdr_varint(at, end, &count);
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
