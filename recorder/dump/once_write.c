/*
 * What the region itself tells once per dump.
 *
 * In: tables, settings, counters of the region. Out: events of the catalog. Order matters only for
 * the losses: they come last, when all that could get lost is known.
 */
#include "recorder/dump/once_write.h"

#include <time.h>

#include "recorder/base/text.h"
#include "recorder/dump/mask.h"
#include "recorder/sys/raw.h"

#ifndef HOLTER_VERSION
#define HOLTER_VERSION "unknown"
#endif
#define NOT_KNOWN (1ull << 63) /* INT64_MIN: printed as N/A */

bool rec_once_wants(const struct rec_once *once, enum ev_number type)
{
	const struct rec_settings *settings = once->region->settings;

	return settings->generation == 0 || (settings->event[type].flags & REC_EVENT_ENABLED);
}

bool rec_once_has_everything(const struct rec_once *once)
{
	static const char item[] = "settings=everything";
	const char *text = once->region->text;
	size_t length = strnlen(text, REC_TEXT_BYTES), bytes = sizeof(item) - 1;

	for (size_t i = 0; i + bytes <= length; i++)
		if ((i == 0 || text[i - 1] == ',' || text[i - 1] == '\n') &&
		    memcmp(text + i, item, bytes) == 0)
			return true;
	return false;
}

uint64_t rec_once_cpu_ns(void)
{
	struct timespec now = { 0, 0 };

	raw_syscall3(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, (long)&now, 0);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct rec_module_list *tables(const struct rec_once *once)
{
	return &once->encoder->pools->frames.modules;
}

/* The first process of the family; NULL when its entry is gone. */
static const struct rec_process *root_of(const struct rec_once *once)
{
	uint32_t index = rec_module_list_process(tables(once), 0, once->region->header->root_pid);

	return index == REC_NONE ? NULL : rec_module_list_at(tables(once), index);
}

/* Id of a text of the region's names, 0 where there is none. */
static uint32_t name_string(struct rec_once *once, uint32_t name)
{
	struct rec_pools *pools = once->encoder->pools;
	int64_t length = rec_pools_names(pools, name);

	return length < 0
		       ? 0
		       : rec_pools_local(pools, (const char *)pools->buffer.data, (uint64_t)length);
}

/* The command line, arguments separated by blanks, secrets masked. */
static uint32_t arguments_string(struct rec_once *once, uint32_t name)
{
	struct rec_pools *pools = once->encoder->pools;
	int64_t length = rec_pools_names(pools, name);
	char *text = (char *)pools->buffer.data;

	if (length < 0)
		return 0;
	return rec_pools_local(pools, text,
			       rec_mask_arguments(text, (size_t)length, pools->buffer.size));
}

static void write_program(struct rec_once *once)
{
	const struct rec_process *root = root_of(once);
	const struct rec_region *region = once->region;
	struct ev_JVMInformation event = {
		.jvmVersion = rec_once_string(once, "Holter " HOLTER_VERSION),
		.jvmArguments = rec_pools_local(once->encoder->pools, region->text,
						strnlen(region->text, REC_TEXT_BYTES)),
		.pid = region->header->root_pid,
	};

	event.jvmStartTime = region->header->created_epoch_ns / 1000000;
	if (root) {
		event.jvmName = name_string(once, root->executable);
		event.javaArguments = arguments_string(once, root->arguments);
		event.jvmStartTime = rec_clock_epoch_ns(once->clock, root->start_ticks) / 1000000;
	}
	rec_once_event(once, EV_JVMInformation, &event);
}

/* One NAME=VALUE of `length` bytes; `size` is what may be written to. */
static void write_variable(struct rec_once *once, char *text, size_t length, size_t size)
{
	struct rec_pools *pools = once->encoder->pools;
	const char *equals = memchr(text, '=', length);
	struct ev_EnvironmentVariable event;
	size_t name = equals ? (size_t)(equals - text) : length;
	char *value = text + name + (equals != NULL);
	size_t bytes = length - name - (equals != NULL);

	if (length == 0)
		return;
	event.key = rec_pools_local(pools, text, name);
	if (bytes && rec_mask_is_secret(text, name))
		event.value = rec_once_string(once, "***");
	else
		event.value = rec_pools_local(pools, value, rec_mask_urls(value, bytes, size));
	rec_once_event(once, EV_EnvironmentVariable, &event);
}

static void write_environment(struct rec_once *once)
{
	const struct rec_process *root = root_of(once);
	struct rec_pools *pools = once->encoder->pools;
	int64_t length = root ? rec_pools_names(pools, root->environment) : -1;
	char *text = (char *)pools->buffer.data;

	for (int64_t at = 0; at < length;) {
		size_t one = strnlen(text + at, (size_t)(length - at));

		/* No byte more than its own: the next variable stands behind. */
		write_variable(once, text + at, one, 0);
		at += (int64_t)one + 1;
	}
}

static void write_libraries(struct rec_once *once)
{
	const struct rec_module *modules = (const struct rec_module *)tables(once)->modules.data;

	for (uint32_t i = 0; i < tables(once)->module_count; i++) {
		const struct rec_module *module = &modules[i];
		uint32_t bytes = module->build_id_bytes <= 20 ? module->build_id_bytes : 0;
		char build_id[41];
		struct ev_NativeLibrary event = {
			.name = name_string(once, module->path),
			.baseAddress = module->base,
			.topAddress = module->top,
			.loadBias = module->bias,
			.process = module->pid,
			.loaded = module->unload_ticks == 0,
		};

		for (uint32_t k = 0; k < bytes; k++) {
			build_id[2 * k] = "0123456789abcdef"[module->build_id[k] >> 4];
			build_id[2 * k + 1] = "0123456789abcdef"[module->build_id[k] & 15];
		}
		if (bytes)
			event.buildId = rec_pools_local(once->encoder->pools, build_id, 2 * bytes);
		rec_once_event(once, EV_NativeLibrary, &event);
	}
}

static void write_family(struct rec_once *once)
{
	/* With everything enabled they are among all others already, those that live. */
	bool has_all = rec_once_has_everything(once);

	for (uint32_t i = 0; i < tables(once)->process_count; i++) {
		const struct rec_process *process = rec_module_list_at(tables(once), i);
		struct ev_SystemProcess event;
		char pid[24];

		if (process->pid == 0 || (has_all && process->end_ticks == 0))
			continue;
		text_u64(pid, pid + sizeof(pid), process->pid);
		event.pid = rec_once_string(once, pid);
		event.commandLine = arguments_string(once, process->arguments);
		if (!event.commandLine)
			event.commandLine =
				rec_pools_local(once->encoder->pools, process->name,
						strnlen(process->name, sizeof(process->name)));
		rec_once_event(once, EV_SystemProcess, &event);
	}
}

static void write_recording(struct rec_once *once)
{
	struct ev_ActiveRecording recording = {
		.id = 1,
		.name = rec_once_string(once, "Holter"),
		.destination = rec_once_string(once, once->destination),
		.maxAge = NOT_KNOWN,
		.flushInterval = NOT_KNOWN,
		.maxSize = once->region->header->memory_bytes,
		.recordingStart = once->region->header->created_epoch_ns / 1000000,
		.recordingDuration = NOT_KNOWN,
	};
	struct ev_DumpReason reason = {
		.reason = rec_once_string(once, once->reason ? once->reason : "unknown"),
		.recordingId = 1,
	};

	if (rec_once_wants(once, EV_ActiveRecording))
		rec_once_event(once, EV_ActiveRecording, &recording);
	rec_once_event(once, EV_DumpReason, &reason);
}

static void write_setting(struct rec_once *once, const struct ev_type *type, const char *name,
			  const char *value)
{
	struct ev_ActiveSetting event = {
		.id = EV_JFR_ID_BASE + (uint64_t)type->number,
		.name = rec_once_string(once, name),
		.value = rec_once_string(once, value),
	};

	rec_once_event(once, EV_ActiveSetting, &event);
}

/* "20 ms", as JFR writes it: the largest unit that is exact. */
static void span_text(char *buffer, size_t size, uint64_t us)
{
	char *end = buffer + size;

	if (us == 0)
		text_copy(buffer, end, "0 ns");
	else if (us % 1000000 == 0)
		text_copy(text_u64(buffer, end, us / 1000000), end, " s");
	else if (us % 1000 == 0)
		text_copy(text_u64(buffer, end, us / 1000), end, " ms");
	else
		text_copy(text_u64(buffer, end, us), end, " us");
}

static void write_settings_of(struct rec_once *once, const struct ev_type *type,
			      const struct rec_event_setting *setting)
{
	char buffer[40];
	uint32_t period_ms =
		setting->period_ms ? setting->period_ms : once->region->header->interval_ms;

	write_setting(once, type, "enabled", setting->flags & REC_EVENT_ENABLED ? "true" : "false");
	if (type->shape & EV_HAS_DURATION) {
		span_text(buffer, sizeof(buffer), setting->threshold_us);
		write_setting(once, type, "threshold", buffer);
	}
	if (type->shape & EV_HAS_STACK)
		write_setting(once, type, "stackTrace",
			      setting->flags & REC_EVENT_STACK ? "true" : "false");
	if (type->gate == EV_GATE_LEADER) {
		span_text(buffer, sizeof(buffer), period_ms * 1000ull);
		write_setting(once, type, "period", buffer);
	}
	if (setting->sample > 1) {
		text_u64(buffer, buffer + sizeof(buffer), setting->sample);
		write_setting(once, type, "sample", buffer);
	}
}

static void write_settings(struct rec_once *once)
{
	const struct rec_settings *settings = once->region->settings;

	for (uint32_t i = 0; i < ev_type_count; i++)
		write_settings_of(once, &ev_types[i], &settings->event[ev_types[i].number]);
}

static void write_live(struct rec_once *once)
{
	struct rec_thread_list *threads = once->encoder->pools->threads;
	struct rec_live live;

	for (uint32_t i = 0; i < REC_LIVE_MAX; i++) {
		struct ev_LiveAllocation event;
		uint32_t process, strand = REC_NONE, context;
		uint64_t until;

		if (!rec_live_read(once->region, i, &live))
			continue;
		process = (uint32_t)(live.key >> 48);
		event = (struct ev_LiveAllocation){
			.stack = live.stack,
			.address = live.key & 0xffffffffffffull,
			.size = live.size,
			.weight = live.weight,
		};
		if (live.ticks < once->now_ticks)
			event.age = rec_clock_span_ns(once->clock, once->now_ticks - live.ticks);
		if (process < tables(once)->process_count)
			event.process = rec_module_list_at(tables(once), process)->pid;
		if (live.tid)
			strand = rec_thread_list_find(threads, live.tid, live.ticks, event.process,
						      process);
		context = rec_module_list_context(tables(once), process, live.ticks, &until);
		rec_encoder_once(once->encoder, EV_LiveAllocation, once->now_ticks, &event, strand,
				 context);
	}
}

static void write_coverage(struct rec_once *once, const char *subject, const char *state,
			   uint32_t process)
{
	struct ev_Coverage event = {
		.subject = rec_once_string(once, subject),
		.state = rec_once_string(once, state),
		.process = process,
	};

	rec_once_event(once, EV_Coverage, &event);
}

static void write_coverage_of(struct rec_once *once, const struct rec_process *process)
{
	static const struct {
		uint32_t bit;
		const char *subject, *state;
	} rows[] = {
		{ REC_COVERAGE_STATIC_MALLOC, "malloc", "defined by the program itself: not seen" },
		{ REC_COVERAGE_FOREIGN_MALLOC, "malloc", "of another library" },
		{ REC_COVERAGE_SIGNAL_TAKEN, "trigger signal",
		  "taken by the program: ask by `holter dump`" },
		{ REC_COVERAGE_SECCOMP, "seccomp", "a filter is installed" },
		{ REC_COVERAGE_IO_URING, "io_uring", "used: what goes through it is not seen" },
	};
	char state[64];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (process->coverage & rows[i].bit)
			write_coverage(once, rows[i].subject, rows[i].state, process->pid);
	text_copy(text_u64(state, state + sizeof(state), process->hooks_missing),
		  state + sizeof(state), " without a real function");
	write_coverage(once, "hooks", process->hooks_missing ? state : "all found", process->pid);
}

static void write_coverages(struct rec_once *once)
{
	write_coverage(once, "system calls without libc", "not seen", 0);
	write_coverage(once, "calls inside libc", "not seen", 0);
	write_coverage(once, "statically linked allocators", "not seen", 0);
	for (uint32_t i = 0; i < tables(once)->process_count; i++) {
		const struct rec_process *process = rec_module_list_at(tables(once), i);

		if (process->pid && !(process->flags & REC_PROCESS_LEADER))
			write_coverage_of(once, process);
	}
}

static void write_cost(struct rec_once *once)
{
	const struct rec_header *header = once->region->header;
	struct ev_SelfCost event = {
		.regionBytes = once->region->layout.total,
		.ringBytes = (uint64_t)header->ring.ready * REC_CHUNK_BYTES,
		.chunksWritten = header->ring.filled,
		.depotBytes = header->depot.half[0].ready + header->depot.half[1].ready,
		.leaderCpu = header->lease.cpu_ns,
		.dumpTime = rec_once_cpu_ns() - once->begin_cpu_ns,
	};

	rec_once_event(once, EV_SelfCost, &event);
}

/* One row of DataLoss; @bytes is told with the first cause of a thread only, so that sums add up.
 */
static void write_loss(struct rec_once *once, uint64_t *total, enum rec_loss cause, uint64_t events,
		       uint64_t bytes, uint32_t tid, uint32_t pid)
{
	struct ev_DataLoss event = {
		.amount = bytes,
		.cause = rec_once_string(once, rec_loss_text[cause]),
		.events = events,
		.thread = tid,
		.process = pid,
	};

	*total += bytes;
	event.total = *total;
	once->events_lost += events;
	rec_once_event(once, EV_DataLoss, &event);
}

static void write_losses_of(struct rec_once *once, uint64_t *total, const uint64_t *loss,
			    uint64_t bytes, uint32_t tid, uint32_t pid)
{
	for (uint32_t cause = 0; cause < REC_LOSS_COUNT; cause++) {
		uint64_t events = __atomic_load_n(&loss[cause], __ATOMIC_RELAXED);

		if (events == 0)
			continue;
		write_loss(once, total, cause, events, bytes, tid, pid);
		bytes = 0;
	}
}

static void write_losses(struct rec_once *once)
{
	const struct rec_header *header = once->region->header;
	const struct rec_snapshot *snapshot = once->snapshot;
	uint64_t damaged = snapshot->damaged + once->encoder->damaged;
	uint64_t stale = once->encoder->pools->stale;
	const struct rec_thread_entry *entry;
	uint64_t total = 0;

	write_losses_of(once, &total, header->loss, header->loss_bytes, 0, 0);
	for (uint32_t i = 0; (entry = rec_thread_at(once->region, i)) != NULL; i++)
		write_losses_of(once, &total, entry->loss, entry->loss_bytes, entry->tid,
				entry->pid);
	if (snapshot->recycled)
		write_loss(once, &total, REC_LOSS_RECYCLED, snapshot->recycled,
			   snapshot->recycled * REC_CHUNK_DATA, 0, 0);
	if (damaged)
		write_loss(once, &total, REC_LOSS_DAMAGED, damaged, 0, 0, 0);
	if (stale)
		write_loss(once, &total, REC_LOSS_STALE_STACK, stale, 0, 0, 0);
}

void rec_once_write(struct rec_once *once)
{
	once->encoder->pools->is_local = 1;
	rec_once_machine(once);
	if (rec_once_wants(once, EV_JVMInformation))
		write_program(once);
	if (rec_once_wants(once, EV_EnvironmentVariable))
		write_environment(once);
	if (rec_once_wants(once, EV_NativeLibrary))
		write_libraries(once);
	if (rec_once_wants(once, EV_SystemProcess))
		write_family(once);
	write_recording(once);
	if (rec_once_wants(once, EV_ActiveSetting))
		write_settings(once);
	if (rec_once_wants(once, EV_LiveAllocation))
		write_live(once);
	if (rec_once_wants(once, EV_Coverage))
		write_coverages(once);
	if (rec_once_wants(once, EV_SelfCost))
		write_cost(once);
	/* Never left out, whatever the settings say. */
	write_losses(once);
}
