/*
 * holter verify: is the file whole?
 *
 * In: recordings. Out: a line per problem on stdout, `FILE: offset N: text`, or JSON; exit status 0
 * only when nothing is wrong with any. Everything is decoded: every event, every value, every
 * constant an event leads to, as no other command does. Never here: repair.
 */
#include <stdlib.h>
#include <unistd.h>

#include "tools/cmd_read.h"
#include "tools/out.h"

#define DEPTH_MAX 48
#define SEEN_SLOTS 65536u /* a power of two */

struct verify {
	struct cli_out out;
	struct cli_input input;
	bool is_json;
	bool is_first_file;
	bool is_first_problem;
	uint64_t bad_values;
	uint64_t null_keys; /* references to constants that are not there */
	/* constants of the chunk that were walked */
	struct seen {
		const struct holter_type *type;
		uint64_t key;
	} * seen;
	size_t seen_count;
};

static void put_problem_json(struct verify *verify, const struct holter_problem *problem)
{
	struct cli_out *out = &verify->out;

	cli_out_text(out,
		     verify->is_first_problem ? "\n    {\"offset\": " : ",\n    {\"offset\": ");
	verify->is_first_problem = false;
	cli_out_u64(out, problem->offset);
	cli_out_text(out, ", \"chunk\": ");
	cli_out_u64(out, problem->chunk);
	cli_out_text(out, problem->severity == HOLTER_DAMAGE ? ", \"severity\": \"damage\""
							     : ", \"severity\": \"note\"");
	cli_out_text(out, ", \"code\": ");
	cli_out_i64(out, problem->code);
	cli_out_text(out, ", \"bytesLost\": ");
	cli_out_u64(out, problem->bytes_lost);
	cli_out_text(out, ", \"text\": ");
	cli_out_json(out, problem->text, strlen(problem->text));
	cli_out_char(out, '}');
}

static void tell(void *context, const struct holter_problem *problem)
{
	struct verify *verify = context;
	struct cli_out *out = &verify->out;

	if (verify->is_json) {
		put_problem_json(verify, problem);
		return;
	}
	cli_out_text(out, verify->input.path);
	cli_out_text(out, ": offset ");
	cli_out_u64(out, problem->offset);
	cli_out_text(out, problem->severity == HOLTER_DAMAGE ? ": " : ": note: ");
	cli_out_text(out, problem->text);
	cli_out_char(out, '\n');
	cli_out_settle(out);
}

/* A problem that only this command looks for. */
static void tell_own(struct verify *verify, enum holter_severity severity, uint64_t offset,
		     const char *text)
{
	struct holter_problem problem = { .code = HOLTER_E_CORRUPT,
					  .severity = severity,
					  .offset = offset };
	const struct holter_chunk *chunk = holter_reader_chunk(verify->input.reader);

	problem.chunk = chunk ? chunk->number : 0;
	snprintf(problem.text, sizeof(problem.text), "%s", text);
	verify->input.damages += severity == HOLTER_DAMAGE;
	verify->input.notes += severity == HOLTER_NOTE;
	tell(verify, &problem);
}

static void forget(struct verify *verify)
{
	memset(verify->seen, 0, SEEN_SLOTS * sizeof(*verify->seen));
	verify->seen_count = 0;
}

/* Whether a constant was walked before; it is from now on. A full table forgets. */
static bool was_seen(struct verify *verify, const struct holter_value *value)
{
	uint64_t hash = (value->key + holter_type_index(value->type) * 0x9e3779b97f4a7c15u) *
			0xd6e8feb86659fd93u;
	size_t slot = (size_t)(hash >> 40) & (SEEN_SLOTS - 1);

	for (;; slot = (slot + 1) & (SEEN_SLOTS - 1)) {
		struct seen *seen = &verify->seen[slot];

		if (seen->type == value->type && seen->key == value->key)
			return true;
		if (seen->type)
			continue;
		*seen = (struct seen){ value->type, value->key };
		if (++verify->seen_count > SEEN_SLOTS / 2)
			forget(verify);
		return false;
	}
}

/* Decodes all that a value leads to; counts what cannot be. */
static void walk_value(struct verify *verify, const struct holter_value *value, int depth)
{
	struct holter_value member;
	struct holter_walk walk;
	int code;

	/* Key 0 is how null is written. */
	if (value->kind == HOLTER_KIND_NULL && value->is_constant && value->key)
		verify->null_keys++;
	if ((value->kind != HOLTER_KIND_STRUCT && value->kind != HOLTER_KIND_ARRAY) ||
	    depth > DEPTH_MAX)
		return;
	if (value->is_constant && value->kind == HOLTER_KIND_STRUCT && was_seen(verify, value))
		return;
	holter_walk_begin(&walk, value);
	while ((code = holter_walk_next(&walk, &member)) > 0)
		walk_value(verify, &member, depth + 1);
	verify->bad_values += code < 0;
}

static void verify_event(struct verify *verify, const struct holter_event *event)
{
	uint64_t bad = verify->bad_values;
	uint64_t null_keys = verify->null_keys;
	size_t count = holter_type_field_count(holter_event_type(event));
	struct holter_value value;
	char text[160];

	for (size_t i = 0; i < count; i++) {
		if (holter_event_field(event, i, &value) == 0)
			walk_value(verify, &value, 0);
		else
			verify->bad_values++;
	}
	if (verify->bad_values != bad && !bad) {
		snprintf(text, sizeof(text),
			 "a value of an event of type %.80s is damaged (more are only counted)",
			 holter_type_name(holter_event_type(event)));
		tell_own(verify, HOLTER_DAMAGE, holter_event_offset(event), text);
	}
	/* JVMs leave out constants of threads that ended long ago: odd, but nothing was damaged. */
	if (verify->null_keys != null_keys && !null_keys) {
		snprintf(text, sizeof(text),
			 "%.80s refers to a constant that is not there (more are only counted)",
			 holter_type_name(holter_event_type(event)));
		tell_own(verify, HOLTER_NOTE, holter_event_offset(event), text);
	}
}

static int verify_events(struct verify *verify)
{
	struct holter_reader *reader = verify->input.reader;
	const struct holter_event *event;
	int code;

	while ((code = holter_reader_next_chunk(reader)) > 0) {
		const struct holter_chunk *chunk = holter_reader_chunk(reader);

		forget(verify);
		if (chunk->state != 0)
			tell_own(verify, HOLTER_NOTE, chunk->offset,
				 "a chunk that was not finished");
		while ((code = holter_reader_next_in_chunk(reader, &event)) > 0)
			verify_event(verify, event);
		if (code < 0)
			break;
	}
	return code;
}

static void put_result_json(struct verify *verify, const struct holter_totals *totals,
			    bool is_whole)
{
	struct cli_out *out = &verify->out;

	cli_out_text(out, verify->is_first_problem ? "], \"whole\": " : "\n  ], \"whole\": ");
	cli_out_text(out, is_whole ? "true" : "false");
	cli_out_text(out, ", \"chunks\": ");
	cli_out_u64(out, totals->chunk_count);
	cli_out_text(out, ", \"events\": ");
	cli_out_u64(out, totals->event_count);
	cli_out_text(out, ", \"damagedEvents\": ");
	cli_out_u64(out, totals->bad_event_count + verify->bad_values);
	cli_out_text(out, ", \"missingConstants\": ");
	cli_out_u64(out, verify->null_keys);
	cli_out_text(out, ", \"lostBytes\": ");
	cli_out_u64(out, totals->lost_bytes);
	cli_out_char(out, '}');
}

static void put_result(struct verify *verify, bool is_whole)
{
	struct holter_totals totals = { .chunk_count = 0 };
	struct cli_out *out = &verify->out;

	holter_reader_totals(verify->input.reader, &totals);
	if (verify->is_json) {
		put_result_json(verify, &totals, is_whole);
		return;
	}
	cli_out_text(out, verify->input.path);
	if (!is_whole) {
		cli_out_text(out, ": damaged: ");
		cli_out_u64(out, verify->input.damages);
		cli_out_text(out, " problems, ");
		cli_out_u64(out, totals.lost_bytes);
		cli_out_text(out, " bytes lost, ");
	} else {
		cli_out_text(out, ": whole: ");
	}
	cli_out_u64(out, totals.event_count);
	cli_out_text(out, " events in ");
	cli_out_u64(out, totals.chunk_count);
	cli_out_text(out, totals.chunk_count == 1 ? " chunk\n" : " chunks\n");
}

static int verify_file(struct verify *verify, const char *path)
{
	struct cli_out *out = &verify->out;
	int status = 0;
	int code;

	verify->input = (struct cli_input){ .tell = tell, .context = verify };
	verify->bad_values = verify->null_keys = 0;
	verify->is_first_problem = true;
	if (verify->is_json) {
		cli_out_text(out, verify->is_first_file ? "\n  {\"file\": " : ",\n  {\"file\": ");
		cli_out_json(out, path, strlen(path));
		cli_out_text(out, ", \"problems\": [");
	}
	verify->is_first_file = false;
	cli_out_flush(out);
	if (cli_input_open(&verify->input, path) != 0) {
		if (verify->is_json)
			cli_out_text(out, "], \"whole\": false, \"error\": \"cannot be opened\"}");
		return CLI_FAILED;
	}
	code = verify_events(verify);
	if (code < 0)
		status = cli_read_failed(&verify->input, code);
	put_result(verify, !status && !verify->input.damages);
	return cli_input_close(&verify->input, status);
}

int cli_verify(int argc, char **argv)
{
	struct verify verify = { .is_first_file = true };
	int is_json = 0;
	struct cli_option options[] = {
		{ "json", 0, NULL, "the same for programs", &is_json, NULL, NULL, NULL },
		CLI_OPTION_END,
	};
	int first = cli_options(argc, argv, options, 0);
	int status = CLI_DONE;

	if (first < 0)
		return -first;
	if (first >= argc)
		return cli_usage("which files? Give the recordings to check");
	cli_out_init(&verify.out, STDOUT_FILENO, 0);
	verify.is_json = is_json;
	verify.seen = cli_alloc(SEEN_SLOTS * sizeof(*verify.seen));
	if (is_json)
		cli_out_text(&verify.out, "{\"files\": [");
	for (int i = first; i < argc; i++)
		if (verify_file(&verify, argv[i]) != 0)
			status = CLI_FAILED;
	if (is_json)
		cli_out_text(&verify.out, "\n]}\n");
	free(verify.seen);
	return cli_out_finish(&verify.out, "standard output", status);
}
