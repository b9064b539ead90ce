/*
 * The processes of a family (tables.h): who they are, whether they live, which address space is
 * theirs.
 *
 * In: joins from capture at start-up, fork and exec; ends from the leader. Out: indexes that
 * chunks, threads and live allocations carry. The page of pids repeats each entry's pid, so that a
 * finder need not read the table.
 */
#include "recorder/region/claim.h"
#include "recorder/sys/raw.h"

#define RAW_ESRCH 3

static struct claim_table process_table(const struct rec_region *region)
{
	struct rec_header *header = region->header;

	return (struct claim_table){ .section = region->layout.processes,
				     .ready = &header->processes_ready,
				     .count = &header->process_count,
				     .hand = &header->process_hand,
				     .max = REC_PROCESS_MAX,
				     .bytes = sizeof(struct rec_process) };
}

static uint32_t *process_pids(const struct rec_region *region)
{
	return (uint32_t *)(region->base + region->layout.pids);
}

struct rec_process *rec_process_at(const struct rec_region *region, uint32_t index)
{
	struct claim_table table = process_table(region);

	return claim_at(region, &table, index);
}

uint32_t rec_process_find(const struct rec_region *region, uint32_t pid, uint64_t start_time)
{
	const uint32_t *pids = process_pids(region);
	struct claim_table table = process_table(region);
	uint32_t count = claim_count(&table);

	for (uint32_t i = 0; pid != 0 && i < count; i++) {
		const struct rec_process *process;

		/* Pairs with the release in entry_publish(). */
		if (__atomic_load_n(&pids[i], __ATOMIC_ACQUIRE) != pid)
			continue;
		process = rec_process_at(region, i);
		if (process && __atomic_load_n(&process->end_ticks, __ATOMIC_RELAXED) == 0 &&
		    (start_time == 0 ||
		     __atomic_load_n(&process->start_time, __ATOMIC_RELAXED) == start_time))
			return i;
	}
	return REC_NONE;
}

static uint32_t space_new(struct rec_region *region)
{
	return __atomic_add_fetch(&region->header->space_count, 1, __ATOMIC_RELAXED);
}

/* Does any other living process use this address space (forked, not executed)? */
static bool space_is_shared(const struct rec_region *region, uint32_t space, uint32_t but)
{
	const struct rec_process *process;

	for (uint32_t i = 0; (process = rec_process_at(region, i)) != NULL; i++)
		if (i != but && __atomic_load_n(&process->pid, __ATOMIC_ACQUIRE) != 0 &&
		    __atomic_load_n(&process->space, __ATOMIC_RELAXED) == space &&
		    __atomic_load_n(&process->end_ticks, __ATOMIC_RELAXED) == 0)
			return true;
	return false;
}

/* What belonged to the address space is gone: threads, live allocations, modules. */
static void space_drop(struct rec_region *region, struct rec_process *process, uint32_t index,
		       uint64_t now)
{
	rec_thread_leave_all(region, index, now);
	if (!space_is_shared(region, process->space, index))
		rec_module_unload(region, process->space, 0, now);
	if (__atomic_load_n(&process->live_samples, __ATOMIC_RELAXED) != 0)
		rec_live_forget(region, index);
}

/*
 * The entry of this very process, which must have executed a new image if it joins again with
 * another space. An older process of the same pid, whose end nobody saw, is ended on the way.
 */
static uint32_t process_again(struct rec_region *region, uint32_t pid, uint64_t start_time,
			      uint64_t now)
{
	struct rec_process *process;

	for (uint32_t i = 0; (process = rec_process_at(region, i)) != NULL; i++) {
		if (__atomic_load_n(&process->pid, __ATOMIC_ACQUIRE) != pid)
			continue;
		if (__atomic_load_n(&process->start_time, __ATOMIC_RELAXED) == start_time)
			return i;
		rec_process_leave(region, i, now);
	}
	return REC_NONE;
}

static void image_change(struct rec_region *region, uint32_t index, uint32_t space, uint64_t now)
{
	struct rec_process *process = rec_process_at(region, index);

	if (!process || (space != 0 && space == process->space))
		return;
	space_drop(region, process, index, now);
	__atomic_store_n(&process->space, space != 0 ? space : space_new(region), __ATOMIC_RELAXED);
	__atomic_store_n(&process->end_ticks, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&process->allocated_bytes, 0, __ATOMIC_RELAXED);
	process->executable = 0;
	process->arguments = process->environment = process->directory = 0;
	process->arguments_bytes = process->environment_bytes = 0;
	process->hooks_missing = process->coverage = 0;
	__atomic_and_fetch(&process->flags, ~(uint32_t)(REC_PROCESS_EXECING | REC_PROCESS_EXITING),
			   __ATOMIC_RELAXED);
	__atomic_or_fetch(&process->flags, REC_PROCESS_EXECUTED, __ATOMIC_RELEASE);
}

/* May this entry serve another process? `asking`: also when the kernel must be asked. */
static bool entry_is_over(const struct rec_process *process, uint32_t pid, bool asking)
{
	if (pid == 0)
		return false;
	if (__atomic_load_n(&process->end_ticks, __ATOMIC_RELAXED) != 0)
		return true;
	return asking && raw_syscall3(SYS_kill, pid, 0, 0) == -RAW_ESRCH;
}

static uint32_t entry_reuse(struct rec_region *region, const struct claim_table *table,
			    uint64_t now)
{
	for (uint32_t i = 0; i < 2 * table->max; i++) {
		uint32_t index = claim_hand(table);
		struct rec_process *process = rec_process_at(region, index);
		uint32_t pid = process ? __atomic_load_n(&process->pid, __ATOMIC_ACQUIRE) : 0;

		if (!process || !entry_is_over(process, pid, i >= table->max))
			continue;
		/* Cleared first: who wins this owns the entry, and nobody else takes it for free.
		 */
		if (!__atomic_compare_exchange_n(&process->pid, &pid, 0, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		__atomic_store_n(&process_pids(region)[index], 0, __ATOMIC_RELEASE);
		space_drop(region, process, index, now);
		return index;
	}
	return REC_NONE;
}

/* A forked child runs its parent's program until it executes another. */
static void image_inherit(const struct rec_region *region, struct rec_process *process)
{
	uint32_t index = rec_process_find(region, process->ppid, 0);
	const struct rec_process *parent = rec_process_at(region, index);

	if (!parent)
		return;
	process->executable = parent->executable;
	process->arguments = parent->arguments;
	process->environment = parent->environment;
	process->arguments_bytes = parent->arguments_bytes;
	process->environment_bytes = parent->environment_bytes;
	process->directory = parent->directory;
	process->hooks_missing = parent->hooks_missing;
	process->coverage = parent->coverage;
	memcpy(process->name, parent->name, sizeof(process->name));
}

static void entry_fill(struct rec_region *region, struct rec_process *process, uint64_t start_time,
		       uint32_t ppid, uint32_t space, uint64_t now)
{
	process->ppid = ppid;
	__atomic_store_n(&process->start_time, start_time, __ATOMIC_RELAXED);
	process->start_ticks = now;
	__atomic_store_n(&process->end_ticks, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&process->flags, space == 0 ? REC_PROCESS_EXECUTED : 0, __ATOMIC_RELAXED);
	__atomic_store_n(&process->space, space != 0 ? space : space_new(region), __ATOMIC_RELAXED);
	process->exit_status = 0;
	process->executable = process->arguments = process->environment = process->directory = 0;
	process->arguments_bytes = process->environment_bytes = 0;
	process->hooks_missing = process->coverage = 0;
	__atomic_store_n(&process->live_samples, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&process->live_bytes, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&process->allocated_bytes, 0, __ATOMIC_RELAXED);
	memset(process->name, 0, sizeof(process->name));
	if (space != 0)
		image_inherit(region, process);
}

uint32_t rec_process_join(struct rec_region *region, uint32_t pid, uint64_t start_time,
			  uint32_t ppid, uint32_t space)
{
	struct claim_table table = process_table(region);
	uint64_t now = rec_clock_now();
	uint32_t index = process_again(region, pid, start_time, now);
	struct rec_process *process;

	if (index != REC_NONE) {
		image_change(region, index, space, now);
		return index;
	}
	index = claim_fresh(region, &table);
	if (index == REC_NONE)
		index = entry_reuse(region, &table, now);
	process = rec_process_at(region, index);
	if (!process)
		return REC_NONE;
	entry_fill(region, process, start_time, ppid, space, now);
	__atomic_store_n(&process->pid, pid, __ATOMIC_RELEASE);
	__atomic_store_n(&process_pids(region)[index], pid, __ATOMIC_RELEASE);
	return index;
}

void rec_process_leave(struct rec_region *region, uint32_t index, uint64_t now)
{
	struct rec_process *process = rec_process_at(region, index);
	uint64_t alive = 0;

	if (!process || __atomic_load_n(&process->pid, __ATOMIC_ACQUIRE) == 0)
		return;
	if (__atomic_compare_exchange_n(&process->end_ticks, &alive, now != 0 ? now : 1, false,
					__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		rec_thread_leave_all(region, index, now);
}
