/*
 * holter summary: how many events of each type a file has, as `jfr summary` tells.
 *
 * In: a recording. Out: a table or JSON on stdout, what was lost before it. Never here: events one
 * by one, except those that tell of losses.
 */
#include <stdlib.h>
#include <unistd.h>

#include "tools/cmd_read.h"
#include "tools/jfr_text.h"

#define NANOS 1000000000
#define COUNT_WIDTH 10
#define BYTES_WIDTH 14

/* What jdk.DataLoss says, summed up. */
struct losses {
	uint64_t events;
	uint64_t bytes;
	bool is_counted; /* the events say how many were lost, as those of Holter do */
};

static int64_t integer_at(const struct holter_event *event, const char *path, bool *is_there)
{
	struct holter_value value;
	bool is_integer = holter_event_get(event, path, &value) == 0 &&
			  (value.kind == HOLTER_KIND_INT || value.kind == HOLTER_KIND_UINT);

	if (is_there)
		*is_there = is_integer;
	return is_integer ? value.as.integer : 0;
}

static int add_loss(void *context, const struct holter_event *event)
{
	struct losses *losses = context;
	bool is_counted;
	int64_t events = integer_at(event, "events", &is_counted);
	int64_t bytes = integer_at(event, "amount", NULL);

	losses->is_counted |= is_counted;
	losses->events += events > 0 ? (uint64_t)events : 0;
	losses->bytes += bytes > 0 ? (uint64_t)bytes : 0;
	return 0;
}

static uint64_t count_of(struct holter_reader *reader, const char *name)
{
	const struct holter_type_count *counts;
	size_t count = holter_reader_counts(reader, &counts);

	for (size_t i = 0; i < count; i++)
		if (strcmp(counts[i].name, name) == 0)
			return counts[i].count;
	return 0;
}

/* Reads the file again for its jdk.DataLoss events; a pipe cannot be read again. */
static int find_losses(struct cli_input *input, struct losses *losses, uint64_t *events)
{
	struct cli_filter_options chosen = { .events = "jdk.DataLoss" };
	struct cli_visitor visitor = { NULL, add_loss, NULL, losses };
	struct cli_filter filter;
	int status;

	*events = count_of(input->reader, "jdk.DataLoss");
	if (!*events || holter_reader_rewind(input->reader) != 0)
		return 0;
	input->shown = CLI_WARNINGS_SHOWN; /* what is wrong was told */
	status = cli_filter_init(&filter, &chosen, 0, 0);
	if (!status)
		status = cli_input_walk(input, &filter, &visitor);
	cli_filter_fini(&filter);
	input->shown = 0;
	return status;
}

static int compare_counts(const void *a, const void *b)
{
	const struct holter_type_count *one = a;
	const struct holter_type_count *other = b;

	if (one->count != other->count)
		return one->count > other->count ? -1 : 1;
	return strcmp(one->name, other->name);
}

/* A sorted copy, without "<unknown>" where nothing unknown was met. */
static struct holter_type_count *sorted_counts(struct holter_reader *reader, size_t *count)
{
	const struct holter_type_count *counts;
	size_t all = holter_reader_counts(reader, &counts);
	struct holter_type_count *sorted = cli_alloc(all * sizeof(*sorted));

	*count = 0;
	for (size_t i = 0; i < all; i++)
		if (counts[i].count || counts[i].name[0] != '<')
			sorted[(*count)++] = counts[i];
	qsort(sorted, *count, sizeof(*sorted), compare_counts);
	return sorted;
}

static void put_column(struct cli_out *out, uint64_t value, size_t width)
{
	struct cli_out number;

	cli_out_init(&number, -1, 0);
	cli_out_u64(&number, value);
	if (number.used < width)
		cli_out_spaces(out, width - number.used);
	cli_out_bytes(out, number.data, number.used);
	cli_out_free(&number);
}

static void put_losses(struct cli_out *out, const struct losses *losses, uint64_t events)
{
	if (!events)
		return;
	cli_out_text(out, "\n Data loss: ");
	if (losses->is_counted) {
		cli_out_u64(out, losses->events);
		cli_out_text(out, " events were lost");
	} else {
		cli_out_u64(out, losses->bytes);
		cli_out_text(out, " bytes were lost");
	}
	cli_out_text(out, " (`holter print --events DataLoss` tells where)\n");
}

static void put_text(struct cli_out *out, const struct holter_totals *totals,
		     const struct holter_type_count *counts, size_t count)
{
	size_t width = sizeof(" Event Type") - 1;

	/* As jfr does it, which leaves out the two kinds that are no event types. */
	for (size_t i = 0; i < count; i++)
		if (strcmp(counts[i].name, "jdk.Metadata") != 0 &&
		    strcmp(counts[i].name, "jdk.CheckPoint") != 0)
			width = max_u64(width, strlen(counts[i].name));
	cli_out_text(out, "\n Version: ");
	cli_out_u64(out, totals->major);
	cli_out_char(out, '.');
	cli_out_u64(out, totals->minor);
	cli_out_text(out, "\n Chunks: ");
	cli_out_u64(out, totals->chunk_count);
	cli_out_text(out, "\n Start: ");
	cli_text_date(out, cli_span_of(totals->start_ns, NANOS));
	cli_out_text(out, " (UTC)\n Duration: ");
	cli_out_i64(out, (totals->duration_ns + NANOS / 2) / NANOS);
	cli_out_text(out, " s\n\n Event Type");
	cli_out_spaces(out, width - (sizeof(" Event Type") - 1));
	cli_out_text(out, "      Count  Size (bytes) \n");
	for (size_t i = 0; i < width + sizeof("      Count  Size (bytes) ") - 1; i++)
		cli_out_char(out, '=');
	cli_out_char(out, '\n');
	for (size_t i = 0; i < count; i++) {
		cli_out_char(out, ' ');
		cli_out_text(out, counts[i].name);
		if (strlen(counts[i].name) < width)
			cli_out_spaces(out, width - strlen(counts[i].name));
		put_column(out, counts[i].count, COUNT_WIDTH);
		put_column(out, counts[i].bytes, BYTES_WIDTH);
		cli_out_char(out, '\n');
	}
}

static void put_member(struct cli_out *out, const char *name, int64_t value)
{
	cli_out_text(out, ",\n  \"");
	cli_out_text(out, name);
	cli_out_text(out, "\": ");
	cli_out_i64(out, value);
}

static void put_json(struct cli_out *out, const struct holter_totals *totals,
		     const struct holter_type_count *counts, size_t count,
		     const struct losses *losses)
{
	cli_out_text(out, "{\n  \"version\": \"");
	cli_out_u64(out, totals->major);
	cli_out_char(out, '.');
	cli_out_u64(out, totals->minor);
	cli_out_text(out, "\",\n  \"start\": \"");
	cli_iso_time(out, cli_span_of(totals->start_ns, NANOS), 0);
	cli_out_char(out, '"');
	put_member(out, "startNanos", totals->start_ns);
	put_member(out, "durationNanos", totals->duration_ns);
	put_member(out, "chunks", totals->chunk_count);
	put_member(out, "events", (int64_t)totals->event_count);
	put_member(out, "bytes", (int64_t)totals->byte_count);
	put_member(out, "lostEvents", (int64_t)losses->events);
	put_member(out, "lostBytes", (int64_t)losses->bytes);
	put_member(out, "damagedEvents", (int64_t)totals->bad_event_count);
	put_member(out, "damages", (int64_t)totals->damage_count);
	cli_out_text(out, ",\n  \"types\": [");
	for (size_t i = 0; i < count; i++) {
		cli_out_text(out, i ? ",\n    {\"name\": " : "\n    {\"name\": ");
		cli_out_json(out, counts[i].name, strlen(counts[i].name));
		cli_out_text(out, ", \"count\": ");
		cli_out_u64(out, counts[i].count);
		cli_out_text(out, ", \"bytes\": ");
		cli_out_u64(out, counts[i].bytes);
		cli_out_char(out, '}');
	}
	cli_out_text(out, "\n  ]\n}\n");
}

static int summarize(struct cli_input *input, bool is_json)
{
	struct losses losses = { .events = 0 };
	struct holter_type_count *counts;
	struct holter_totals totals;
	struct cli_out out;
	uint64_t loss_count;
	size_t count;
	int code = holter_reader_scan(input->reader);
	int status;

	if (code)
		return cli_read_failed(input, code);
	holter_reader_totals(input->reader, &totals);
	counts = sorted_counts(input->reader, &count);
	status = find_losses(input, &losses, &loss_count);
	cli_out_init(&out, STDOUT_FILENO, 0);
	if (is_json) {
		put_json(&out, &totals, counts, count, &losses);
	} else {
		put_losses(&out, &losses, loss_count);
		put_text(&out, &totals, counts, count);
	}
	free(counts);
	return cli_out_finish(&out, "standard output", status);
}

int cli_summary(int argc, char **argv)
{
	struct cli_input input = { .path = NULL };
	int is_json = 0;
	struct cli_option options[] = {
		{ "json", 0, NULL, "the same for programs", &is_json, NULL, NULL, NULL },
		CLI_OPTION_END,
	};
	int first = cli_options(argc, argv, options, 0);
	const char *path;
	int status;

	if (first < 0)
		return -first;
	path = cli_input_operand(argc, argv, first);
	if (!path)
		return CLI_USAGE;
	status = cli_input_open(&input, path);
	if (status)
		return status;
	return cli_input_close(&input, summarize(&input, is_json));
}
