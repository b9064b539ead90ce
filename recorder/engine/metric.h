/*
 * Periodic events: what the leader samples, each at its own period.
 *
 * In: /proc and control groups (sys/), tables of the region, periods from the settings page. Out:
 * records in the leader's own chunk. Whatever a sampler costs, it is asked again only after 400
 * times that long, so all together stay below half a percent of a processor. Never here: malloc,
 * waiting.
 */
#ifndef HOLTER_ENGINE_METRIC_H
#define HOLTER_ENGINE_METRIC_H

#include "recorder/region/append.h"
#include "recorder/region/tables.h"
#include "recorder/sys/cgroup.h"
#include "recorder/sys/procfs.h"

#define REC_METRIC_COUNT 10u
#define REC_METRIC_THREADS 16384u /* slots of the hash of threads; a power of two */
#define REC_METRIC_INTERFACES 64u
#define REC_METRIC_TEXT (128u << 10) /* /proc/stat of a large machine */

/* CPU of a thread at the last look. */
struct rec_metric_thread {
	uint32_t tid; /* 0 free */
	uint32_t has_split;
	uint64_t run_ns;
	uint64_t user_ticks, system_ticks; /* when has_split */
};

/* CPU of a process at the last look. */
struct rec_metric_process {
	uint64_t start_time; /* 0: not looked at yet */
	uint64_t user_ticks, system_ticks;
};

struct rec_metric_interface {
	char name[16];
	uint64_t read_bytes, written_bytes;
};

/* Sums over the living processes of the family, taken once per round. */
struct rec_metric_family {
	uint64_t round_ns;
	uint64_t user_ticks, system_ticks; /* since the last CPULoad */
	uint64_t rss_bytes;
	uint64_t threads;
	uint32_t processes;
	uint32_t first_pid; /* a living one, for files that are the same for all; 0 none */
};

/* About 600 KiB, mapped and touched on demand: the caller gives zeroed pages. */
struct rec_metrics {
	struct rec_region *region;
	struct rec_writer writer;
	struct rec_writer_cold cold;
	uint64_t loss[REC_LOSS_COUNT + 1]; /* without a thread entry */
	uint32_t rounds;
	uint32_t thread_used;
	uint32_t processors;
	uint64_t last_ns[REC_METRIC_COUNT]; /* 0: never */
	uint64_t cost_ns[REC_METRIC_COUNT];
	struct rec_metric_family family;
	struct rec_proc_machine load_machine, switch_machine;
	uint64_t switch_ns, network_ns, threads_ns;
	uint64_t peak_rss, peak_threads;
	struct rec_cgroup_folders folders;
	uint32_t has_folders;
	uint32_t interface_count;
	struct rec_metric_interface interfaces[REC_METRIC_INTERFACES];
	struct rec_metric_process processes[REC_PROCESS_MAX];
	struct rec_proc_list list;
	struct rec_metric_thread threads[REC_METRIC_THREADS];
	char text[REC_METRIC_TEXT];
};

/**
 * rec_metrics_begin() - enters the leader into the tables and takes the first readings.
 * @metrics: zeroed.
 * @in_thread: 1: a thread of a recorded process; 0: a process of its own, marked
 * REC_PROCESS_LEADER.
 *
 * Return: 0; HOLTER_E_LIMIT no entry is free (events are lost and counted, the rest works).
 * Context: the leader.
 */
int rec_metrics_begin(struct rec_metrics *metrics, struct rec_region *region, int in_thread);

/**
 * rec_metrics_run() - samples what is due.
 * @now_ns: CLOCK_MONOTONIC.
 * @before_dump: 1: also what is older than a tenth of its period, so that a dump ends with fresh
 * values.
 *
 * Return: when something will be due next; UINT64_MAX while all is off.
 * Context: the leader; blocks only on /proc.
 */
uint64_t rec_metrics_run(struct rec_metrics *metrics, uint64_t now_ns, int before_dump);

/* Gives back the leader's chunk and marks its entries ended. Return: nothing. Context: the leader.
 */
void rec_metrics_end(struct rec_metrics *metrics);

#endif
