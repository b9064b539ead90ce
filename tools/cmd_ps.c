/*
 * holter ps: what is being recorded on this machine, and what dead programs left behind.
 *
 * In: the regions of /dev/shm. Out: a table, or JSON. Regions of other users are only counted.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include <libsmartcols/libsmartcols.h>

#include "recorder/region/tables.h"
#include "recorder/sys/procfs.h"
#include "tools/cmd.h"
#include "tools/cmd_region.h"

enum column { PID, NAME, STATE, MEMORY, FILLED, LEADER, LOST, REGION, COLUMN_COUNT };

static const struct {
	const char *title;
	int flags;
} columns[COLUMN_COUNT] = {
	{ "PID", SCOLS_FL_RIGHT },
	{ "NAME", 0 },
	{ "STATE", 0 },
	{ "MEMORY", SCOLS_FL_RIGHT },
	{ "FILLED", SCOLS_FL_RIGHT },
	{ "LEADER", SCOLS_FL_RIGHT },
	{ "LOST", SCOLS_FL_RIGHT },
	{ "REGION", 0 },
};

struct listing {
	struct libscols_table *table; /* NULL: JSON */
	int regions;		      /* written so far */
	int foreign;		      /* of other users */
};

static const char *state_of(const struct rec_region *region, const struct cli_family *family)
{
	if (!family->living)
		return family->leader_alive ? "ending" : "dead";
	return region->settings->recording ? "recording" : "stopped";
}

/* How much of the ring holds records: chunks handed out once, in per cent. */
static unsigned filled_percent(const struct rec_region *region)
{
	uint64_t fresh = min_u64(region->header->ring.fresh, region->layout.chunk_max);

	return (unsigned)(fresh * 100 / region->layout.chunk_max);
}

static void set_text(struct libscols_line *line, enum column column, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void set_text(struct libscols_line *line, enum column column, const char *format, ...)
{
	char text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	scols_line_set_data(line, column, text);
}

static void add_process(struct listing *listing, const struct rec_process *process,
			const char *state, struct libscols_line **first)
{
	struct libscols_line *line = scols_table_new_line(listing->table, NULL);
	struct rec_proc_stat stat;

	if (!line)
		cli_fatal(CLI_FAILED, "out of memory");
	set_text(line, PID, "%" PRIu32, process->pid);
	/* A program that did not load libholter.so has not said its name. */
	if (process->name[0] || !rec_proc_stat_read(process->pid, 0, &stat))
		set_text(line, NAME, "%.15s", process->name);
	else
		set_text(line, NAME, "%s", stat.name);
	scols_line_set_data(line, STATE, state);
	if (!*first)
		*first = line;
}

/* Living processes; of a dead family the first one. */
static const struct rec_process *shown_process(const struct rec_region *region, uint32_t index,
					       const struct cli_family *family)
{
	const struct rec_process *process = rec_process_at(region, index);

	if (!process || !process->pid || (process->flags & REC_PROCESS_LEADER))
		return NULL;
	if (!family->living)
		return process->pid == region->header->root_pid ? process : NULL;
	if (process->end_ticks || !rec_proc_alive(process->pid, process->start_time))
		return NULL;
	return process;
}

static void add_rows(struct listing *listing, const char *path, const struct rec_region *region)
{
	uint32_t count = (uint32_t)min_u64(region->header->process_count, REC_PROCESS_MAX);
	struct libscols_line *first = NULL;
	struct cli_family family;
	char size[CLI_TEXT];

	cli_region_family(region, &family);
	for (uint32_t i = 0; i < count; i++) {
		const struct rec_process *process = shown_process(region, i, &family);

		if (process)
			add_process(listing, process, state_of(region, &family), &first);
	}
	if (!first) {
		struct rec_process root = { .pid = region->header->root_pid };

		add_process(listing, &root, state_of(region, &family), &first);
	}
	scols_line_set_data(
		first, MEMORY,
		cli_print_size(size, region->layout.chunk_max * (uint64_t)REC_CHUNK_BYTES));
	set_text(first, FILLED, "%u %%", filled_percent(region));
	if (family.leader_alive)
		set_text(first, LEADER, "%" PRIu32, family.leader_pid);
	else
		scols_line_set_data(first, LEADER, "none");
	set_text(first, LOST, "%" PRIu64, family.events_lost);
	scols_line_set_data(first, REGION, path);
}

static void json_process(const struct rec_region *region, const struct rec_process *process,
			 int is_first)
{
	char executable[4096] = "", name[17];

	if (process->executable)
		rec_names_read(region, process->executable, executable, sizeof(executable));
	printf("%s{\"pid\": %" PRIu32 ", \"name\": ", is_first ? "" : ", ", process->pid);
	cli_json_string(stdout, cli_region_name(process->name, name));
	fputs(", \"executable\": ", stdout);
	cli_json_string(stdout, executable);
	putchar('}');
}

static void json_region(const char *path, const struct rec_region *region, int is_first)
{
	const struct rec_header *header = region->header;
	uint32_t count = (uint32_t)min_u64(header->process_count, REC_PROCESS_MAX);
	struct cli_family family;
	int shown = 0;

	cli_region_family(region, &family);
	printf("%s\n  {\"region\": ", is_first ? "" : ",");
	cli_json_string(stdout, path);
	printf(", \"state\": \"%s\", \"rootPid\": %" PRIu32 ", \"memoryBytes\": %" PRIu64
	       ", \"chunks\": %" PRIu32 ", \"chunksUsed\": %" PRIu64 ", \"chunksFilled\": %" PRIu64,
	       state_of(region, &family), header->root_pid,
	       region->layout.chunk_max * (uint64_t)REC_CHUNK_BYTES, region->layout.chunk_max,
	       min_u64(header->ring.fresh, region->layout.chunk_max), header->ring.filled);
	printf(", \"leader\": %" PRIu32 ", \"dumps\": %" PRIu32 ", \"lost\": %" PRIu64
	       ", \"processes\": [",
	       family.leader_pid, header->dump_count, family.events_lost);
	for (uint32_t i = 0; i < count; i++) {
		const struct rec_process *process = shown_process(region, i, &family);

		if (process)
			json_process(region, process, !shown++);
	}
	fputs("]}", stdout);
}

static void list_region(const char *path, int error, struct rec_region *region, void *context)
{
	struct listing *listing = context;

	if (error == HOLTER_E_PERMISSION) {
		listing->foreign++;
		return;
	}
	/* Vanished meanwhile, or laid there by another version. */
	if (error) {
		if (error == HOLTER_E_REGION)
			cli_region_error(path, error);
		return;
	}
	if (listing->table)
		add_rows(listing, path, region);
	else
		json_region(path, region, !listing->regions);
	listing->regions++;
}

static struct libscols_table *new_table(void)
{
	struct libscols_table *table = scols_new_table();

	for (int i = 0; table && i < COLUMN_COUNT; i++)
		if (!scols_table_new_column(table, columns[i].title, 0, columns[i].flags))
			table = NULL;
	if (!table)
		cli_fatal(CLI_FAILED, "out of memory");
	return table;
}

int cli_ps(int argc, char **argv)
{
	struct listing listing = { NULL, 0, 0 };
	int as_json = 0;
	const struct cli_option options[] = {
		{ "json", 'j', NULL, "write JSON", &as_json, NULL, NULL, NULL },
		CLI_OPTION_END,
	};
	int at = cli_options(argc, argv, options, 0);

	if (at < 0)
		return -at;
	if (at < argc)
		return cli_usage("takes no argument: `holter check %s` tells about one process",
				 argv[at]);
	if (as_json)
		fputs("{\"regions\": [", stdout);
	else
		listing.table = new_table();
	cli_region_each(list_region, &listing);
	if (as_json)
		printf("%s], \"otherUsers\": %d}\n", listing.regions ? "\n" : "", listing.foreign);
	else if (listing.regions)
		scols_print_table(listing.table);
	if (!as_json && !listing.regions)
		puts("nothing is recorded");
	if (!as_json && listing.foreign)
		printf("(%d of other users: run as root to see them)\n", listing.foreign);
	scols_unref_table(listing.table);
	return CLI_DONE;
}
