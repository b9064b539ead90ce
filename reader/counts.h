/*
 * Events by type name, over the whole file: what `holter summary` shows.
 */
#ifndef HOLTER_READER_COUNTS_H
#define HOLTER_READER_COUNTS_H

#include "reader/model.h"

/* Rows that are always there, in this order. */
#define RDR_COUNT_METADATA 0
#define RDR_COUNT_CHECKPOINT 1
#define RDR_COUNT_UNKNOWN 2

/* Makes the rows above. Returns false without memory. */
bool rdr_counts_init(struct holter_reader *reader);
void rdr_counts_fini(struct holter_reader *reader);

/* Finds or makes the row of a name. Returns false without memory. */
bool rdr_count_number(struct holter_reader *reader, const char *name, int64_t id, uint32_t *number);

static inline void rdr_count_event(struct holter_reader *reader, uint32_t number, uint64_t bytes)
{
	reader->counts[number].count++;
	reader->counts[number].bytes += bytes;
}

#endif
