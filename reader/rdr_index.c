/*
 * Builds the tables of rdr_index.h.
 */
#include "reader/rdr_index.h"

static bool insert(struct rdr_index *index, uint32_t number)
{
	uint64_t key = rdr_index_key(index, number);
	uint64_t mask = index->slot_count - 1;
	uint64_t at;

	if (index->is_dense) {
		if (index->slots[key])
			return false;
		index->slots[key] = number + 1;
		return true;
	}
	for (at = hash_mix(key) & mask; index->slots[at]; at = (at + 1) & mask)
		if (rdr_index_key(index, index->slots[at] - 1) == key)
			return false;
	index->slots[at] = number + 1;
	return true;
}

bool rdr_index_build(struct rdr_index *index, struct rdr_arena *arena, const void *elements,
		     uint32_t count, uint32_t stride, uint64_t *duplicates)
{
	uint64_t largest = 0;
	uint64_t slot_count = 8;

	*duplicates = 0;
	index->elements = elements;
	index->stride = stride;
	index->slot_count = 0;
	index->is_dense = false;
	if (!count)
		return true;
	for (uint32_t i = 0; i < count; i++)
		largest = max_u64(largest, rdr_index_key(index, i));
	/* Four bytes a slot: a table three times too long is still no more than a hashed one. */
	index->is_dense = largest < 3ull * count + 64;
	if (index->is_dense) {
		slot_count = largest + 1;
	} else {
		while (slot_count < 2ull * count)
			slot_count *= 2;
	}
	index->slots = rdr_arena_array(arena, slot_count, sizeof(*index->slots));
	if (!index->slots)
		return false;
	index->slot_count = slot_count;
	for (uint32_t i = 0; i < count; i++)
		*duplicates += !insert(index, i);
	return true;
}
