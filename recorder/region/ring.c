/*
 * The ring of full chunks: slots, free list, growth, verified copies (ring.h).
 *
 * In: full chunks of any thread of any process. Out: chunks to fill. Chunk numbers come from shared
 * memory that anybody in the family may have damaged: each is checked before it becomes an address.
 *
 * Every chunk is in exactly one place: fresh (never used), free list, a slot, or a thread's hands.
 * A slot is empty (0) where its chunk is in a thread's hands.
 */
#include "recorder/region/ring.h"

#include "recorder/sys/raw.h"
#include "recorder/sys/shared.h"

#define GROW_CHUNKS 4u /* 32 KiB a step, 8 pages */

static uint32_t *ring_slots(const struct rec_region *region)
{
	return (uint32_t *)(region->base + region->layout.slots);
}

/* One byte a chunk, behind the slots: its pages are reserved. */
static uint8_t *chunk_ready(const struct rec_region *region, uint32_t number)
{
	uint64_t slots = 4ull * region->layout.chunk_max;

	return region->base + region->layout.slots + slots + (number - 1);
}

struct rec_chunk *rec_ring_chunk(const struct rec_region *region, uint32_t number)
{
	if (number == REC_CHUNK_NONE || number > region->layout.chunk_max ||
	    !__atomic_load_n(chunk_ready(region, number), __ATOMIC_ACQUIRE))
		return NULL;
	return (struct rec_chunk *)(region->base + region->layout.chunks) + (number - 1);
}

/* Slots in use; never 0 and never more than there are, whatever stands in the region. */
static uint32_t ring_capacity(const struct rec_region *region)
{
	uint32_t capacity = __atomic_load_n(&region->header->ring.capacity, __ATOMIC_RELAXED);

	return capacity == 0 || capacity > region->layout.chunk_max ? region->layout.chunk_max
								    : capacity;
}

/* Puts `number` (or nothing) into the next slot; what was there is the oldest, maybe nothing. */
static uint32_t swap_slot(struct rec_region *region, uint32_t number)
{
	uint64_t head = __atomic_fetch_add(&region->header->ring.head, 1, __ATOMIC_RELAXED);
	uint32_t *slot = &ring_slots(region)[head % ring_capacity(region)];
	/* Release: the chunk's records precede it; acquire: we may clear what we get. */
	uint32_t old = __atomic_exchange_n(slot, number, __ATOMIC_ACQ_REL);

	return rec_ring_chunk(region, old) ? old : REC_CHUNK_NONE;
}

/*
 * The owner, or who found it dead, parts with a chunk. False: another one did so before, and the
 * chunk must not get into two places.
 */
static bool give_up(struct rec_chunk *chunk)
{
	uint32_t owned = REC_CHUNK_OWNED;

	return __atomic_compare_exchange_n(&chunk->state, &owned, REC_CHUNK_FULL, false,
					   __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void push_free(struct rec_region *region, uint32_t number)
{
	uint64_t *list = &region->header->ring.free_list;
	struct rec_chunk *chunk = rec_ring_chunk(region, number);
	uint64_t old = __atomic_load_n(list, __ATOMIC_RELAXED);
	uint64_t new;

	__atomic_store_n(&chunk->state, REC_CHUNK_FREE, __ATOMIC_RELAXED);
	do {
		__atomic_store_n(&chunk->next_free, (uint32_t)old, __ATOMIC_RELAXED);
		new = ((old >> 32) + 1) << 32 | number;
	} while (!__atomic_compare_exchange_n(list, &old, new, true, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

static uint32_t pop_free(struct rec_region *region)
{
	uint64_t *list = &region->header->ring.free_list;
	uint64_t old = __atomic_load_n(list, __ATOMIC_ACQUIRE);
	uint64_t new;

	do {
		struct rec_chunk *chunk = rec_ring_chunk(region, (uint32_t)old);

		if (!chunk)
			return REC_CHUNK_NONE;
		/* The tag counts every change, so a recycled first chunk makes the exchange fail.
		 */
		new = ((old >> 32) + 1) << 32 |
		      __atomic_load_n(&chunk->next_free, __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(list, &old, new, true, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	return (uint32_t)old;
}

static void note_highest(struct rec_ring_control *ring, uint32_t number)
{
	uint32_t old = __atomic_load_n(&ring->ready, __ATOMIC_RELAXED);

	while (old < number && !__atomic_compare_exchange_n(&ring->ready, &old, number, true,
							    __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
	}
}

/*
 * Takes some chunks that nobody has used and reserves their pages: each thread its own, so that
 * nobody waits for one that was interrupted. A few microseconds; those left by siglongjmp here are
 * lost.
 */
static uint32_t take_fresh(struct rec_region *region)
{
	struct rec_ring_control *ring = &region->header->ring;
	uint32_t capacity = ring_capacity(region);
	uint32_t first, end;

	/* Behind a filter pages cannot be reserved: the others of the family shall have the chunks.
	 */
	if (raw_refused() || __atomic_load_n(&ring->fresh, __ATOMIC_RELAXED) >= capacity)
		return REC_CHUNK_NONE;
	first = __atomic_fetch_add(&ring->fresh, GROW_CHUNKS, __ATOMIC_RELAXED);
	end = (uint32_t)min_u64((uint64_t)first + GROW_CHUNKS, region->layout.chunk_max);
	if (first >= end)
		return REC_CHUNK_NONE;
	uint64_t from = region->layout.chunks + (uint64_t)first * REC_CHUNK_BYTES;
	uint64_t to = region->layout.chunks + (uint64_t)end * REC_CHUNK_BYTES;

	if (rec_region_reserve(region, from, to) != 0) {
		/* The ring stays as large as it is. */
		__atomic_store_n(&ring->capacity, first ? first : 1, __ATOMIC_RELAXED);
		return REC_CHUNK_NONE;
	}
	for (uint32_t number = first + 1; number <= end; number++)
		__atomic_store_n(chunk_ready(region, number), 1, __ATOMIC_RELEASE);
	note_highest(ring, end);
	for (uint32_t number = end; number > first + 1; number--)
		push_free(region, number);
	return first + 1;
}

static uint32_t take_oldest(struct rec_region *region)
{
	uint32_t tries = ring_capacity(region);

	while (tries-- > 0) {
		uint32_t number = swap_slot(region, REC_CHUNK_NONE);

		if (number != REC_CHUNK_NONE)
			return number;
	}
	return REC_CHUNK_NONE;
}

/* Makes an empty chunk of it; its generation is odd meanwhile, so that copies in progress fail. */
static void prepare(struct rec_chunk *chunk, const struct rec_chunk_owner *owner, uint64_t now)
{
	uint32_t generation = __atomic_load_n(&chunk->generation, __ATOMIC_RELAXED) | 1;

	/*
	 * The odd generation first, the rest with release: rec_ring_copy() sees it odd, or changed,
	 * when it saw anything of what follows.
	 */
	__atomic_store_n(&chunk->generation, generation, __ATOMIC_RELAXED);
	__atomic_store_n(&chunk->state, REC_CHUNK_OWNED, __ATOMIC_RELEASE);
	__atomic_store_n(&chunk->base_ticks, now, __ATOMIC_RELEASE);
	__atomic_store_n(&chunk->pid, owner->pid, __ATOMIC_RELEASE);
	__atomic_store_n(&chunk->tid, owner->tid, __ATOMIC_RELEASE);
	__atomic_store_n(&chunk->thread, owner->thread, __ATOMIC_RELEASE);
	__atomic_store_n(&chunk->process, owner->process, __ATOMIC_RELEASE);
	__atomic_store_n(&chunk->sequence, owner->sequence, __ATOMIC_RELEASE);
	shared_store((uint64_t *)(void *)chunk->name, owner->name, sizeof(chunk->name));
	shared_zero(chunk->data, sizeof(chunk->data));
	__atomic_store_n(&chunk->generation, generation + 1, __ATOMIC_RELEASE);
}

uint32_t rec_ring_exchange(struct rec_region *region, uint32_t full,
			   const struct rec_chunk_owner *owner, uint64_t now)
{
	uint32_t number = REC_CHUNK_NONE;
	struct rec_chunk *chunk = rec_ring_chunk(region, full);

	if (chunk && give_up(chunk)) {
		__atomic_fetch_add(&region->header->ring.filled, 1, __ATOMIC_RELAXED);
		number = swap_slot(region, full);
	}
	if (number == REC_CHUNK_NONE)
		number = pop_free(region);
	if (number == REC_CHUNK_NONE)
		number = take_fresh(region);
	if (number == REC_CHUNK_NONE)
		number = take_oldest(region);
	chunk = rec_ring_chunk(region, number);
	if (!chunk)
		return REC_CHUNK_NONE;
	prepare(chunk, owner, now);
	return number;
}

void rec_ring_release(struct rec_region *region, uint32_t number)
{
	struct rec_chunk *chunk = rec_ring_chunk(region, number);
	uint32_t oldest;

	if (!chunk || !give_up(chunk))
		return;
	oldest = swap_slot(region, number);
	if (oldest != REC_CHUNK_NONE)
		push_free(region, oldest);
}

int rec_ring_copy(const struct rec_region *region, uint32_t number, struct rec_chunk *copy)
{
	struct rec_chunk *chunk = rec_ring_chunk(region, number);
	uint32_t before;

	if (!chunk)
		return 0;
	before = __atomic_load_n(&chunk->generation, __ATOMIC_ACQUIRE);
	if (before == 0)
		return 0;
	if (before & 1)
		return HOLTER_E_BUSY;
	const uint64_t *from = (const uint64_t *)chunk;
	uint64_t *to = (uint64_t *)copy;

	/* Upwards and each with acquire: a record's first word is read before its body. */
	for (uint32_t i = 0; i < REC_CHUNK_BYTES / 8; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
	if (__atomic_load_n(&chunk->generation, __ATOMIC_RELAXED) != before)
		return HOLTER_E_BUSY;
	return 1;
}
