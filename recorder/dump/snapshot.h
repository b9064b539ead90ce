/*
 * Verified copies of all chunks, and their records merged by time.
 *
 * In: a region that goes on recording. Out: one record after the other, oldest end first, each with
 * the thread it belongs to. The copies are taken at once, the chunks next to be overwritten first.
 * Never here: what records mean beyond their length and time; the region after the copies are made.
 */
#ifndef HOLTER_DUMP_SNAPSHOT_H
#define HOLTER_DUMP_SNAPSHOT_H

#include "recorder/dump/vec.h"
#include "recorder/region/ring.h"

/* One chunk that was copied. */
struct rec_piece {
	uint64_t base_ticks;
	uint64_t sequence;
	uint32_t index;	 /* of the copy */
	uint32_t strand; /* thread it belongs to, set by the thread list */
};

/* Reads the records of one thread. */
struct rec_cursor {
	const uint64_t *at;  /* the current record */
	const uint64_t *end; /* of its chunk */
	uint64_t ticks;	     /* of the current record */
	uint64_t base;
	uint32_t piece, last; /* pieces [piece, last) are still to come */
	uint32_t strand;
};

/* A cursor by the time of its record; small, because the heap moves these about. */
struct rec_heap_cell {
	uint64_t ticks;
	uint64_t cursor; /* number */
};

struct rec_snapshot {
	struct rec_vec copies;	/* struct rec_chunk */
	struct rec_vec pieces;	/* struct rec_piece */
	struct rec_vec cursors; /* struct rec_cursor, one a thread */
	struct rec_vec heap;	/* struct rec_heap_cell, the earliest first */
	uint32_t piece_count, heap_count;
	uint64_t recycled, damaged, damaged_records;
	int started;
};

/**
 * rec_snapshot_take() - copies the chunks of a region.
 * @snapshot: zeroed, the caller's memory.
 *
 * Return: 0, HOLTER_E_NOMEM. Context: one thread; no waiting for the recorded program.
 */
int rec_snapshot_take(struct rec_snapshot *snapshot, const struct rec_region *region);

/* Header of the copy a piece stands for. */
static inline const struct rec_chunk *rec_snapshot_chunk(const struct rec_snapshot *snapshot,
							 uint32_t piece)
{
	const struct rec_piece *pieces = (const struct rec_piece *)snapshot->pieces.data;

	return (const struct rec_chunk *)snapshot->copies.data + pieces[piece].index;
}

/**
 * rec_snapshot_end_ticks() - ticks of the last record of a piece; its base when it has none.
 *
 * Return: see above. Context: any.
 */
uint64_t rec_snapshot_end_ticks(const struct rec_snapshot *snapshot, uint32_t piece);

/**
 * rec_snapshot_begin() - prepares the merge; every piece has its strand by now.
 *
 * Return: 0, HOLTER_E_NOMEM. Context: one thread.
 */
int rec_snapshot_begin(struct rec_snapshot *snapshot);

/**
 * rec_snapshot_next() - the record that ended first of those not yet seen.
 *
 * Holes and time bases are not shown. Where a record's length cannot be, the rest of its chunk is
 * skipped and counted.
 *
 * Return: its cursor, valid until the next call; NULL at the end. Context: one thread.
 */
const struct rec_cursor *rec_snapshot_next(struct rec_snapshot *snapshot);

/**
 * rec_snapshot_free() - gives the memory back.
 *
 * Return: nothing. Context: one thread.
 */
void rec_snapshot_free(struct rec_snapshot *snapshot);

#endif
