/*
 * When which metric is sampled, and the leader's own writer (metric.h).
 *
 * In: the settings page, the clock. Out: calls of the samplers (metric_read.c, metric_thread.c).
 * Never here: what a sample consists of.
 */
#include "recorder/engine/metric.h"

#include <time.h>

#include "recorder/engine/metric_read.h"
#include "recorder/sys/raw.h"

#define COST_FACTOR 400u /* a sampler may use 1 / 400 of the time */
#define INTERVAL_DEFAULT_MS 5000u
#define LEADER_NAME "holter-leader"

static const struct {
	uint32_t number;
	void (*sample)(struct rec_metrics *metrics, uint64_t now_ns);
} samplers[REC_METRIC_COUNT] = {
	{ EV_CPULoad, rec_metric_cpu_load },
	{ EV_ThreadCPULoad, rec_metric_thread_load },
	{ EV_ContextSwitchRate, rec_metric_switches },
	{ EV_PhysicalMemory, rec_metric_physical_memory },
	{ EV_ResidentSetSize, rec_metric_resident_set },
	{ EV_ThreadStatistics, rec_metric_thread_count },
	{ EV_NetworkUtilization, rec_metric_network },
	{ EV_HeapSummary, rec_metric_heap },
	{ EV_FileDescriptors, rec_metric_descriptors },
	{ EV_Cgroup, rec_metric_cgroup },
};

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void rec_metric_emit(struct rec_metrics *metrics, uint32_t number, const void *body, uint32_t bytes)
{
	uint64_t now = rec_clock_now();

	if (!rec_append(&metrics->writer, number, 0, now, body, bytes))
		rec_append_slow(&metrics->writer, &metrics->cold, number, 0, now, body, bytes);
}

static uint32_t count_processors(struct rec_metrics *metrics)
{
	struct rec_proc_machine machine;

	if (raw_read_file("/proc/stat", metrics->text, sizeof(metrics->text)) <= 0 ||
	    !rec_proc_machine_parse(metrics->text, &machine) || !machine.processors)
		return 1;
	return machine.processors;
}

int rec_metrics_begin(struct rec_metrics *metrics, struct rec_region *region, int in_thread)
{
	struct rec_chunk_owner *owner = &metrics->cold.owner;
	struct rec_thread_entry *entry;
	struct rec_process *process;
	uint64_t start_time = 0;
	uint32_t ppid = 0;

	metrics->region = region;
	metrics->processors = count_processors(metrics);
	owner->pid = (uint32_t)raw_getpid();
	owner->tid = (uint32_t)raw_gettid();
	memcpy(owner->name, LEADER_NAME, sizeof(LEADER_NAME));
	rec_region_start_time(owner->pid, &start_time, &ppid);
	owner->process = in_thread ? rec_process_find(region, owner->pid, start_time)
				   : rec_process_join(region, owner->pid, start_time, ppid, 0);
	process = owner->process == REC_NONE ? NULL : rec_process_at(region, owner->process);
	if (process && !in_thread) {
		__atomic_fetch_or(&process->flags, REC_PROCESS_LEADER | REC_PROCESS_EXECUTED,
				  __ATOMIC_RELEASE);
		memcpy(process->name, LEADER_NAME, sizeof(LEADER_NAME));
	}
	owner->thread = rec_thread_join(region, owner->pid, owner->tid, owner->process,
					rec_clock_now(), LEADER_NAME);
	entry = owner->thread == REC_NONE ? NULL : rec_thread_at(region, owner->thread);
	metrics->cold.region = region;
	metrics->cold.loss = entry ? entry->loss : metrics->loss;
	metrics->cold.loss_bytes = entry ? &entry->loss_bytes : &metrics->loss[REC_LOSS_COUNT];
	return process && entry ? 0 : HOLTER_E_LIMIT;
}

void rec_metrics_end(struct rec_metrics *metrics)
{
	struct rec_chunk_owner *owner = &metrics->cold.owner;
	uint64_t now = rec_clock_now();
	struct rec_process *process;

	rec_append_detach(&metrics->writer, &metrics->cold);
	if (owner->thread != REC_NONE)
		rec_thread_leave(metrics->region, owner->thread, now);
	process =
		owner->process == REC_NONE ? NULL : rec_process_at(metrics->region, owner->process);
	if (process && (process->flags & REC_PROCESS_LEADER))
		__atomic_store_n(&process->end_ticks, now, __ATOMIC_RELEASE);
}

/* The distance of two samples of one metric now; UINT64_MAX when it is off. */
static uint64_t period_ns(const struct rec_metrics *metrics, unsigned which)
{
	const struct rec_settings *settings = metrics->region->settings;
	const struct rec_event_setting *event = &settings->event[samplers[which].number];
	uint64_t ms = __atomic_load_n(&event->period_ms, __ATOMIC_RELAXED);

	if (!__atomic_load_n(&settings->gate[EV_GATE_LEADER], __ATOMIC_ACQUIRE) ||
	    !(__atomic_load_n(&event->flags, __ATOMIC_RELAXED) & REC_EVENT_ENABLED))
		return UINT64_MAX;
	if (!ms)
		ms = __atomic_load_n(&metrics->region->header->interval_ms, __ATOMIC_RELAXED);
	if (!ms)
		ms = INTERVAL_DEFAULT_MS;
	return max_u64(max_u64(ms, 10) * 1000000u, metrics->cost_ns[which] * COST_FACTOR);
}

/* Costs are smoothed downwards, so that one slow reading does not silence a metric for long. */
static void take(struct rec_metrics *metrics, unsigned which, uint64_t now_ns)
{
	uint64_t begin = monotonic_ns();
	uint64_t cost;

	samplers[which].sample(metrics, now_ns);
	cost = monotonic_ns() - begin;
	metrics->cost_ns[which] = (metrics->cost_ns[which] * 3 + cost) / 4;
	metrics->last_ns[which] = now_ns;
}

uint64_t rec_metrics_run(struct rec_metrics *metrics, uint64_t now_ns, int before_dump)
{
	uint64_t next = UINT64_MAX;

	for (unsigned i = 0; i < REC_METRIC_COUNT; i++) {
		uint64_t period = period_ns(metrics, i);
		uint64_t last = metrics->last_ns[i];

		if (period == UINT64_MAX)
			continue;
		if (!last || now_ns >= last + (before_dump ? period / 10 : period)) {
			take(metrics, i, now_ns);
			last = now_ns;
		}
		next = min_u64(next, last + period);
	}
	metrics->rounds++;
	return next;
}
