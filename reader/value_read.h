/*
 * Values: bytes and a field to a struct holter_value, through the pools.
 */
#ifndef HOLTER_READER_VALUE_READ_H
#define HOLTER_READER_VALUE_READ_H

#include "reader/model.h"

/* Decodes the value of a field at `at`. Returns 0, HOLTER_E_CORRUPT or HOLTER_E_NOMEM. */
int rdr_value_field(struct holter_reader *reader, const struct holter_field *field,
		    const uint8_t *at, const uint8_t *end, struct holter_value *value);

/* As rdr_value_field(), one element of an array. */
int rdr_value_element(struct holter_reader *reader, const struct holter_field *field,
		      const uint8_t *at, const uint8_t *end, struct holter_value *value);

/* The text of a constant; data NULL for null. Lasts as long as the chunk. */
int rdr_constant_text(struct holter_reader *reader, const struct holter_type *type, uint64_t key,
		      struct holter_text *text);

#endif
