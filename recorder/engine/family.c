/*
 * Living and dead processes and threads of a region (family.h).
 *
 * In: the tables. Out: end marks, released chunks. A dead thread cannot touch its chunk any more,
 * so what is still its own after its death was seen can be given back for it.
 */
#include "recorder/engine/family.h"

#include <errno.h>
#include <fcntl.h>

#include "recorder/region/ring.h"
#include "recorder/sys/procfs.h"
#include "recorder/sys/raw.h"

static uint32_t process_count(const struct rec_region *region)
{
	return (uint32_t)min_u64(__atomic_load_n(&region->header->process_count, __ATOMIC_ACQUIRE),
				 REC_PROCESS_MAX);
}

/* An entry that ended: did its process say so? Entries may be used again, so each is judged once.
 */
static void judge_end(const struct rec_process *process, uint32_t pid,
		      struct rec_family_state *state)
{
	uint32_t flags = __atomic_load_n(&process->flags, __ATOMIC_ACQUIRE);

	/* One that was executing another program went on as that, unrecorded. */
	if ((flags & (REC_PROCESS_EXITING | REC_PROCESS_EXECING)) && !(flags & REC_PROCESS_FATAL))
		return;
	state->unannounced++;
	state->crashed_pid = pid;
	state->is_fatal = (flags & REC_PROCESS_FATAL) != 0;
}

static void judge(struct rec_region *region, uint32_t index, uint32_t self,
		  struct rec_family_state *state)
{
	struct rec_process *process = rec_process_at(region, index);
	uint32_t pid = process ? __atomic_load_n(&process->pid, __ATOMIC_ACQUIRE) : 0;

	if (!pid || (__atomic_load_n(&process->flags, __ATOMIC_RELAXED) & REC_PROCESS_LEADER))
		return;
	if (__atomic_load_n(&process->end_ticks, __ATOMIC_ACQUIRE)) {
		/* Before this leader's time: an earlier one may have left it undone. */
		if (!state->looks)
			judge_end(process, pid, state);
		return;
	}
	if (pid == self || rec_proc_alive(pid, process->start_time)) {
		state->living++;
		return;
	}
	judge_end(process, pid, state);
	rec_process_leave(region, index, rec_clock_now());
	state->died++;
}

void rec_family_look(struct rec_region *region, uint32_t self, struct rec_family_state *state)
{
	uint32_t count = process_count(region);

	state->living = 0;
	state->died = 0;
	for (uint32_t i = 0; i < count; i++)
		judge(region, i, self, state);
	state->looks++;
}

/* Signal 0 is sent to nobody; only "no such thread" is sure. */
static bool thread_is_gone(uint32_t pid, uint32_t tid)
{
	return pid && tid && raw_tgkill((int)pid, (int)tid, 0) == -ESRCH;
}

static bool process_is_gone(const struct rec_region *region, uint32_t index, uint32_t pid)
{
	const struct rec_process *process =
		index < REC_PROCESS_MAX ? rec_process_at(region, index) : NULL;

	return process && process->pid == pid &&
	       __atomic_load_n(&process->end_ticks, __ATOMIC_ACQUIRE) != 0;
}

static bool reclaim_chunk(struct rec_region *region, uint32_t number)
{
	struct rec_chunk *chunk = rec_ring_chunk(region, number);
	uint32_t generation, pid, tid;

	if (!chunk)
		return false;
	generation = __atomic_load_n(&chunk->generation, __ATOMIC_ACQUIRE);
	if (__atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE) != REC_CHUNK_OWNED)
		return false;
	pid = chunk->pid;
	tid = chunk->tid;
	if (!process_is_gone(region, chunk->process, pid) && !thread_is_gone(pid, tid))
		return false;
	/* Still the same one's? It may have given it back itself before it ended. */
	if (__atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE) != REC_CHUNK_OWNED ||
	    __atomic_load_n(&chunk->generation, __ATOMIC_ACQUIRE) != generation ||
	    chunk->pid != pid || chunk->tid != tid)
		return false;
	rec_ring_release(region, number);
	return true;
}

static void reclaim_threads(struct rec_region *region)
{
	uint32_t count = (uint32_t)min_u64(
		__atomic_load_n(&region->header->thread_count, __ATOMIC_ACQUIRE), REC_THREAD_MAX);
	uint64_t now = rec_clock_now();

	for (uint32_t i = 0; i < count; i++) {
		struct rec_thread_entry *entry = rec_thread_at(region, i);
		uint32_t tid = entry ? __atomic_load_n(&entry->tid, __ATOMIC_ACQUIRE) : 0;

		if (!tid || __atomic_load_n(&entry->end_ticks, __ATOMIC_ACQUIRE))
			continue;
		if (process_is_gone(region, entry->process, entry->pid) ||
		    thread_is_gone(entry->pid, tid))
			rec_thread_leave(region, i, now);
	}
}

uint32_t rec_family_reclaim(struct rec_region *region)
{
	uint32_t fresh =
		(uint32_t)min_u64(__atomic_load_n(&region->header->ring.fresh, __ATOMIC_ACQUIRE),
				  region->layout.chunk_max);
	uint32_t reclaimed = 0;

	for (uint32_t number = 1; number <= fresh; number++)
		reclaimed += reclaim_chunk(region, number);
	reclaim_threads(region);
	return reclaimed;
}

/* Looks for the path in the maps of one process, block by block, with an overlap of its length. */
static bool maps_path(uint32_t pid, const char *path, char *buffer, size_t size)
{
	size_t length = strlen(path), kept = 0;
	char name[REC_PROC_PATH];
	bool is_found = false;
	long got;
	int fd;

	rec_proc_path(name, pid, 0, "maps");
	fd = raw_open(name, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	while (!is_found && (got = raw_read(fd, buffer + kept, size - 1 - kept)) > 0) {
		size_t have = kept + (size_t)got;

		is_found = memmem(buffer, have, path, length) != NULL;
		kept = min_u64(have, length - 1);
		memmove(buffer, buffer + have - kept, kept);
	}
	raw_close(fd);
	return is_found;
}

bool rec_family_is_mapped(const char *path, uint32_t self, char *buffer, size_t size)
{
	struct rec_proc_list list;
	bool is_found = false;
	uint32_t pid;

	if (!path || !rec_proc_list_open(&list, "/proc"))
		return false;
	while (!is_found && rec_proc_list_next(&list, &pid))
		is_found = pid != self && maps_path(pid, path, buffer, size);
	rec_proc_list_close(&list);
	return is_found;
}
