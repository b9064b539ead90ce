/*
 * Sightings of threads (table entries, chunks) sorted by number and time, then joined.
 *
 * In: the thread table, the copied chunks. Out: struct rec_strand per thread. An entry gives an
 * interval; a chunk gives its beginning and a sequence number that grows while it is the same
 * thread.
 */
#include "recorder/dump/thread_list.h"

#include "recorder/base/text.h"

#define FROM_TABLE UINT32_MAX
#define REUSE_MAX                                                                                  \
	256u /* threads of one number that are told apart: a damaged region may claim more */

struct sighting {
	uint64_t start, end, sequence;
	uint32_t tid, pid;
	uint32_t process;
	uint32_t entry; /* of the thread table */
	uint32_t piece; /* FROM_TABLE: the entry itself */
	char name[16];
};
_Static_assert(sizeof(struct sighting) <= 64, "rec_sort() moves at most 64 bytes");

static int sighting_before(const void *a, const void *b)
{
	const struct sighting *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->piece == FROM_TABLE ? -1 : y->piece == FROM_TABLE;
}

static int see_entries(struct rec_vec *seen, const struct rec_region *region)
{
	uint32_t count = __atomic_load_n(&region->header->thread_count, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < count && i < REC_THREAD_MAX; i++) {
		const struct rec_thread_entry *entry = rec_thread_at(region, i);
		struct sighting one = { .entry = i, .piece = FROM_TABLE };

		if (!entry)
			break;
		one.tid = __atomic_load_n(&entry->tid, __ATOMIC_ACQUIRE);
		one.pid = entry->pid;
		one.process = entry->process;
		one.start = entry->start_ticks;
		one.end = entry->end_ticks ? entry->end_ticks : UINT64_MAX;
		memcpy(one.name, entry->name, sizeof(one.name));
		if (one.tid && !rec_vec_put(seen, &one, sizeof(one)))
			return HOLTER_E_NOMEM;
	}
	return 0;
}

static int see_chunks(struct rec_vec *seen, const struct rec_snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot->piece_count; i++) {
		const struct rec_chunk *chunk = rec_snapshot_chunk(snapshot, i);
		struct sighting one = {
			.start = chunk->base_ticks,
			.end = chunk->base_ticks,
			.sequence = chunk->sequence,
			.tid = chunk->tid,
			.pid = chunk->pid,
			.process = chunk->process,
			.entry = chunk->thread,
			.piece = i,
		};

		memcpy(one.name, chunk->name, sizeof(one.name));
		if (!rec_vec_put(seen, &one, sizeof(one)))
			return HOLTER_E_NOMEM;
	}
	return 0;
}

static uint32_t add_strand(struct rec_thread_list *list, uint32_t tid, uint32_t pid,
			   uint32_t process)
{
	struct rec_strand strand = {
		.tid = tid,
		.pid = pid,
		.process = process < REC_PROCESS_MAX ? process : REC_NONE,
		.key = tid,
		.next = REC_NONE,
	};

	if (!rec_vec_put(&list->strands, &strand, sizeof(strand)))
		return REC_NONE;
	return list->count++;
}

/* Is `one` the thread that was seen last? Its chunk is read to its end only where nothing else
 * tells. */
static bool is_same(const struct rec_strand *strand, const struct sighting *last,
		    const struct sighting *one, const struct rec_snapshot *snapshot,
		    uint64_t gap_ticks)
{
	uint64_t last_ticks = last->end;

	if (strand->tid != one->tid || strand->pid != one->pid)
		return false;
	if (one->start <= strand->end_ticks)
		return true;
	if (one->entry == last->entry && one->piece != FROM_TABLE && last->piece != FROM_TABLE &&
	    one->sequence > last->sequence)
		return true;
	if (last->piece != FROM_TABLE)
		last_ticks = rec_snapshot_end_ticks(snapshot, last->piece);
	return one->start <= last_ticks || one->start - last_ticks <= gap_ticks;
}

static void link_tids(struct rec_thread_list *list)
{
	for (uint32_t i = 0; i + 1 < list->count; i++) {
		struct rec_strand *strand = rec_thread_list_at(list, i);

		/* Sorted by tid, but by pid within: order of time is restored by the search. */
		if (strand[1].tid != strand->tid)
			continue;
		strand[1].key = strand->key + (1ull << 32);
		strand->next = i + 1;
	}
}

static int index_tids(struct rec_thread_list *list)
{
	for (uint32_t i = 0; i < list->count; i++) {
		struct rec_strand *strand = rec_thread_list_at(list, i);

		if (i > 0 && strand[-1].tid == strand->tid)
			continue;
		if (!rec_map_put(&list->by_tid, strand->tid, i))
			return HOLTER_E_NOMEM;
	}
	return 0;
}

/* The sorted sightings become strands. */
static int join(struct rec_thread_list *list, struct rec_snapshot *snapshot,
		const struct rec_vec *seen, uint64_t gap_ticks)
{
	const struct sighting *all = (const struct sighting *)seen->data;
	const struct sighting *last = NULL;
	struct rec_piece *pieces = (struct rec_piece *)snapshot->pieces.data;
	uint32_t index = REC_NONE;

	for (uint64_t i = 0; i < seen->used / sizeof(*all); i++) {
		const struct sighting *one = &all[i];
		struct rec_strand *strand;

		if (index == REC_NONE ||
		    !is_same(rec_thread_list_at(list, index), last, one, snapshot, gap_ticks)) {
			index = add_strand(list, one->tid, one->pid, one->process);
			if (index == REC_NONE)
				return HOLTER_E_NOMEM;
			rec_thread_list_at(list, index)->start_ticks = one->start;
		}
		strand = rec_thread_list_at(list, index);
		strand->end_ticks = max_u64(strand->end_ticks, one->end);
		/* The newest name wins, since threads are named after they began: the table's is.
		 */
		if (one->piece == FROM_TABLE || !strand->is_in_table)
			memcpy(strand->name, one->name, sizeof(one->name));
		strand->is_in_table |= one->piece == FROM_TABLE;
		if (one->piece != FROM_TABLE)
			pieces[one->piece].strand = index;
		last = one;
	}
	return 0;
}

int rec_thread_list_build(struct rec_thread_list *list, struct rec_snapshot *snapshot,
			  const struct rec_region *region, uint64_t gap_ticks)
{
	struct rec_vec seen = { NULL, 0, 0 };
	int code = see_entries(&seen, region);

	if (code == 0)
		code = see_chunks(&seen, snapshot);
	if (code == 0) {
		rec_sort(seen.data, seen.used / sizeof(struct sighting), sizeof(struct sighting),
			 sighting_before);
		code = join(list, snapshot, &seen, gap_ticks);
	}
	if (code == 0) {
		link_tids(list);
		code = index_tids(list);
	}
	rec_vec_free(&seen);
	return code;
}

uint32_t rec_thread_list_find(struct rec_thread_list *list, uint32_t tid, uint64_t ticks,
			      uint32_t pid, uint32_t process)
{
	uint32_t index, best, steps = 0;
	struct text text;

	if (rec_map_get(&list->by_tid, tid, &index)) {
		/* The latest that had begun; before all of them, the first. */
		for (best = index; index != REC_NONE && steps < REUSE_MAX;
		     steps++, index = rec_thread_list_at(list, index)->next) {
			uint64_t start = rec_thread_list_at(list, index)->start_ticks;
			uint64_t known = rec_thread_list_at(list, best)->start_ticks;

			if (start <= ticks ? known > ticks || start > known : start < known)
				best = index;
		}
		return best;
	}
	index = add_strand(list, tid, pid, process);
	if (index == REC_NONE || !rec_map_put(&list->by_tid, tid, index))
		return REC_NONE;
	text = text_init(rec_thread_list_at(list, index)->name, 17);
	text_put(&text, "[tid=");
	text_put_u64(&text, tid);
	text_put(&text, "]");
	return index;
}

void rec_thread_list_free(struct rec_thread_list *list)
{
	rec_vec_free(&list->strands);
	rec_map_free(&list->by_tid);
}
