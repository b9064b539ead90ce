/*
 * Sampled allocations that live (tables.h): a hash table without chains and without locks.
 *
 * In: samples from the memory hooks, and every free whose address may have been sampled. Out: the
 * live heap at dump time. Keys lie apart from the entries, a bucket's 16 on two cache lines, so
 * that a free of an unknown address looks at nothing else. Reserved piecewise, because hashing
 * touches all of it.
 *
 * Section:  keys, 8 bytes each | entries (struct rec_live), in the same order
 * In the table rec_live.key is a checksum over key and entry, so that a torn copy is noticed.
 */
#include "recorder/base/hash.h"
#include "recorder/region/tables.h"

#define LIVE_BUCKETS (REC_LIVE_MAX / REC_LIVE_BUCKET)
#define LIVE_KEYS_BYTES (REC_LIVE_MAX * sizeof(uint64_t))
#define LIVE_BYTES (REC_LIVE_MAX * (sizeof(uint64_t) + sizeof(struct rec_live)))
#define LIVE_PIECE (LIVE_BYTES / 64) /* one bit of live_ready */
#define KEY_FREE 0ull
#define KEY_WRITING 1ull
#define KEY_ADDRESS_BITS 48
#define ENTRY_WORDS (sizeof(struct rec_live) / 8)
_Static_assert(LIVE_PIECE % PAGE_BYTES == 0, "pieces are pages");
_Static_assert(LIVE_PIECE % (REC_LIVE_BUCKET * 8) == 0, "a bucket's keys lie in one piece");
_Static_assert(offsetof(struct rec_live, key) == 0, "word 0 is the checksum");

static uint64_t *live_keys(const struct rec_region *region)
{
	return (uint64_t *)(region->base + region->layout.live);
}

static uint64_t *live_entry(const struct rec_region *region, uint32_t index)
{
	return (uint64_t *)(region->base + region->layout.live + LIVE_KEYS_BYTES) +
	       (uint64_t)index * ENTRY_WORDS;
}

/* Bits of the pieces that bytes [from, from + count) of the section lie in. */
static uint64_t pieces_of(uint64_t from, uint64_t count)
{
	return 1ull << from / LIVE_PIECE | 1ull << (from + count - 1) / LIVE_PIECE;
}

static uint64_t pieces_of_keys(uint32_t bucket)
{
	return pieces_of((uint64_t)bucket * REC_LIVE_BUCKET * 8, REC_LIVE_BUCKET * 8);
}

static uint64_t pieces_of_entry(uint32_t index)
{
	return pieces_of(LIVE_KEYS_BYTES + (uint64_t)index * sizeof(struct rec_live),
			 sizeof(struct rec_live));
}

static bool pieces_ready(const struct rec_region *region, uint64_t pieces)
{
	uint64_t ready = __atomic_load_n(&region->header->live_ready, __ATOMIC_ACQUIRE);

	return (ready & pieces) == pieces;
}

static bool pieces_ensure(struct rec_region *region, uint64_t pieces)
{
	uint64_t missing;

	if (likely(pieces_ready(region, pieces)))
		return true;
	missing = pieces & ~__atomic_load_n(&region->header->live_ready, __ATOMIC_ACQUIRE);
	for (; missing != 0; missing &= missing - 1) {
		uint64_t piece = (uint64_t)__builtin_ctzll(missing);
		uint64_t at = region->layout.live + piece * LIVE_PIECE;

		if (rec_region_reserve(region, at, at + LIVE_PIECE) != 0)
			return false;
		__atomic_fetch_or(&region->header->live_ready, 1ull << piece, __ATOMIC_RELEASE);
	}
	return true;
}

/* 0 when it cannot be a key. */
static uint64_t key_make(uint32_t process, uint64_t address)
{
	if (process >= REC_PROCESS_MAX || address <= KEY_WRITING || address >> KEY_ADDRESS_BITS)
		return 0;
	return address | (uint64_t)process << KEY_ADDRESS_BITS;
}

static uint32_t key_bucket(uint64_t key)
{
	return (uint32_t)(hash_mix(key) % LIVE_BUCKETS);
}

static uint64_t entry_checksum(uint64_t key, const struct rec_live *live)
{
	uint64_t words[ENTRY_WORDS];

	memcpy(words, live, sizeof(words));
	return hash_words(words + 1, ENTRY_WORDS - 1, key);
}

static void entry_write(const struct rec_region *region, uint32_t index, uint64_t key,
			const struct rec_live *live)
{
	uint64_t *entry = live_entry(region, index);
	uint64_t words[ENTRY_WORDS];

	memcpy(words, live, sizeof(words));
	words[0] = entry_checksum(key, live);
	for (uint32_t i = 0; i < ENTRY_WORDS; i++)
		__atomic_store_n(&entry[i], words[i], __ATOMIC_RELAXED);
}

/* True when what was copied is the whole entry of that key. */
static bool entry_copy(const struct rec_region *region, uint32_t index, uint64_t key,
		       struct rec_live *copy)
{
	const uint64_t *entry = live_entry(region, index);
	uint64_t words[ENTRY_WORDS];
	uint64_t checksum;

	for (uint32_t i = 0; i < ENTRY_WORDS; i++)
		words[i] = __atomic_load_n(&entry[i], __ATOMIC_RELAXED);
	checksum = words[0];
	words[0] = key;
	memcpy(copy, words, sizeof(words));
	return entry_checksum(key, copy) == checksum;
}

static void account(struct rec_region *region, uint64_t key, const struct rec_live *live, int sign)
{
	struct rec_process *process = rec_process_at(region, (uint32_t)(key >> KEY_ADDRESS_BITS));
	uint64_t weight = sign > 0 ? live->weight : 0 - live->weight;

	__atomic_fetch_add(&region->header->live_entries, (uint32_t)sign, __ATOMIC_RELAXED);
	if (!process)
		return;
	__atomic_fetch_add(&process->live_samples, (uint32_t)sign, __ATOMIC_RELAXED);
	__atomic_fetch_add(&process->live_bytes, weight, __ATOMIC_RELAXED);
}

/* Empties a slot that holds `key`; false when another thread did so first. */
static bool slot_clear(struct rec_region *region, uint32_t index, uint64_t key,
		       struct rec_live *removed)
{
	uint64_t *slot = &live_keys(region)[index];

	if (!__atomic_compare_exchange_n(slot, &key, KEY_WRITING, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	if (entry_copy(region, index, key, removed))
		account(region, key, removed, -1);
	else
		memset(removed, 0, sizeof(*removed));
	__atomic_store_n(slot, KEY_FREE, __ATOMIC_RELEASE);
	return true;
}

static bool process_is_over(const struct rec_region *region, uint64_t key)
{
	const struct rec_process *process =
		rec_process_at(region, (uint32_t)(key >> KEY_ADDRESS_BITS));

	return !process || __atomic_load_n(&process->end_ticks, __ATOMIC_RELAXED) != 0;
}

/* Looks for `key` in its bucket; REC_NONE when it is not there. */
static uint32_t key_find(const struct rec_region *region, uint32_t bucket, uint64_t key)
{
	const uint64_t *keys = live_keys(region) + (uint64_t)bucket * REC_LIVE_BUCKET;

	for (uint32_t i = 0; i < REC_LIVE_BUCKET; i++)
		if (__atomic_load_n(&keys[i], __ATOMIC_RELAXED) == key)
			return bucket * REC_LIVE_BUCKET + i;
	return REC_NONE;
}

/* Takes a slot of the bucket and marks it as being written. */
static uint32_t slot_take(struct rec_region *region, uint32_t bucket, uint64_t key)
{
	uint32_t first = bucket * REC_LIVE_BUCKET;
	struct rec_live old;

	/* A free that was not seen (foreign, or dropped) must not leave two of one address. */
	for (uint32_t i = key_find(region, bucket, key); i != REC_NONE;
	     i = key_find(region, bucket, key))
		slot_clear(region, i, key, &old);
	for (uint32_t i = first; i < first + 2 * REC_LIVE_BUCKET; i++) {
		uint32_t index = first + i % REC_LIVE_BUCKET;
		uint64_t *slot = &live_keys(region)[index];
		uint64_t seen = __atomic_load_n(slot, __ATOMIC_RELAXED);

		/* The second time around what ended processes left is given up. */
		if (i >= first + REC_LIVE_BUCKET && seen > KEY_WRITING &&
		    process_is_over(region, seen) && slot_clear(region, index, seen, &old))
			seen = KEY_FREE;
		if (seen == KEY_FREE &&
		    __atomic_compare_exchange_n(slot, &seen, KEY_WRITING, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return index;
	}
	return REC_NONE;
}

int rec_live_add(struct rec_region *region, uint32_t process, uint64_t address, uint64_t size,
		 uint64_t weight, uint32_t stack, uint32_t tid, uint64_t now)
{
	uint64_t key = key_make(process, address);
	uint32_t bucket = key_bucket(key);
	struct rec_live live = {
		.size = size, .weight = weight, .ticks = now, .stack = stack, .tid = tid
	};
	uint32_t index;

	if (key == 0 || !pieces_ensure(region, pieces_of_keys(bucket)))
		return 0;
	index = slot_take(region, bucket, key);
	if (index == REC_NONE)
		return 0;
	if (!pieces_ensure(region, pieces_of_entry(index))) {
		__atomic_store_n(&live_keys(region)[index], KEY_FREE, __ATOMIC_RELEASE);
		return 0;
	}
	entry_write(region, index, key, &live);
	account(region, key, &live, 1);
	/* Release: who finds the key finds the entry. */
	__atomic_store_n(&live_keys(region)[index], key, __ATOMIC_RELEASE);
	return 1;
}

int rec_live_remove(struct rec_region *region, uint32_t process, uint64_t address,
		    struct rec_live *removed)
{
	uint64_t key = key_make(process, address);
	uint32_t bucket = key_bucket(key);
	uint32_t index;

	if (key == 0 || !pieces_ready(region, pieces_of_keys(bucket)))
		return 0;
	index = key_find(region, bucket, key);
	if (index == REC_NONE || !pieces_ready(region, pieces_of_entry(index)))
		return 0;
	return slot_clear(region, index, key, removed);
}

void rec_live_forget(struct rec_region *region, uint32_t process)
{
	struct rec_live removed;

	for (uint32_t index = 0; index < REC_LIVE_MAX; index++) {
		uint64_t key;

		if (!pieces_ready(region, pieces_of_keys(index / REC_LIVE_BUCKET)))
			continue;
		key = __atomic_load_n(&live_keys(region)[index], __ATOMIC_RELAXED);
		if (key > KEY_WRITING && key >> KEY_ADDRESS_BITS == process &&
		    pieces_ready(region, pieces_of_entry(index)))
			slot_clear(region, index, key, &removed);
	}
}

int rec_live_read(const struct rec_region *region, uint32_t index, struct rec_live *copy)
{
	uint64_t key;

	if (index >= REC_LIVE_MAX ||
	    !pieces_ready(region, pieces_of_keys(index / REC_LIVE_BUCKET) | pieces_of_entry(index)))
		return 0;
	key = __atomic_load_n(&live_keys(region)[index], __ATOMIC_ACQUIRE);
	if (key <= KEY_WRITING)
		return 0;
	return entry_copy(region, index, key, copy);
}
