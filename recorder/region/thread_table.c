/*
 * The threads of a family (tables.h): names, life, and what each of them lost.
 *
 * In: joins and leaves from capture; ends of dead ones from the leader. Out: entries whose counters
 * only their thread adds to. Losses are never forgotten: they move to the header's totals before an
 * entry serves another thread.
 */
#include "recorder/region/claim.h"

static struct claim_table thread_table(const struct rec_region *region)
{
	struct rec_header *header = region->header;

	return (struct claim_table){ .section = region->layout.threads,
				     .ready = &header->threads_ready,
				     .count = &header->thread_count,
				     .hand = &header->thread_hand,
				     .max = REC_THREAD_MAX,
				     .bytes = sizeof(struct rec_thread_entry) };
}

struct rec_thread_entry *rec_thread_at(const struct rec_region *region, uint32_t index)
{
	struct claim_table table = thread_table(region);

	return claim_at(region, &table, index);
}

/* Moves an entry's losses to the totals; by exchange, so that nothing is counted twice. */
static void losses_fold(struct rec_region *region, struct rec_thread_entry *entry)
{
	struct rec_header *header = region->header;
	uint64_t lost;

	for (uint32_t i = 0; i < REC_LOSS_COUNT; i++) {
		if (__atomic_load_n(&entry->loss[i], __ATOMIC_RELAXED) == 0)
			continue;
		lost = __atomic_exchange_n(&entry->loss[i], 0, __ATOMIC_RELAXED);
		__atomic_fetch_add(&header->loss[i], lost, __ATOMIC_RELAXED);
	}
	if (__atomic_load_n(&entry->loss_bytes, __ATOMIC_RELAXED) == 0)
		return;
	lost = __atomic_exchange_n(&entry->loss_bytes, 0, __ATOMIC_RELAXED);
	__atomic_fetch_add(&header->loss_bytes, lost, __ATOMIC_RELAXED);
}

/* Ended itself, or its whole process did without telling. */
static bool entry_is_over(const struct rec_region *region, const struct rec_thread_entry *entry)
{
	const struct rec_process *process;
	uint32_t pid = __atomic_load_n(&entry->pid, __ATOMIC_RELAXED);

	if (__atomic_load_n(&entry->end_ticks, __ATOMIC_RELAXED) != 0)
		return true;
	process = rec_process_at(region, __atomic_load_n(&entry->process, __ATOMIC_RELAXED));
	return process && (__atomic_load_n(&process->pid, __ATOMIC_ACQUIRE) != pid ||
			   __atomic_load_n(&process->end_ticks, __ATOMIC_RELAXED) != 0);
}

static uint32_t entry_reuse(struct rec_region *region, const struct claim_table *table)
{
	for (uint32_t i = 0; i < table->max; i++) {
		uint32_t index = claim_hand(table);
		struct rec_thread_entry *entry = rec_thread_at(region, index);
		uint32_t tid = entry ? __atomic_load_n(&entry->tid, __ATOMIC_ACQUIRE) : 0;

		if (tid == 0 || !entry_is_over(region, entry))
			continue;
		/* Cleared first: who wins this owns the entry, and nobody else takes it for free.
		 */
		if (!__atomic_compare_exchange_n(&entry->tid, &tid, 0, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		losses_fold(region, entry);
		return index;
	}
	return REC_NONE;
}

uint32_t rec_thread_join(struct rec_region *region, uint32_t pid, uint32_t tid, uint32_t process,
			 uint64_t now, const char *name)
{
	struct claim_table table = thread_table(region);
	struct rec_thread_entry *entry;
	uint32_t index = claim_fresh(region, &table);

	if (index == REC_NONE)
		index = entry_reuse(region, &table);
	entry = rec_thread_at(region, index);
	if (!entry)
		return REC_NONE;
	__atomic_store_n(&entry->pid, pid, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->process, process, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->chunk, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->start_ticks, now, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->end_ticks, 0, __ATOMIC_RELAXED);
	memset(entry->name, 0, sizeof(entry->name));
	memcpy(entry->name, name, strnlen(name, sizeof(entry->name) - 1));
	__atomic_fetch_add(&region->header->accumulated_threads, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->tid, tid, __ATOMIC_RELEASE);
	return index;
}

void rec_thread_leave(struct rec_region *region, uint32_t index, uint64_t now)
{
	struct rec_thread_entry *entry = rec_thread_at(region, index);
	uint64_t alive = 0;

	if (!entry || __atomic_load_n(&entry->tid, __ATOMIC_ACQUIRE) == 0)
		return;
	/* Before the end is marked: from then on the entry may be another thread's. */
	losses_fold(region, entry);
	__atomic_compare_exchange_n(&entry->end_ticks, &alive, now != 0 ? now : 1, false,
				    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

void rec_thread_leave_all(struct rec_region *region, uint32_t process, uint64_t now)
{
	struct rec_thread_entry *entry;

	for (uint32_t i = 0; (entry = rec_thread_at(region, i)) != NULL; i++)
		if (__atomic_load_n(&entry->process, __ATOMIC_RELAXED) == process &&
		    __atomic_load_n(&entry->end_ticks, __ATOMIC_RELAXED) == 0)
			rec_thread_leave(region, i, now);
}
