/*
 * Appending records to a chunk: one writer, plain stores, no lock, no locked instruction, no system
 * call until the chunk is full.
 *
 * In: finished record bodies (structs of schema.h). Out: records in the writer's chunk. A signal
 * handler may interrupt an append at any instruction and append too; a record is whole or absent.
 *
 * How: the position is moved by one non-locked XADD, which is one instruction and so atomic for
 * this thread and its handlers. The record's first word says "hole of n words" until the body
 * stands, then it is replaced by the real one: a reader skips the hole, also when the thread never
 * comes back (killed, or left by siglongjmp). `depth` tells a handler that an append is under way;
 * chunk and time base are never changed then.
 */
#ifndef HOLTER_REGION_APPEND_H
#define HOLTER_REGION_APPEND_H

#include "recorder/region/ring.h"
#include "recorder/sys/shared.h"

struct rec_writer {
	uint64_t pos;	     /* address of the next free word; 0: no chunk */
	uint64_t limit;	     /* first address behind the chunk */
	uint64_t base_ticks; /* what the records' ticks count from */
	uint32_t depth;	     /* appends under way: 1, more inside handlers */
	uint32_t chunk;	     /* number */
};

/* What the slow path needs besides; cold. */
struct rec_writer_cold {
	struct rec_region *region; /* NULL: not attached */
	struct rec_chunk_owner owner;
	uint32_t refused; /* nested appends refused in a row */
	uint32_t reserved;
	uint64_t retry_ticks; /* no chunk was free: do not look again before */
	uint64_t *loss;	      /* REC_LOSS_COUNT counters this writer alone adds to */
	uint64_t *loss_bytes;
	uint32_t *chunk_shown; /* where the leader sees which chunk is ours; NULL: nowhere */
};

/*
 * rec_append() - appends one record, if that is possible at once.
 * @type, @flags: of word 0.
 * @ticks: the event's end, or its instant.
 * @body, @bytes: what stands behind word 0; a multiple of 8 known when compiling.
 *
 * Return: true when done; false: take the slow path, nothing was written.
 * Context: the writer's thread and its signal handlers; async-signal-safe.
 */
static inline __attribute__((always_inline)) bool rec_append(struct rec_writer *writer,
							     uint32_t type, uint32_t flags,
							     uint64_t ticks, const void *body,
							     uint32_t bytes)
{
	uint64_t size = 8 + (uint64_t)bytes;
	uint64_t at = size;
	/* Handlers leave it as they found it, so it can be put back from a register. */
	uint32_t depth = writer->depth;

	writer->depth = depth + 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	uint64_t delta = ticks - writer->base_ticks;
	__asm__ volatile("xaddq %0, %1" : "+r"(at), "+m"(writer->pos) : : "memory", "cc");
	if (unlikely(at + size > writer->limit)) {
		/* Handlers that came between failed too and gave theirs back: last in, first out.
		 */
		writer->pos -= size;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		writer->depth = depth;
		return false;
	}
	uint64_t *record = (uint64_t *)at;
	__atomic_store_n(record, EV_WORD0(EV_TYPE_HOLE, size / 8, 0, 0), __ATOMIC_RELAXED);
	if (unlikely(delta >> 32 != 0)) {
		writer->depth = depth;
		return false;
	}
	shared_store(record + 1, body, bytes);
	/* Pairs with the acquire loads of rec_ring_copy(): the body is there when this word is. */
	__atomic_store_n(record, EV_WORD0(type, size / 8, flags, delta), __ATOMIC_RELEASE);
	writer->depth = depth;
	return true;
}

/* A duration as 32 bits and its scale (schema.h); relative error below 2^-22. */
static inline uint32_t rec_append_scale(uint64_t ticks, uint32_t *flags)
{
	uint32_t scale = 0;

	while (unlikely(ticks >> 32 != 0) && scale < 3) {
		ticks >>= 10;
		scale++;
	}
	*flags |= scale;
	return (uint32_t)ticks;
}

/**
 * rec_append_slow() - appends when rec_append() could not: changes the chunk, moves the time base.
 * @writer, @cold: an attached writer.
 * Other parameters as for rec_append().
 *
 * Return: nothing; what cannot be recorded is counted in cold->loss.
 * Context: as rec_append(); a system call only when the ring grows.
 */
void rec_append_slow(struct rec_writer *writer, struct rec_writer_cold *cold, uint32_t type,
		     uint32_t flags, uint64_t ticks, const void *body, uint32_t bytes);

/**
 * rec_append_detach() - gives the writer's chunk back: end of a thread.
 *
 * Return: nothing; the writer can attach again. Context: the writer's thread.
 */
void rec_append_detach(struct rec_writer *writer, struct rec_writer_cold *cold);

#endif
