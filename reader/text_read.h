/*
 * Texts of a recording (jfr-format 2): five encodings in, UTF-8 with NUL behind it out.
 */
#ifndef HOLTER_READER_TEXT_READ_H
#define HOLTER_READER_TEXT_READ_H

#include "reader/holter_reader_value.h"
#include "reader/rdr_arena.h"

enum rdr_encoding {
	RDR_TEXT_NULL = 0,
	RDR_TEXT_EMPTY = 1,
	RDR_TEXT_CONSTANT = 2,
	RDR_TEXT_UTF8 = 3,
	RDR_TEXT_UTF16 = 4,
	RDR_TEXT_LATIN1 = 5,
};

struct rdr_text_read {
	enum rdr_encoding encoding;
	uint64_t key;		 /* of a constant */
	struct holter_text text; /* data NULL for null and for a constant */
	const uint8_t *next;	 /* behind it */
};

/* Skips a text in [at, end); returns the byte behind it, NULL when it is damaged. */
const uint8_t *rdr_text_skip(const uint8_t *at, const uint8_t *end);

/* Decodes a text in [at, end) into `arena`. Returns 0, HOLTER_E_CORRUPT or HOLTER_E_NOMEM. */
int rdr_text_read(const uint8_t *at, const uint8_t *end, struct rdr_arena *arena,
		  struct rdr_text_read *result);

#endif
