/*
 * holter check: all that can be told about one recording: settings, leader, losses, what was wrong
 * with the configuration, what cannot be seen.
 *
 * In: a region. Out: text, or JSON. Nothing in the region is changed.
 */
#include <inttypes.h>
#include <string.h>

#include "recorder/base/text.h"
#include "recorder/engine/config.h"
#include "recorder/engine/config_value.h"
#include "recorder/region/tables.h"
#include "recorder/sys/log.h"
#include "recorder/sys/procfs.h"
#include "tools/cmd.h"
#include "tools/cmd_region.h"

static const struct {
	uint32_t bit;
	const char *text;
} coverage[] = {
	{ REC_COVERAGE_STATIC_MALLOC, "its own malloc: its allocations are not seen" },
	{ REC_COVERAGE_FOREIGN_MALLOC, "malloc of another library than libc" },
	{ REC_COVERAGE_SIGNAL_TAKEN, "it uses the trigger signal itself: use `holter dump`" },
	{ REC_COVERAGE_SECCOMP, "a seccomp filter is installed" },
	{ REC_COVERAGE_IO_URING, "io_uring: its input and output are not seen" },
};

/* One look at a region, for both forms. */
struct check {
	const struct rec_region *region;
	struct rec_config config;
	struct cli_family family;
	uint64_t loss[REC_LOSS_COUNT];
	char problems[1024];
	const char *state;
};

static void sum_losses(struct check *check)
{
	const struct rec_region *region = check->region;
	uint32_t threads = (uint32_t)min_u64(region->header->thread_count, REC_THREAD_MAX);

	for (unsigned cause = 0; cause < REC_LOSS_COUNT; cause++)
		check->loss[cause] = region->header->loss[cause];
	for (uint32_t i = 0; i < threads; i++) {
		const struct rec_thread_entry *entry = rec_thread_at(region, i);

		for (unsigned cause = 0; entry && entry->tid && cause < REC_LOSS_COUNT; cause++)
			check->loss[cause] += entry->end_ticks ? 0 : entry->loss[cause];
	}
}

static void look(struct check *check, const struct rec_region *region)
{
	check->region = region;
	rec_config_load(&check->config, region);
	cli_region_family(region, &check->family);
	rec_config_problems(region, check->problems, sizeof(check->problems));
	sum_losses(check);
	check->state = !check->family.living	     ? "dead"
		       : region->settings->recording ? "recording"
						     : "stopped";
}

static int is_alive(const struct rec_process *process)
{
	return !process->end_ticks && rec_proc_alive(process->pid, process->start_time);
}

/* The value of a key, for people. */
static const char *key_value(const struct check *check, unsigned key, char *buffer, size_t size)
{
	struct text text = text_init(buffer, size);

	rec_config_value_print(&check->config, key, &text);
	return buffer;
}

static void print_settings(const struct check *check)
{
	char value[REC_CONFIG_PATH * 2];
	unsigned enabled = 0;

	puts("settings:");
	for (unsigned key = 0; key < REC_CONFIG_KEY_COUNT; key++)
		if (key != REC_CONFIG_config)
			printf("  %-12s %s\n", rec_config_keys[key].name,
			       key_value(check, key, value, sizeof(value)));
	for (uint32_t i = 0; i < ev_type_count; i++)
		enabled += (check->region->settings->event[ev_types[i].number].flags &
			    REC_EVENT_ENABLED) != 0;
	printf("  %-12s %u of %u event types (--events lists them)\n", "enabled", enabled,
	       ev_type_count);
}

static void print_events(const struct check *check)
{
	puts("events:");
	for (uint32_t i = 0; i < ev_type_count; i++) {
		const struct rec_event_setting *event =
			&check->region->settings->event[ev_types[i].number];
		char threshold[CLI_TEXT] = "";

		if (event->flags & REC_EVENT_ENABLED && event->threshold_us)
			cli_print_span(threshold, event->threshold_us * 1000ull);
		printf("  %-30s %-4s %-10s %s\n", ev_types[i].name,
		       event->flags & REC_EVENT_ENABLED ? "on" : "off", threshold,
		       event->flags & REC_EVENT_STACK ? "stacks" : "");
	}
}

static void print_processes(const struct check *check)
{
	uint32_t count = (uint32_t)min_u64(check->region->header->process_count, REC_PROCESS_MAX);

	puts("processes:");
	for (uint32_t i = 0; i < count; i++) {
		const struct rec_process *process = rec_process_at(check->region, i);

		if (!process || !process->pid || (process->flags & REC_PROCESS_LEADER))
			continue;
		printf("  %" PRIu32 " %.15s%s%s\n", process->pid, process->name,
		       is_alive(process) ? "" : ", ended",
		       process->flags & REC_PROCESS_EXECING ? ", executing another program" : "");
		if (!process->executable && is_alive(process))
			puts("      did not load libholter.so: nothing of it is recorded");
		if (process->flags & REC_PROCESS_FATAL)
			puts("      a fatal signal arrived");
		if (process->hooks_missing)
			printf("      %" PRIu32 " hooks without a real function\n",
			       process->hooks_missing);
		for (size_t j = 0; j < ARRAY_LEN(coverage); j++)
			if (process->coverage & coverage[j].bit)
				printf("      %s\n", coverage[j].text);
	}
}

static void print_losses(const struct check *check)
{
	int any = 0;

	for (unsigned cause = 0; cause < REC_LOSS_COUNT; cause++) {
		if (!check->loss[cause])
			continue;
		if (!any++)
			puts("lost:");
		printf("  %10" PRIu64 "  %s\n", check->loss[cause], rec_loss_text[cause]);
	}
	if (!any)
		puts("lost:          nothing");
}

static void print_text(const struct check *check, uint32_t pid, int with_events)
{
	const struct rec_header *header = check->region->header;
	char size[CLI_TEXT], time[21];

	rec_log_time(time, header->created_epoch_ns);
	printf("process:       %" PRIu32 ", %s since %s\n", pid, check->state, time);
	printf("region:        %.*s\n", (int)sizeof(header->path), header->path);
	printf("ring:          %s, %" PRIu64 " of %" PRIu32 " chunks in use, %" PRIu64
	       " filled so far\n",
	       cli_print_size(size, check->region->layout.chunk_max * (uint64_t)REC_CHUNK_BYTES),
	       min_u64(header->ring.fresh, check->region->layout.chunk_max),
	       check->region->layout.chunk_max, header->ring.filled);
	if (check->family.leader_alive)
		printf("leader:        %" PRIu32 "%s, %s of CPU so far, %" PRIu32 " dumps\n",
		       check->family.leader_pid, header->lease.tid ? " (a thread of it)" : "",
		       cli_print_span(size, header->lease.cpu_ns), header->dump_count);
	else
		puts("leader:        none at the moment");
	if (check->problems[0])
		printf("configuration: %s\n", check->problems);
	print_losses(check);
	print_settings(check);
	if (with_events)
		print_events(check);
	print_processes(check);
}

static void json_settings(const struct check *check)
{
	char value[REC_CONFIG_PATH * 2];
	int any = 0;

	fputs(",\n \"settings\": {", stdout);
	for (unsigned key = 0; key < REC_CONFIG_KEY_COUNT; key++) {
		if (key == REC_CONFIG_config)
			continue;
		printf("%s\"%s\": ", any++ ? ", " : "", rec_config_keys[key].name);
		cli_json_string(stdout, key_value(check, key, value, sizeof(value)));
	}
	fputs("},\n \"events\": [", stdout);
	for (uint32_t i = 0; i < ev_type_count; i++) {
		const struct rec_event_setting *event =
			&check->region->settings->event[ev_types[i].number];

		printf("%s\n  {\"name\": \"%s\", \"enabled\": %s, \"thresholdNanos\": %" PRIu64
		       ", \"stackTrace\": %s, \"periodMillis\": %" PRIu32 ", \"sample\": %" PRIu32
		       "}",
		       i ? "," : "", ev_types[i].name,
		       event->flags & REC_EVENT_ENABLED ? "true" : "false",
		       event->threshold_us * (uint64_t)1000,
		       event->flags & REC_EVENT_STACK ? "true" : "false", event->period_ms,
		       event->sample);
	}
	fputs("]", stdout);
}

static void json_process(const struct rec_process *process, int is_first)
{
	char name[17];
	int any = 0;

	printf("%s\n  {\"pid\": %" PRIu32 ", \"name\": ", is_first ? "" : ",", process->pid);
	cli_json_string(stdout, cli_region_name(process->name, name));
	printf(", \"alive\": %s, \"hooksMissing\": %" PRIu32 ", \"liveSamples\": %" PRIu32
	       ", \"liveBytes\": %" PRIu64 ", \"coverage\": [",
	       is_alive(process) ? "true" : "false", process->hooks_missing, process->live_samples,
	       process->live_bytes);
	for (size_t i = 0; i < ARRAY_LEN(coverage); i++) {
		if (!(process->coverage & coverage[i].bit))
			continue;
		fputs(any++ ? ", " : "", stdout);
		cli_json_string(stdout, coverage[i].text);
	}
	fputs("]}", stdout);
}

static void json_lists(const struct check *check)
{
	uint32_t count = (uint32_t)min_u64(check->region->header->process_count, REC_PROCESS_MAX);
	int any = 0;

	fputs(",\n \"lost\": {", stdout);
	for (unsigned cause = 0; cause < REC_LOSS_COUNT; cause++) {
		printf("%s\n  ", cause ? "," : "");
		cli_json_string(stdout, rec_loss_text[cause]);
		printf(": %" PRIu64, check->loss[cause]);
	}
	fputs("},\n \"processes\": [", stdout);
	for (uint32_t i = 0; i < count; i++) {
		const struct rec_process *process = rec_process_at(check->region, i);

		if (process && process->pid && !(process->flags & REC_PROCESS_LEADER))
			json_process(process, !any++);
	}
	puts("]}");
}

static void print_json(const struct check *check, uint32_t pid)
{
	const struct rec_header *header = check->region->header;
	char path[REC_PATH_MAX];

	memcpy(path, header->path, sizeof(path));
	path[sizeof(path) - 1] = 0;
	printf("{\"pid\": %" PRIu32 ", \"state\": \"%s\", \"region\": ", pid, check->state);
	cli_json_string(stdout, path);
	printf(",\n \"memoryBytes\": %" PRIu64 ", \"chunks\": %" PRIu32 ", \"chunksUsed\": %" PRIu64
	       ", \"chunksFilled\": %" PRIu64 ",\n \"leader\": {\"pid\": %" PRIu32
	       ", \"inProgram\": %s, \"cpuNanos\": %" PRIu64 "}, \"dumps\": %" PRIu32
	       ", \"problems\": ",
	       check->region->layout.chunk_max * (uint64_t)REC_CHUNK_BYTES,
	       check->region->layout.chunk_max,
	       min_u64(header->ring.fresh, check->region->layout.chunk_max), header->ring.filled,
	       check->family.leader_pid, header->lease.tid ? "true" : "false", header->lease.cpu_ns,
	       header->dump_count);
	cli_json_string(stdout, check->problems);
	json_settings(check);
	json_lists(check);
}

int cli_check(int argc, char **argv)
{
	static struct check check;
	int as_json = 0, with_events = 0;
	const struct cli_option options[] = {
		{ "json", 'j', NULL, "write JSON", &as_json, NULL, NULL, NULL },
		{ "events", 'e', NULL, "list the settings of every event type", &with_events, NULL,
		  NULL, NULL },
		CLI_OPTION_END,
	};
	struct rec_region region;
	uint32_t pid;
	int at = cli_options(argc, argv, options, 0);
	int status;

	if (at < 0)
		return -at;
	if (argc - at != 1)
		return cli_usage("give a process");
	status = cli_region_open(argv[at], 0, &region, &pid);
	if (status)
		return status;
	look(&check, &region);
	if (as_json)
		print_json(&check, pid);
	else
		print_text(&check, pid, with_events);
	rec_region_unmap(&region);
	return CLI_DONE;
}
