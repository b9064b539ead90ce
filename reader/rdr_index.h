/*
 * Finds an element of an array by the 64-bit key it begins with: a table by key where keys are
 * dense, open addressing else. For constants (by key) and types (by id).
 *
 * The array belongs to the caller and must not move; its elements start with their key.
 */
#ifndef HOLTER_READER_RDR_INDEX_H
#define HOLTER_READER_RDR_INDEX_H

#include "recorder/base/hash.h"
#include "recorder/base/util.h"
#include "reader/rdr_arena.h"

struct rdr_index {
	const uint8_t *elements;
	uint32_t stride;
	uint32_t *slots;     /* number of the element + 1; 0 is empty */
	uint64_t slot_count; /* dense: keys below it; hashed: a power of two */
	bool is_dense;
};

/*
 * Indexes `count` elements. Of several with one key the first counts; *duplicates is their number.
 * Returns false without memory.
 */
bool rdr_index_build(struct rdr_index *index, struct rdr_arena *arena, const void *elements,
		     uint32_t count, uint32_t stride, uint64_t *duplicates);

static inline uint64_t rdr_index_key(const struct rdr_index *index, uint32_t number)
{
	uint64_t key;

	memcpy(&key, index->elements + (size_t)number * index->stride, sizeof(key));
	return key;
}

/* The element with this key, or NULL. */
static inline const void *rdr_index_find(const struct rdr_index *index, uint64_t key)
{
	uint32_t slot;

	if (index->is_dense) {
		if (key >= index->slot_count)
			return NULL;
		slot = index->slots[key];
		return slot ? index->elements + (size_t)(slot - 1) * index->stride : NULL;
	}
	if (!index->slot_count)
		return NULL;
	for (uint64_t at = hash_mix(key);; at++) {
		slot = index->slots[at & (index->slot_count - 1)];
		if (!slot)
			return NULL;
		if (rdr_index_key(index, slot - 1) == key)
			return index->elements + (size_t)(slot - 1) * index->stride;
	}
}

#endif
