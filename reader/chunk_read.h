/*
 * Chunks: header, finding the next one, going on after damage.
 */
#ifndef HOLTER_READER_CHUNK_READ_H
#define HOLTER_READER_CHUNK_READ_H

#include "reader/model.h"

/* Whether a chunk begins at `at`: header and, where it is there, metadata look right. */
bool rdr_chunk_begins(const uint8_t *at, const uint8_t *end);

/* Checks the first header. Returns 0 or the code why the file is refused, with `why` filled in. */
int rdr_chunk_check_first(struct holter_reader *reader, struct holter_problem *why);

/* Enters the next chunk. Returns 1, 0 at the end of the file, or a negative code. */
int rdr_chunk_enter(struct holter_reader *reader);

/* Leaves the current chunk: the source stands behind it, or where the next one was found. */
int rdr_chunk_leave(struct holter_reader *reader);

#endif
