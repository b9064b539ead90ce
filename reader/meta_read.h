/*
 * The metadata event of a chunk: which types there are and how their values lie.
 */
#ifndef HOLTER_READER_META_READ_H
#define HOLTER_READER_META_READ_H

#include "reader/model.h"

/*
 * Reads the metadata event at [at, chunk end) into reader->chunk.types. Returns 0,
 * HOLTER_E_CORRUPT, HOLTER_E_TRUNCATED when it reaches beyond the bytes that are there, or
 * HOLTER_E_NOMEM; the chunk has no types then. *why tells what is wrong.
 */
int rdr_meta_read(struct holter_reader *reader, const uint8_t *at, const char **why);

#endif
