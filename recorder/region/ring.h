/*
 * Chunks and the ring of full chunks.
 *
 * In: a thread's full chunk. Out: the oldest chunk for it to fill again; copies of chunks for a
 * dump. Lock-free: one fetch_add for the slot, one exchange for the chunk; nothing is copied. Never
 * here: what records mean (capture writes them, dump reads them).
 *
 * A chunk, 8 KiB:
 *   header 64 bytes | records ... | zeros
 * The owner appends records; the first word of a record is stored last, so a reader that loads
 * words upwards sees it whole or as zero. Its generation is odd while it changes hands.
 */
#ifndef HOLTER_REGION_RING_H
#define HOLTER_REGION_RING_H

#include "recorder/region/region.h"

#define REC_CHUNK_NONE 0u /* chunk numbers count from 1 */
#define REC_CHUNK_HEADER 64u
#define REC_CHUNK_DATA (REC_CHUNK_BYTES - REC_CHUNK_HEADER)

struct rec_chunk {
	uint32_t generation; /* odd: changing hands; 0: never used */
	uint32_t state;	     /* enum rec_chunk_state */
	uint64_t base_ticks; /* of the first record; EV_TYPE_REBASE changes it on the way */
	uint32_t pid;
	uint32_t tid;
	uint32_t thread;    /* entry in the thread table; UINT32_MAX = none */
	uint32_t process;   /* entry in the process table */
	uint64_t sequence;  /* counts a thread's chunks, so they can be put in order */
	char name[16];	    /* of the thread when it took the chunk (comm) */
	uint32_t next_free; /* link of the free list */
	uint32_t reserved;
	uint64_t data[REC_CHUNK_DATA / 8];
};
_Static_assert(sizeof(struct rec_chunk) == REC_CHUNK_BYTES, "a chunk is 8 KiB");

enum rec_chunk_state { REC_CHUNK_FREE, REC_CHUNK_OWNED, REC_CHUNK_FULL };

/* Who takes a chunk: written into its header. */
struct rec_chunk_owner {
	uint32_t pid, tid, thread, process;
	uint64_t sequence;
	char name[16];
};

/**
 * rec_ring_chunk() - a chunk by its number; NULL when the number is out of range.
 * Return: see above. Context: any; async-signal-safe.
 */
struct rec_chunk *rec_ring_chunk(const struct rec_region *region, uint32_t number);

/**
 * rec_ring_exchange() - hands over a full chunk and takes one to fill.
 * @full: number of the chunk given, REC_CHUNK_NONE at the first time.
 * @owner: copied into the new chunk's header.
 * @now: ticks, the new chunk's base.
 *
 * The chunk returned is emptied (all zero behind the header). Order of preference: a free chunk, a
 * fresh one while the ring may grow, the oldest full one.
 *
 * Return: its number; REC_CHUNK_NONE when there is none (`full` was handed over all the same).
 * Context: any number of threads and processes; wait-free but for the free list (lock-free) and the
 * bounded search; async-signal-safe; no system call except when the ring grows.
 */
uint32_t rec_ring_exchange(struct rec_region *region, uint32_t full,
			   const struct rec_chunk_owner *owner, uint64_t now);

/**
 * rec_ring_release() - gives back a chunk without taking another: the end of a thread, or the
 * leader on behalf of a dead one. Its records stay readable until it is filled again. Return:
 * nothing. Context: as rec_ring_exchange().
 */
void rec_ring_release(struct rec_region *region, uint32_t number);

/**
 * rec_ring_copy() - a verified copy of one chunk.
 * @copy: out, REC_CHUNK_BYTES.
 *
 * Return: 1 copied; 0 never used; HOLTER_E_BUSY it changed hands meanwhile (its old content is
 * gone). Context: any thread or process that maps the region, read-only suffices.
 */
int rec_ring_copy(const struct rec_region *region, uint32_t number, struct rec_chunk *copy);

#endif
