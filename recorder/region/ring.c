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

#include <errno.h>
#include <linux/futex.h>

#include "recorder/sys/raw.h"
#include "recorder/sys/shared.h"

#define GROW_CHUNKS 16u /* 128 KiB a step: about 80 us of page clearing */

#define GROW_TRIES 200

static const struct timespec grow_wait = { 0, 5000000 };

static uint32_t *ring_slots(const struct rec_region *region)
{
	return (uint32_t *)(region->base + region->layout.slots);
}

struct rec_chunk *rec_ring_chunk(const struct rec_region *region, uint32_t number)
{
	if (number == REC_CHUNK_NONE || number > region->layout.chunk_max)
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

static bool ring_slots_usable(struct rec_region *region)
{
	uint64_t bytes = 4ull * region->layout.chunk_max;

	return rec_region_ensure(region, region->layout.slots, bytes, &region->header->slots_ready,
				 bytes) == 0;
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

/* Reserves the next pages; one thread does it, the others wait a little. False: no more to be had.
 */
static bool grow(struct rec_region *region, uint32_t seen_ready)
{
	struct rec_ring_control *ring = &region->header->ring;
	uint32_t me = (uint32_t)raw_gettid();
	uint32_t holder = 0;

	if (!__atomic_compare_exchange_n(&ring->growing, &holder, me, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED)) {
		/*
		 * Better to wait for its 80 to 200 us than to overwrite what still has room.
		 * Signals cut the wait short, so there are many tries.
		 */
		for (int tries = 0; tries < GROW_TRIES; tries++) {
			int result = raw_futex(&ring->ready, FUTEX_WAIT, seen_ready, &grow_wait);

			if (__atomic_load_n(&ring->ready, __ATOMIC_RELAXED) != seen_ready)
				return true;
			if (result == -ETIMEDOUT)
				break;
		}
		/* Killed while it grew: its place is taken over. */
		if (raw_syscall3(SYS_tkill, holder, 0, 0) != -ESRCH ||
		    !__atomic_compare_exchange_n(&ring->growing, &holder, me, false,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return false;
	}
	uint32_t ready = __atomic_load_n(&ring->ready, __ATOMIC_RELAXED);
	uint32_t wanted = ready + GROW_CHUNKS;
	uint64_t from = region->layout.chunks + (uint64_t)ready * REC_CHUNK_BYTES;
	bool done = ready != seen_ready;

	if (wanted > region->layout.chunk_max)
		wanted = region->layout.chunk_max;
	if (!done && ready < wanted) {
		uint64_t to = region->layout.chunks + (uint64_t)wanted * REC_CHUNK_BYTES;

		int error = rec_region_reserve(region, from, to);

		done = error == 0;
		if (done)
			__atomic_store_n(&ring->ready, wanted, __ATOMIC_RELEASE);
		else if (error == HOLTER_E_NOSPACE)
			__atomic_store_n(&ring->capacity, ready ? ready : 1, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&ring->growing, 0, __ATOMIC_RELEASE);
	raw_futex(&ring->ready, FUTEX_WAKE, INT32_MAX, NULL);
	return done;
}

static uint32_t take_fresh(struct rec_region *region)
{
	struct rec_ring_control *ring = &region->header->ring;

	for (;;) {
		uint32_t ready = __atomic_load_n(&ring->ready, __ATOMIC_ACQUIRE);
		uint32_t fresh = __atomic_load_n(&ring->fresh, __ATOMIC_RELAXED);

		if (ready > region->layout.chunk_max)
			return REC_CHUNK_NONE;
		if (fresh < ready) {
			if (__atomic_compare_exchange_n(&ring->fresh, &fresh, fresh + 1, true,
							__ATOMIC_RELAXED, __ATOMIC_RELAXED))
				return fresh + 1;
			continue;
		}
		if (ready >= ring_capacity(region) || !grow(region, ready))
			return REC_CHUNK_NONE;
	}
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

	if (!ring_slots_usable(region))
		return REC_CHUNK_NONE;
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

	if (!chunk || !ring_slots_usable(region) || !give_up(chunk))
		return;
	oldest = swap_slot(region, number);
	if (oldest != REC_CHUNK_NONE)
		push_free(region, oldest);
}

int rec_ring_copy(const struct rec_region *region, uint32_t number, struct rec_chunk *copy)
{
	struct rec_chunk *chunk = rec_ring_chunk(region, number);
	uint32_t before;

	if (!chunk || number > __atomic_load_n(&region->header->ring.ready, __ATOMIC_RELAXED))
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
