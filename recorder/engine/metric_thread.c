/*
 * CPU of each thread (metric_read.h): the one sampler whose cost grows with the program.
 *
 * /proc/PID/task/TID/schedstat is read of every thread, since it is short and exact; the longer
 * stat, which tells user from system time, only of those that used the processor. Never here:
 * threads that were seen being created (they need not be all there are).
 */
#include <time.h>

#include "recorder/base/hash.h"
#include "recorder/base/text.h"
#include "recorder/engine/metric_read.h"
#include "recorder/sys/raw.h"

#define TICK_NS 10000000u    /* USER_HZ is 100 on x86-64 */
#define LOAD_MIN_SHARE 1000u /* 0.1 % of a processor */

struct scan {
	struct rec_metrics *metrics;
	uint32_t pid;
	uint64_t span_ns; /* since the last scan; 0: the first one */
	uint32_t processors;
};

/* The entry of a thread, new ones zeroed. The table is emptied when it gets crowded. */
static struct rec_metric_thread *find_thread(struct rec_metrics *metrics, uint32_t tid)
{
	uint32_t at = (uint32_t)hash_mix(tid) & (REC_METRIC_THREADS - 1);
	struct rec_metric_thread *entry;

	while (metrics->threads[at].tid && metrics->threads[at].tid != tid)
		at = (at + 1) & (REC_METRIC_THREADS - 1);
	entry = &metrics->threads[at];
	if (!entry->tid) {
		entry->tid = tid;
		metrics->thread_used++;
	}
	return entry;
}

/* Nanoseconds on a processor; by ticks where the kernel keeps no such statistics. */
static bool read_run_ns(uint32_t pid, uint32_t tid, uint64_t *run_ns)
{
	char buffer[96];
	struct rec_proc_stat stat;
	size_t digits;

	if (rec_proc_read(pid, tid, "schedstat", buffer, sizeof(buffer)) > 0) {
		digits = strspn(buffer, "0123456789");
		if (text_parse_u64(buffer, digits, run_ns) == 0 && *run_ns)
			return true;
	}
	if (!rec_proc_stat_read(pid, tid, &stat))
		return false;
	*run_ns = (stat.user_ticks + stat.system_ticks) * TICK_NS;
	return true;
}

static uint32_t load_bits(const struct scan *scan, double busy_ns)
{
	float load = (float)(busy_ns / (double)scan->span_ns / scan->processors);
	uint32_t bits;

	memcpy(&bits, &load, sizeof(bits));
	return bits;
}

/* Splits the busy time by the ticks of user and system since the last time; half a tick each else.
 */
static void emit_load(const struct scan *scan, struct rec_metric_thread *entry, uint64_t busy_ns)
{
	struct ev_ThreadCPULoad event = { .eventThread = entry->tid };
	struct rec_proc_stat stat;
	uint64_t user, system;
	double user_share;

	if (!rec_proc_stat_read(scan->pid, entry->tid, &stat))
		return;
	user = stat.user_ticks - (entry->has_split ? entry->user_ticks : 0);
	system = stat.system_ticks - (entry->has_split ? entry->system_ticks : 0);
	/* Too few ticks say nothing: then the whole life of the thread decides. */
	if (user + system < 3) {
		user = stat.user_ticks;
		system = stat.system_ticks;
	}
	user_share = user + system ? (double)user / (double)(user + system) : 1;
	entry->user_ticks = stat.user_ticks;
	entry->system_ticks = stat.system_ticks;
	entry->has_split = 1;
	event.user = load_bits(scan, (double)busy_ns * user_share);
	event.system = load_bits(scan, (double)busy_ns * (1 - user_share));
	rec_metric_emit(scan->metrics, EV_ThreadCPULoad, &event, sizeof(event));
}

static void look_at(const struct scan *scan, uint32_t tid)
{
	struct rec_metric_thread *entry = find_thread(scan->metrics, tid);
	uint64_t run_ns, busy_ns;

	if (!read_run_ns(scan->pid, tid, &run_ns))
		return;
	/* A smaller number is another thread of the same tid. */
	if (run_ns < entry->run_ns) {
		entry->run_ns = 0;
		entry->has_split = 0;
	}
	busy_ns = min_u64(run_ns - entry->run_ns, scan->span_ns);
	entry->run_ns = run_ns;
	if (scan->span_ns && busy_ns > scan->span_ns / LOAD_MIN_SHARE)
		emit_load(scan, entry, busy_ns);
}

static void scan_process(const struct scan *scan)
{
	struct rec_proc_list *list = &scan->metrics->list;
	char path[REC_PROC_PATH];
	uint32_t tid;

	rec_proc_path(path, scan->pid, 0, "task");
	if (!rec_proc_list_open(list, path))
		return;
	while (rec_proc_list_next(list, &tid) &&
	       scan->metrics->thread_used < REC_METRIC_THREADS / 4 * 3)
		look_at(scan, tid);
	rec_proc_list_close(list);
}

void rec_metric_thread_load(struct rec_metrics *metrics, uint64_t now_ns)
{
	struct rec_header *header = metrics->region->header;
	struct scan scan = { metrics, 0, 0, metrics->processors };
	uint32_t count = __atomic_load_n(&header->process_count, __ATOMIC_ACQUIRE);

	/* Entries of threads that ended fill the table up: begin again, at the price of one sample.
	 */
	if (metrics->thread_used > REC_METRIC_THREADS / 2) {
		memset(metrics->threads, 0, sizeof(metrics->threads));
		metrics->thread_used = 0;
		metrics->threads_ns = 0;
	}
	if (metrics->threads_ns)
		scan.span_ns = now_ns - metrics->threads_ns;
	metrics->threads_ns = now_ns;
	for (uint32_t i = 0; i < min_u64(count, REC_PROCESS_MAX); i++) {
		const struct rec_process *process = rec_process_at(metrics->region, i);

		if (!process || process->end_ticks || (process->flags & REC_PROCESS_LEADER))
			continue;
		scan.pid = __atomic_load_n(&process->pid, __ATOMIC_ACQUIRE);
		if (scan.pid)
			scan_process(&scan);
	}
}
