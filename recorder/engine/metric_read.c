/*
 * Samplers of the machine and of the family's processes (metric_read.h).
 *
 * In: /proc by sys/procfs.h and sys/cgroup.h, the region's process table. Out: records. The first
 * call of a rate only remembers where it counts from. Never here: threads one by one
 * (metric_thread.c).
 */
#include "recorder/engine/metric_read.h"

#include "recorder/base/text.h"
#include "recorder/region/depot.h"
#include "recorder/sys/raw.h"

static uint32_t float_bits(double value)
{
	float single = (float)value;
	uint32_t bits;

	memcpy(&bits, &single, sizeof(bits));
	return bits;
}

/* Index by index, the next living process of the family behind *index; 0 at the end. */
static uint32_t next_process(const struct rec_metrics *metrics, uint32_t *index)
{
	uint32_t count = __atomic_load_n(&metrics->region->header->process_count, __ATOMIC_ACQUIRE);

	while (*index < min_u64(count, REC_PROCESS_MAX)) {
		const struct rec_process *process = rec_process_at(metrics->region, (*index)++);
		uint32_t pid = process ? __atomic_load_n(&process->pid, __ATOMIC_ACQUIRE) : 0;

		if (pid && !process->end_ticks && !(process->flags & REC_PROCESS_LEADER))
			return pid;
	}
	return 0;
}

/* CPU since the last look; of a process never seen before all it has used, but not at the start. */
static void add_process(struct rec_metrics *metrics, uint32_t index,
			const struct rec_proc_stat *stat)
{
	struct rec_metric_family *family = &metrics->family;
	struct rec_metric_process *last = &metrics->processes[index];
	bool is_known = last->start_time == stat->start_time;

	if (!is_known && metrics->rounds) {
		last->user_ticks = 0;
		last->system_ticks = 0;
		is_known = true;
	}
	if (is_known && stat->user_ticks >= last->user_ticks)
		family->user_ticks += stat->user_ticks - last->user_ticks;
	if (is_known && stat->system_ticks >= last->system_ticks)
		family->system_ticks += stat->system_ticks - last->system_ticks;
	last->start_time = stat->start_time;
	last->user_ticks = stat->user_ticks;
	last->system_ticks = stat->system_ticks;
	family->rss_bytes += stat->rss_pages * PAGE_BYTES;
	family->threads += stat->threads;
	family->processes++;
}

const struct rec_metric_family *rec_metric_family(struct rec_metrics *metrics, uint64_t now_ns)
{
	struct rec_metric_family *family = &metrics->family;
	struct rec_proc_stat stat;
	uint32_t index = 0;
	uint32_t pid;

	if (family->round_ns == now_ns)
		return family;
	family->round_ns = now_ns;
	family->rss_bytes = 0;
	family->threads = 0;
	family->processes = 0;
	family->first_pid = 0;
	while ((pid = next_process(metrics, &index)) != 0) {
		if (!rec_proc_stat_read(pid, 0, &stat))
			continue;
		if (!family->first_pid)
			family->first_pid = pid;
		add_process(metrics, index - 1, &stat);
	}
	return family;
}

static bool read_machine(struct rec_metrics *metrics, struct rec_proc_machine *machine)
{
	return raw_read_file("/proc/stat", metrics->text, sizeof(metrics->text)) > 0 &&
	       rec_proc_machine_parse(metrics->text, machine);
}

static double share(uint64_t part, uint64_t whole)
{
	double result = whole ? (double)part / (double)whole : 0;

	return result > 1 ? 1 : result;
}

void rec_metric_cpu_load(struct rec_metrics *metrics, uint64_t now_ns)
{
	struct rec_metric_family *family = &metrics->family;
	struct rec_proc_machine now, last = metrics->load_machine;
	struct ev_CPULoad event = { 0 };
	uint64_t total, idle;

	if (!read_machine(metrics, &now))
		return;
	rec_metric_family(metrics, now_ns);
	total = now.total_ticks - last.total_ticks;
	/* Idle time of a processor may run backwards a little. */
	idle = now.idle_ticks > last.idle_ticks ? now.idle_ticks - last.idle_ticks : 0;
	metrics->load_machine = now;
	if (last.total_ticks && now.total_ticks > last.total_ticks) {
		event.jvmUser = float_bits(share(family->user_ticks, total));
		event.jvmSystem = float_bits(share(family->system_ticks, total));
		event.machineTotal = float_bits(1 - share(idle, total));
		rec_metric_emit(metrics, EV_CPULoad, &event, sizeof(event));
	}
	family->user_ticks = 0;
	family->system_ticks = 0;
}

void rec_metric_switches(struct rec_metrics *metrics, uint64_t now_ns)
{
	struct rec_proc_machine now, last = metrics->switch_machine;
	uint64_t span = now_ns - metrics->switch_ns;
	struct ev_ContextSwitchRate event = { 0 };

	if (!read_machine(metrics, &now))
		return;
	metrics->switch_machine = now;
	metrics->switch_ns = now_ns;
	if (!last.switches || now.switches < last.switches || !span)
		return;
	event.switchRate = float_bits((double)(now.switches - last.switches) * 1e9 / (double)span);
	rec_metric_emit(metrics, EV_ContextSwitchRate, &event, sizeof(event));
}

void rec_metric_physical_memory(struct rec_metrics *metrics, uint64_t now_ns)
{
	struct ev_PhysicalMemory event = { 0 };
	uint64_t total, available;

	(void)now_ns;
	if (raw_read_file("/proc/meminfo", metrics->text, sizeof(metrics->text)) <= 0 ||
	    !rec_proc_number(metrics->text, "MemTotal:", &total))
		return;
	if (!rec_proc_number(metrics->text, "MemAvailable:", &available) &&
	    !rec_proc_number(metrics->text, "MemFree:", &available))
		available = 0;
	event.totalSize = total * 1024;
	event.usedSize = (total - min_u64(available, total)) * 1024;
	rec_metric_emit(metrics, EV_PhysicalMemory, &event, sizeof(event));
}

/* A line of /proc/PID/status in bytes; 0 when it is not there. */
static uint64_t status_bytes(struct rec_metrics *metrics, uint32_t pid, const char *name)
{
	uint64_t value;

	if (rec_proc_read(pid, 0, "status", metrics->text, sizeof(metrics->text)) <= 0 ||
	    !rec_proc_number(metrics->text, name, &value))
		return 0;
	return value * 1024;
}

/* The peak of several processes is that of their sum, as far as it was seen. */
void rec_metric_resident_set(struct rec_metrics *metrics, uint64_t now_ns)
{
	const struct rec_metric_family *family = rec_metric_family(metrics, now_ns);
	struct ev_ResidentSetSize event = { 0 };

	if (!family->processes)
		return;
	metrics->peak_rss = max_u64(metrics->peak_rss, family->rss_bytes);
	if (family->processes == 1)
		metrics->peak_rss = max_u64(metrics->peak_rss,
					    status_bytes(metrics, family->first_pid, "VmHWM:"));
	event.size = family->rss_bytes;
	event.peak = metrics->peak_rss;
	rec_metric_emit(metrics, EV_ResidentSetSize, &event, sizeof(event));
}

void rec_metric_thread_count(struct rec_metrics *metrics, uint64_t now_ns)
{
	const struct rec_metric_family *family = rec_metric_family(metrics, now_ns);
	const struct rec_header *header = metrics->region->header;
	struct ev_ThreadStatistics event = { 0 };

	if (!family->processes)
		return;
	metrics->peak_threads = max_u64(metrics->peak_threads, family->threads);
	event.activeCount = family->threads;
	event.accumulatedCount = max_u64(header->accumulated_threads, metrics->peak_threads);
	event.peakCount = metrics->peak_threads;
	rec_metric_emit(metrics, EV_ThreadStatistics, &event, sizeof(event));
}

static struct rec_metric_interface *find_interface(struct rec_metrics *metrics, const char *name)
{
	struct rec_metric_interface *entry;

	for (uint32_t i = 0; i < metrics->interface_count; i++)
		if (strcmp(metrics->interfaces[i].name, name) == 0)
			return &metrics->interfaces[i];
	if (metrics->interface_count == REC_METRIC_INTERFACES)
		return NULL;
	entry = &metrics->interfaces[metrics->interface_count++];
	memset(entry, 0, sizeof(*entry));
	memcpy(entry->name, name, sizeof(entry->name));
	return entry;
}

static uint64_t bit_rate(uint64_t now, uint64_t last, uint64_t span_ns)
{
	return now > last ? (uint64_t)((double)(now - last) * 8e9 / (double)span_ns) : 0;
}

void rec_metric_network(struct rec_metrics *metrics, uint64_t now_ns)
{
	uint32_t pid = rec_metric_family(metrics, now_ns)->first_pid;
	uint64_t span = metrics->network_ns ? now_ns - metrics->network_ns : 0;
	struct rec_proc_interface now;
	const char *at = metrics->text;

	if (!pid || rec_proc_read(pid, 0, "net/dev", metrics->text, sizeof(metrics->text)) <= 0)
		return;
	metrics->network_ns = now_ns;
	while ((at = rec_proc_interface_next(at, &now)) != NULL) {
		struct rec_metric_interface *last = find_interface(metrics, now.name);
		struct ev_NetworkUtilization event = { 0 };

		if (!last)
			break;
		/* Interfaces that never carried anything are left out. */
		if (span && (now.read_bytes || now.written_bytes)) {
			event.networkInterface =
				rec_depot_intern(metrics->region, REC_DEPOT_STRING, 0, now.name,
						 (uint32_t)strlen(now.name));
			event.readRate = bit_rate(now.read_bytes, last->read_bytes, span);
			event.writeRate = bit_rate(now.written_bytes, last->written_bytes, span);
			rec_metric_emit(metrics, EV_NetworkUtilization, &event, sizeof(event));
		}
		last->read_bytes = now.read_bytes;
		last->written_bytes = now.written_bytes;
	}
}

void rec_metric_heap(struct rec_metrics *metrics, uint64_t now_ns)
{
	uint32_t index = 0;
	uint32_t pid;

	(void)now_ns;
	if (metrics->region->settings->memory_mode == REC_MEMORY_OFF)
		return;
	while ((pid = next_process(metrics, &index)) != 0) {
		const struct rec_process *process = rec_process_at(metrics->region, index - 1);
		struct ev_HeapSummary event = { .process = pid };

		event.liveSamples = __atomic_load_n(&process->live_samples, __ATOMIC_RELAXED);
		event.liveBytes = __atomic_load_n(&process->live_bytes, __ATOMIC_RELAXED);
		event.allocatedBytes = __atomic_load_n(&process->allocated_bytes, __ATOMIC_RELAXED);
		event.heapSize = status_bytes(metrics, pid, "RssAnon:");
		rec_metric_emit(metrics, EV_HeapSummary, &event, sizeof(event));
	}
}

static bool is_socket(uint32_t pid, uint32_t fd)
{
	char path[REC_PROC_PATH], target[16];
	long got;

	rec_proc_path(path, pid, 0, "fd/");
	text_u64(path + strlen(path), path + sizeof(path), fd);
	got = raw_readlink(path, target, sizeof(target));
	return got >= 7 && memcmp(target, "socket:", 7) == 0;
}

static void count_descriptors(struct rec_metrics *metrics, uint32_t pid)
{
	struct ev_FileDescriptors event = { .process = pid };
	char path[REC_PROC_PATH];
	uint32_t fd;
	uint64_t limit;

	rec_proc_path(path, pid, 0, "fd");
	if (!rec_proc_list_open(&metrics->list, path))
		return;
	while (rec_proc_list_next(&metrics->list, &fd)) {
		event.open++;
		event.sockets += is_socket(pid, fd);
	}
	rec_proc_list_close(&metrics->list);
	rec_proc_read(pid, 0, "limits", metrics->text, sizeof(metrics->text));
	limit = rec_proc_open_files_limit(metrics->text);
	event.limit = (uint32_t)min_u64(limit, INT32_MAX);
	rec_metric_emit(metrics, EV_FileDescriptors, &event, sizeof(event));
}

void rec_metric_descriptors(struct rec_metrics *metrics, uint64_t now_ns)
{
	uint32_t index = 0;
	uint32_t pid;

	(void)now_ns;
	while ((pid = next_process(metrics, &index)) != 0)
		count_descriptors(metrics, pid);
}

static bool locate_groups(struct rec_metrics *metrics, uint32_t pid)
{
	char *half = metrics->text + sizeof(metrics->text) / 2;

	return rec_proc_read(pid, 0, "cgroup", metrics->text, sizeof(metrics->text) / 2) > 0 &&
	       rec_proc_read(pid, 0, "mountinfo", half, sizeof(metrics->text) / 2) > 0 &&
	       rec_cgroup_locate(metrics->text, half, &metrics->folders);
}

void rec_metric_cgroup(struct rec_metrics *metrics, uint64_t now_ns)
{
	uint32_t pid = rec_metric_family(metrics, now_ns)->first_pid;
	struct ev_Cgroup event = { 0 };
	struct rec_cgroup group;

	if (!metrics->has_folders)
		metrics->has_folders = pid && locate_groups(metrics, pid);
	if (!metrics->has_folders)
		return;
	rec_cgroup_read(&metrics->folders, &group);
	/* -1 is no limit, as in jdk.ContainerConfiguration. */
	event.cpuLimit = float_bits(
		group.cpu_millis == REC_CGROUP_UNLIMITED ? -1.0 : (double)group.cpu_millis / 1000);
	event.throttledPeriods = (uint32_t)min_u64(group.throttled_periods, UINT32_MAX);
	event.throttledTime = group.throttled_ns;
	event.memoryLimit = group.memory_limit;
	event.memoryUsed = group.memory_used;
	rec_metric_emit(metrics, EV_Cgroup, &event, sizeof(event));
}
