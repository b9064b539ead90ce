/*
 * What the tables have in common: entries of one size in a section that is reserved as it fills.
 *
 * In: a description of the table. Out: pointers to entries that are surely there, fresh entries.
 * Internal to recorder/region. Counts and watermarks lie in shared memory, so each is bounded here.
 */
#ifndef HOLTER_REGION_CLAIM_H
#define HOLTER_REGION_CLAIM_H

#include "recorder/region/tables.h"

struct claim_table {
	uint64_t section; /* offset in the region */
	uint64_t *ready;  /* watermark in the header */
	uint32_t *count;  /* entries ever used, in the header */
	uint32_t *hand;	  /* where the search for an old one goes on, in the header */
	uint32_t max;
	uint32_t bytes; /* of an entry */
};

/* Entries in use that can be looked at, whatever the header says. */
static inline uint32_t claim_count(const struct claim_table *table)
{
	uint64_t count = __atomic_load_n(table->count, __ATOMIC_ACQUIRE);
	uint64_t ready = __atomic_load_n(table->ready, __ATOMIC_ACQUIRE) / table->bytes;

	return (uint32_t)min_u64(min_u64(count, ready), table->max);
}

static inline void *claim_at(const struct rec_region *region, const struct claim_table *table,
			     uint32_t index)
{
	if (index >= claim_count(table))
		return NULL;
	return region->base + table->section + (uint64_t)index * table->bytes;
}

/* The next entry never used before; REC_NONE when there is none, or no memory for it. */
static inline uint32_t claim_fresh(struct rec_region *region, const struct claim_table *table)
{
	uint64_t limit = (uint64_t)table->max * table->bytes;
	uint32_t count = __atomic_load_n(table->count, __ATOMIC_RELAXED);

	do {
		if (count >= table->max ||
		    rec_region_ensure(region, table->section, limit, table->ready,
				      (uint64_t)(count + 1) * table->bytes) != 0)
			return REC_NONE;
	} while (!__atomic_compare_exchange_n(table->count, &count, count + 1, true,
					      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	return count;
}

/* The next entry to be considered for use again: around and around, so the oldest comes first. */
static inline uint32_t claim_hand(const struct claim_table *table)
{
	uint32_t count = claim_count(table);

	if (count == 0)
		return REC_NONE;
	return __atomic_fetch_add(table->hand, 1, __ATOMIC_RELAXED) % count;
}

#endif
