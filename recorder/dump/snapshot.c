/*
 * Copies of chunks, and a heap of cursors over them.
 *
 * In: chunks of a living region. Out: records in order of time. A record is a first word with its
 * length, then words; a zero word ends a chunk (ring.h). Damaged chunks end where they are damaged.
 */
#include "recorder/dump/snapshot.h"

static int piece_before(const void *a, const void *b)
{
	const struct rec_piece *x = a, *y = b;

	if (x->base_ticks != y->base_ticks)
		return x->base_ticks < y->base_ticks ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static int piece_of_strand(const void *a, const void *b)
{
	const struct rec_piece *x = a, *y = b;

	if (x->strand != y->strand)
		return x->strand < y->strand ? -1 : 1;
	return piece_before(a, b);
}

/* Numbers of the chunks that were ever used, oldest first: those are overwritten next. */
static int list_chunks(struct rec_snapshot *snapshot, const struct rec_region *region)
{
	uint32_t ready = __atomic_load_n(&region->header->ring.ready, __ATOMIC_ACQUIRE);
	uint32_t fresh = __atomic_load_n(&region->header->ring.fresh, __ATOMIC_RELAXED);
	uint32_t count = region->layout.chunk_max;

	/* Behind `ready` there may be no page to look at. */
	count = ready < count ? ready : count;
	count = fresh < count ? fresh : count;
	for (uint32_t number = 1; number <= count; number++) {
		const struct rec_chunk *chunk = rec_ring_chunk(region, number);
		struct rec_piece piece = { .index = number };

		if (!chunk || __atomic_load_n(&chunk->generation, __ATOMIC_RELAXED) == 0)
			continue;
		piece.base_ticks = __atomic_load_n(&chunk->base_ticks, __ATOMIC_RELAXED);
		if (!rec_vec_put(&snapshot->pieces, &piece, sizeof(piece)))
			return HOLTER_E_NOMEM;
		snapshot->piece_count++;
	}
	rec_sort(snapshot->pieces.data, snapshot->piece_count, sizeof(struct rec_piece),
		 piece_before);
	return 0;
}

int rec_snapshot_take(struct rec_snapshot *snapshot, const struct rec_region *region)
{
	struct rec_piece *pieces;
	struct rec_chunk *copies;
	uint32_t kept = 0;

	if (list_chunks(snapshot, region) ||
	    !rec_vec_grow(&snapshot->copies,
			  ((uint64_t)snapshot->piece_count + 1) * REC_CHUNK_BYTES))
		return HOLTER_E_NOMEM;
	pieces = (struct rec_piece *)snapshot->pieces.data;
	copies = (struct rec_chunk *)snapshot->copies.data;
	for (uint32_t i = 0; i < snapshot->piece_count; i++) {
		int result = rec_ring_copy(region, pieces[i].index, &copies[kept]);

		if (result < 0)
			snapshot->recycled++;
		if (result <= 0)
			continue;
		pieces[kept] = (struct rec_piece){
			.base_ticks = copies[kept].base_ticks,
			.sequence = copies[kept].sequence,
			.index = kept,
		};
		kept++;
	}
	snapshot->piece_count = kept;
	snapshot->pieces.used = kept * sizeof(struct rec_piece);
	return 0;
}

/*
 * Moves a cursor to the next record of its chunk. True: there is one; false: the chunk ends, or is
 * damaged (counted when `snapshot` is given).
 */
static bool cursor_settle(struct rec_cursor *cursor, struct rec_snapshot *snapshot)
{
	while (cursor->at < cursor->end) {
		uint64_t word = *cursor->at;
		uint32_t words = EV_WORDS(word);
		uint32_t type = EV_TYPE(word);

		if (word == 0)
			return false;
		if (unlikely(words == 0 || words > (uint64_t)(cursor->end - cursor->at) ||
			     (type == EV_TYPE_REBASE && words != 2))) {
			if (snapshot)
				snapshot->damaged++;
			return false;
		}
		if (likely(type < EV_TYPE_HOLE)) {
			cursor->ticks = cursor->base + EV_TICKS(word);
			return true;
		}
		if (type == EV_TYPE_REBASE)
			cursor->base = cursor->at[1];
		cursor->at += words;
	}
	return false;
}

static void cursor_open(struct rec_cursor *cursor, const struct rec_chunk *chunk)
{
	cursor->at = chunk->data;
	cursor->end = chunk->data + ARRAY_LEN(chunk->data);
	cursor->base = cursor->ticks = chunk->base_ticks;
}

/* Settles in this chunk or in a later one of the thread; false at the end of the last. */
static bool cursor_advance(struct rec_snapshot *snapshot, struct rec_cursor *cursor)
{
	while (!cursor_settle(cursor, snapshot)) {
		if (cursor->piece >= cursor->last)
			return false;
		cursor_open(cursor, rec_snapshot_chunk(snapshot, cursor->piece++));
	}
	return true;
}

uint64_t rec_snapshot_end_ticks(const struct rec_snapshot *snapshot, uint32_t piece)
{
	struct rec_cursor cursor = { .piece = 0 };

	cursor_open(&cursor, rec_snapshot_chunk(snapshot, piece));
	while (cursor_settle(&cursor, NULL))
		cursor.at += EV_WORDS(*cursor.at);
	return cursor.ticks;
}

/* Sinks a cell to its place. */
static inline void heap_sink(struct rec_heap_cell *heap, uint32_t count, uint32_t root)
{
	struct rec_heap_cell moved = heap[root];
	uint32_t child;

	while ((child = 2 * root + 1) < count) {
		if (child + 1 < count)
			child += heap[child + 1].ticks < heap[child].ticks;
		if (moved.ticks <= heap[child].ticks)
			break;
		heap[root] = heap[child];
		root = child;
	}
	heap[root] = moved;
}

int rec_snapshot_begin(struct rec_snapshot *snapshot)
{
	struct rec_piece *pieces = (struct rec_piece *)snapshot->pieces.data;
	uint32_t count = snapshot->piece_count;

	rec_sort(pieces, count, sizeof(*pieces), piece_of_strand);
	for (uint32_t i = 0, end; i < count; i = end) {
		struct rec_cursor cursor = { .piece = i, .strand = pieces[i].strand };
		struct rec_heap_cell cell = { .cursor = snapshot->heap_count };

		for (end = i; end < count && pieces[end].strand == cursor.strand;)
			end++;
		cursor.last = end;
		if (!cursor_advance(snapshot, &cursor))
			continue;
		cell.ticks = cursor.ticks;
		if (!rec_vec_put(&snapshot->cursors, &cursor, sizeof(cursor)) ||
		    !rec_vec_put(&snapshot->heap, &cell, sizeof(cell)))
			return HOLTER_E_NOMEM;
		snapshot->heap_count++;
	}
	for (uint32_t i = snapshot->heap_count / 2; i-- > 0;)
		heap_sink((struct rec_heap_cell *)snapshot->heap.data, snapshot->heap_count, i);
	snapshot->started = 0;
	return 0;
}

const struct rec_cursor *rec_snapshot_next(struct rec_snapshot *snapshot)
{
	struct rec_heap_cell *heap = (struct rec_heap_cell *)snapshot->heap.data;
	struct rec_cursor *cursors = (struct rec_cursor *)snapshot->cursors.data;

	if (likely(snapshot->started && snapshot->heap_count > 0)) {
		struct rec_cursor *cursor = &cursors[heap->cursor];

		cursor->at += EV_WORDS(*cursor->at);
		if (likely(cursor_advance(snapshot, cursor)))
			heap->ticks = cursor->ticks;
		else
			heap[0] = heap[--snapshot->heap_count];
		if (snapshot->heap_count > 1)
			heap_sink(heap, snapshot->heap_count, 0);
	}
	snapshot->started = 1;
	return snapshot->heap_count ? &cursors[heap->cursor] : NULL;
}

void rec_snapshot_free(struct rec_snapshot *snapshot)
{
	rec_vec_free(&snapshot->copies);
	rec_vec_free(&snapshot->pieces);
	rec_vec_free(&snapshot->cursors);
	rec_vec_free(&snapshot->heap);
}
