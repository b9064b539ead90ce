/*
 * Opening and walking recordings for the reading commands (cmd_read.h).
 *
 * In: files by the public reader. Out: events in order, warnings on stderr. Memory: one chunk's
 * offsets.
 */
#include "tools/cmd_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRESS_EVENTS 8192 /* the clock is looked at once in so many */
#define PROGRESS_AFTER_S 2

/* Where an event is and when it ended, by which it is sorted. */
struct place {
	int64_t end_ticks;
	uint64_t offset;
};

struct places {
	struct place *at;
	size_t count;
	size_t capacity;
	bool is_sorted;
};

const char *cli_input_operand(int argc, char **argv, int first)
{
	if (first >= argc)
		cli_usage("which file? Give the recording to read, or - for standard input");
	else if (first + 1 < argc)
		cli_usage("one file at a time: \"%s\" and \"%s\" are two", argv[first],
			  argv[first + 1]);
	else
		return argv[first];
	return NULL;
}

static void on_problem(void *context, const struct holter_problem *problem)
{
	struct cli_input *input = context;
	bool is_damage = problem->severity == HOLTER_DAMAGE;

	input->damages += is_damage;
	input->notes += !is_damage;
	if (input->tell) {
		input->tell(input->context, problem);
		return;
	}
	if (!is_damage || ++input->shown > CLI_WARNINGS_SHOWN)
		return;
	cli_warn("%s: offset %llu: %s", input->path, (unsigned long long)problem->offset,
		 problem->text);
}

/* What to do about a file that cannot be opened; "" where the text says it all. */
static const char *advice(int code)
{
	switch (code) {
	case HOLTER_E_NOT_JFR:
		return "; expected is a .jfr or .jfr.lz4 file of Holter, a JDK or async-profiler";
	case HOLTER_E_TRUNCATED:
		return "; nothing in it can be read, record again";
	case HOLTER_E_LZ4:
		return "; copy the file again or restore it from where it was written";
	default:
		return "";
	}
}

int cli_input_open(struct cli_input *input, const char *path)
{
	struct holter_reader_options options = { .on_problem = on_problem, .context = input };
	struct holter_problem why;
	struct stat stat_of;
	int code;

	input->path = path;
	input->begun = time(NULL);
	code = holter_reader_open(path, &options, &input->reader, &why);
	if (!code)
		return 0;
	if (stat(path, &stat_of) == 0 && S_ISDIR(stat_of.st_mode))
		return cli_failed("%s: is a folder; give a recording in it", path);
	return cli_failed("%s: %s%s", path, why.text[0] ? why.text : holter_error_text(code),
			  advice(code));
}

static void clear_progress(struct cli_input *input)
{
	if (input->has_progress)
		fputs("\r\033[K", stderr);
	input->has_progress = false;
}

int cli_input_close(struct cli_input *input, int status)
{
	clear_progress(input);
	if (input->shown > CLI_WARNINGS_SHOWN)
		cli_warn("%s: %llu more problems (`holter verify` tells all)", input->path,
			 (unsigned long long)(input->shown - CLI_WARNINGS_SHOWN));
	holter_reader_close(input->reader);
	input->reader = NULL;
	return status == CLI_DONE && input->damages ? CLI_FAILED : status;
}

int cli_read_failed(const struct cli_input *input, int code)
{
	return cli_failed("%s: %s", input->path, holter_error_text(code));
}

int cli_input_filter(struct cli_input *input, const struct cli_filter_options *options,
		     struct cli_filter *filter)
{
	struct holter_totals totals = { .start_ns = 0 };
	uint64_t shown = input->shown;
	uint64_t damages = input->damages;
	int code;

	if (cli_filter_needs_range(options)) {
		/* What is wrong is told when it is read again. */
		input->shown = CLI_WARNINGS_SHOWN;
		code = holter_reader_scan(input->reader);
		holter_reader_totals(input->reader, &totals);
		if (!code)
			code = holter_reader_rewind(input->reader);
		input->shown = shown;
		input->damages = damages;
		if (code == HOLTER_E_ARGUMENT)
			return cli_failed("%s: times that count from the start or end need a file, "
					  "not a pipe",
					  input->path);
		if (code)
			return cli_read_failed(input, code);
	}
	return cli_filter_init(filter, options, totals.start_ns, totals.end_ns);
}

static void show_progress(struct cli_input *input)
{
	static int is_terminal = -1;
	struct holter_totals totals;

	if (is_terminal < 0)
		is_terminal = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO);
	if (!is_terminal || time(NULL) - input->begun < PROGRESS_AFTER_S)
		return;
	holter_reader_totals(input->reader, &totals);
	fprintf(stderr, "\rholter %s: %llu events", cli_current->name,
		(unsigned long long)totals.event_count);
	input->has_progress = true;
}

static int64_t ticks_of(const struct holter_event *event, size_t number)
{
	struct holter_value value;

	if (holter_event_field(event, number, &value) != 0 || value.kind != HOLTER_KIND_INT)
		return 0;
	return value.as.integer;
}

/* Finer than nanoseconds, as the order of `jfr print` is. */
static int64_t end_ticks(const struct holter_event *event)
{
	const struct holter_type *type = holter_event_type(event);
	const struct holter_field *second = holter_type_field(type, 1);
	uint64_t end = (uint64_t)ticks_of(event, 0);

	if (second && strcmp(holter_field_name(second), "duration") == 0)
		end += (uint64_t)ticks_of(event, 1);
	return (int64_t)end;
}

static void add_place(struct places *places, const struct holter_event *event)
{
	struct place place = { end_ticks(event), holter_event_offset(event) };

	if (places->count == places->capacity) {
		places->capacity = places->capacity ? 2 * places->capacity : 4096;
		places->at = cli_realloc(places->at, places->capacity * sizeof(*places->at));
	}
	if (places->count && places->at[places->count - 1].end_ticks > place.end_ticks)
		places->is_sorted = false;
	places->at[places->count++] = place;
}

static int compare_places(const void *a, const void *b)
{
	const struct place *one = a;
	const struct place *other = b;

	if (one->end_ticks != other->end_ticks)
		return one->end_ticks < other->end_ticks ? -1 : 1;
	return one->offset < other->offset ? -1 : one->offset > other->offset;
}

/* Which types of the chunk are wanted, by index. */
static bool *wanted_types(struct holter_reader *reader, struct cli_filter *filter)
{
	size_t count = holter_reader_type_count(reader);
	bool *wanted = cli_alloc(count * sizeof(*wanted));

	for (size_t i = 0; i < count; i++) {
		const struct holter_type *type = holter_reader_type(reader, i);

		wanted[i] =
			holter_type_is_event(type) && (!filter || cli_filter_type(filter, type));
	}
	return wanted;
}

/* Finds the wanted events of the chunk. */
static int gather(struct cli_input *input, struct cli_filter *filter, struct places *places)
{
	bool *wanted = wanted_types(input->reader, filter);
	bool is_by_type = !filter || cli_filter_is_by_type(filter);
	const struct holter_event *event;
	uint64_t seen = 0;
	int code;

	places->count = 0;
	places->is_sorted = true;
	while ((code = holter_reader_next_in_chunk(input->reader, &event)) > 0) {
		if (++seen % PROGRESS_EVENTS == 0)
			show_progress(input);
		if (wanted[holter_type_index(holter_event_type(event))] &&
		    (is_by_type || cli_filter_event(filter, event)))
			add_place(places, event);
	}
	free(wanted);
	if (!places->is_sorted && !input->is_in_file_order)
		qsort(places->at, places->count, sizeof(*places->at), compare_places);
	return code;
}

static int show_chunk(struct cli_input *input, const struct places *places,
		      const struct cli_visitor *visitor)
{
	const struct holter_event *event;
	int status = 0;

	if (visitor->chunk)
		visitor->chunk(visitor->context, input->reader);
	for (size_t i = 0; i < places->count && !status; i++)
		if (holter_reader_event_at(input->reader, places->at[i].offset, &event) == 0)
			status = visitor->event(visitor->context, event);
	if (!status && visitor->chunk_end)
		visitor->chunk_end(visitor->context);
	return status;
}

int cli_input_walk(struct cli_input *input, struct cli_filter *filter,
		   const struct cli_visitor *visitor)
{
	struct places places = { .count = 0 };
	int status = 0;
	int code;

	while (!status && (code = holter_reader_next_chunk(input->reader)) != 0) {
		if (code > 0)
			code = gather(input, filter, &places);
		if (code < 0)
			status = cli_read_failed(input, code);
		if (holter_reader_chunk(input->reader) && (!status || places.count)) {
			int shown = show_chunk(input, &places, visitor);

			status = status ? status : shown;
		}
	}
	free(places.at);
	clear_progress(input);
	return status;
}
