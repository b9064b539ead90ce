/*
 * Steps over values without decoding them: how the length of an event or constant is checked.
 */
#ifndef HOLTER_READER_SKIP_H
#define HOLTER_READER_SKIP_H

#include "reader/model.h"

/* The byte behind an inline value of `type` at `at`; NULL when it is damaged or unreadable. */
const uint8_t *rdr_skip_type(const struct holter_type *type, const uint8_t *at, const uint8_t *end);

/* The byte behind `count` integers; NULL when they are cut off. */
const uint8_t *rdr_skip_varints(const uint8_t *at, const uint8_t *end, uint64_t count);

/* As rdr_skip_field(), for what is neither a byte nor an integer. */
const uint8_t *rdr_skip_other(const struct holter_field *field, uint8_t op, const uint8_t *at,
			      const uint8_t *end);

/* The byte behind one element of a field (the whole field where it is no array). */
static inline const uint8_t *rdr_skip_element(const struct holter_field *field, const uint8_t *at,
					      const uint8_t *end)
{
	if (likely(field->element_op == RDR_OP_VARINT))
		return rdr_skip_varint(at, end);
	return rdr_skip_other(field, field->element_op, at, end);
}

/* The byte behind a field. */
static inline const uint8_t *rdr_skip_field(const struct holter_field *field, const uint8_t *at,
					    const uint8_t *end)
{
	if (likely(field->op == RDR_OP_VARINT))
		return rdr_skip_varint(at, end);
	return rdr_skip_other(field, field->op, at, end);
}

#endif
