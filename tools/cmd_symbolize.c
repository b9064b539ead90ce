/*
 * holter symbolize: puts names where a recording has addresses.
 *
 * In: a recording whose frames are called 0x... and whose jdk.NativeLibrary events say which files
 * were mapped. Out: the same recording: events as they were, stacks with names, lines and inlined
 * functions. Only the constants of stacks are written anew; methods and symbols are added under
 * keys that no chunk of the file uses. Never here: looking up (symbol_names.c).
 */
#include <stdlib.h>
#include <unistd.h>

#include "recorder/format/jfr.h"
#include "tools/cmd_read.h"
#include "tools/out_file.h"
#include "tools/stack_rewrite.h"

struct symbolize {
	struct cli_input input;
	struct cli_names names;
	struct cli_out_file file;
	struct cli_raw_chunk raw;
	struct cli_chunk_out chunk;
	struct cli_rewrite rewrite;
	uint64_t frame_type_key; /* above every key of a FrameType */
};

static const char *text_at(const struct holter_event *event, const char *path,
			   struct holter_value *value)
{
	if (holter_event_get(event, path, value) != 0 || value->kind != HOLTER_KIND_STRING)
		return "";
	return value->as.text.data;
}

static void raise_key(uint64_t *key, uint64_t used)
{
	if (used >= *key && used < UINT64_MAX / 2)
		*key = used + 1;
}

/* Keys of the chunk's constants that new ones must not have. */
static void note_keys(struct symbolize *symbolize)
{
	const struct cli_raw_chunk *raw = &symbolize->raw;

	raise_key(&symbolize->names.next_symbol_key, cli_rewrite_last_key(raw, "jdk.types.Symbol"));
	raise_key(&symbolize->names.next_method_key, cli_rewrite_last_key(raw, "jdk.types.Method"));
	raise_key(&symbolize->frame_type_key, cli_rewrite_last_key(raw, "jdk.types.FrameType"));
}

static void say_nothing(void *context, const struct holter_problem *problem)
{
	(void)context;
	(void)problem;
}

/* First reading: which files were mapped, which keys are taken. */
static int look_through(struct symbolize *symbolize)
{
	struct holter_reader *reader = symbolize->input.reader;
	const struct holter_event *event;
	struct holter_value path, build_id;
	int code;

	while ((code = holter_reader_next_chunk(reader)) > 0) {
		const struct holter_type *library =
			holter_reader_find_type(reader, "jdk.NativeLibrary");

		if (cli_raw_enter(&symbolize->raw, reader))
			note_keys(symbolize);
		while (library && (code = holter_reader_next_in_chunk(reader, &event)) > 0)
			if (holter_event_type(event) == library)
				cli_names_module(&symbolize->names, text_at(event, "name", &path),
						 text_at(event, "buildId", &build_id));
	}
	if (code < 0)
		return cli_read_failed(&symbolize->input, code);
	code = holter_reader_rewind(reader);
	if (code == HOLTER_E_ARGUMENT)
		return cli_failed("%s: is read twice, so it must be a file, not a pipe",
				  symbolize->input.path);
	symbolize->input.tell = say_nothing; /* it was said */
	return code ? cli_read_failed(&symbolize->input, code) : 0;
}

/* Events as they are, in the order of the file. */
static void copy_events(struct symbolize *symbolize)
{
	const struct cli_raw_chunk *raw = &symbolize->raw;
	const uint8_t *end = raw->bytes + raw->size;
	struct cli_raw_event event;

	for (const uint8_t *at = raw->bytes + JFR_HEADER_BYTES; cli_raw_event_at(at, end, &event);
	     at = event.end)
		if (event.type_id > JFR_EVENT_CHECKPOINT)
			cli_chunk_event(&symbolize->chunk, event.at,
					(size_t)(event.end - event.at));
}

static int rewrite_chunk(struct symbolize *symbolize)
{
	struct cli_out *out = &symbolize->file.out;
	const struct cli_raw_chunk *raw = &symbolize->raw;

	if (!cli_raw_enter(&symbolize->raw, symbolize->input.reader))
		return 0;
	cli_chunk_begin(&symbolize->chunk, raw);
	copy_events(symbolize);
	cli_rewrite_chunk(&symbolize->rewrite, &symbolize->names, raw, &symbolize->chunk,
			  symbolize->frame_type_key);
	cli_chunk_end(&symbolize->chunk);
	cli_out_bytes(out, symbolize->chunk.out.data, symbolize->chunk.out.used);
	return cli_out_flush(out) ? CLI_FAILED : 0;
}

/* Second reading: the chunks, with the stacks written anew. */
static int rewrite_file(struct symbolize *symbolize)
{
	int status = 0;
	int code;

	while (!status && (code = holter_reader_next_chunk(symbolize->input.reader)) > 0)
		status = rewrite_chunk(symbolize);
	if (!status && code < 0)
		status = cli_read_failed(&symbolize->input, code);
	return status;
}

static void tell_modules(const struct symbolize *symbolize)
{
	for (size_t i = 0; i < symbolize->names.module_count; i++) {
		const struct cli_module *module = &symbolize->names.modules[i];

		if (module->unresolved && !module->resolved)
			cli_warn("%s: %llu addresses keep no name: %s", module->path,
				 (unsigned long long)module->unresolved, cli_names_why(module));
	}
}

static void put_module_json(struct cli_out *out, const struct cli_module *module)
{
	const char *why = module->unresolved && !module->resolved ? cli_names_why(module) : NULL;

	cli_out_text(out, "\n    {\"path\": ");
	cli_out_json(out, module->path, strlen(module->path));
	cli_out_text(out, ", \"buildId\": ");
	cli_out_json(out, module->build_id, strlen(module->build_id));
	cli_out_text(out, ", \"resolved\": ");
	cli_out_u64(out, module->resolved);
	cli_out_text(out, ", \"unresolved\": ");
	cli_out_u64(out, module->unresolved);
	cli_out_text(out, ", \"problem\": ");
	if (why)
		cli_out_json(out, why, strlen(why));
	else
		cli_out_text(out, "null");
	cli_out_char(out, '}');
}

/* What was done, on stdout. */
static int report(const struct symbolize *symbolize, const char *output, bool is_json)
{
	const struct cli_names *names = &symbolize->names;
	struct cli_out out;
	bool is_first = true;

	if (strcmp(output, "-") == 0)
		return 0;
	cli_out_init(&out, STDOUT_FILENO, 0);
	if (!is_json) {
		cli_out_text(&out, output);
		cli_out_char(&out, '\n');
		return cli_out_finish(&out, "standard output", 0);
	}
	cli_out_text(&out, "{\n  \"output\": ");
	cli_out_json(&out, output, strlen(output));
	cli_out_text(&out, ",\n  \"modules\": [");
	for (size_t i = 0; i < names->module_count; i++) {
		if (!names->modules[i].resolved && !names->modules[i].unresolved)
			continue;
		cli_out_text(&out, is_first ? "" : ",");
		is_first = false;
		put_module_json(&out, &names->modules[i]);
	}
	cli_out_text(&out, "\n  ]\n}\n");
	return cli_out_finish(&out, "standard output", 0);
}

/* "app.jfr.lz4" -> "app-symbols.jfr.lz4". */
static char *default_output(const char *path)
{
	size_t length = strlen(path);
	size_t bytes = length + sizeof("-symbols.jfr.lz4");
	char *output = cli_alloc(bytes);
	const char *suffix = "";

	if (length > 8 && strcmp(path + length - 8, ".jfr.lz4") == 0)
		suffix = path + length - 8;
	else if (length > 4 && strcmp(path + length - 4, ".jfr") == 0)
		suffix = path + length - 4;
	snprintf(output, bytes, "%.*s-symbols%s", (int)(length - strlen(suffix)), path,
		 *suffix ? suffix : ".jfr");
	return output;
}

static int symbolize_file(struct symbolize *symbolize, const char *output, bool is_json)
{
	const struct cli_rewrite *rewrite = &symbolize->rewrite;
	int status = look_through(symbolize);

	if (status)
		return status;
	status = cli_out_file_open(&symbolize->file, output, 0);
	if (status)
		return status;
	status = rewrite_file(symbolize);
	if (!status && !symbolize->names.module_count && rewrite->addresses)
		status = cli_failed("%s: has no jdk.NativeLibrary events that say which files its "
				    "%llu addresses lie in: nothing was written",
				    symbolize->input.path, (unsigned long long)rewrite->addresses);
	else if (!status && rewrite->addresses && !rewrite->named)
		status = cli_failed("%s: none of its %llu addresses has a name here: nothing was "
				    "written",
				    symbolize->input.path, (unsigned long long)rewrite->addresses);
	if (!is_json)
		tell_modules(symbolize);
	status = cli_out_file_close(&symbolize->file, status, !status);
	return status ? status : report(symbolize, output, is_json);
}

int cli_symbolize(int argc, char **argv)
{
	struct symbolize symbolize = { .frame_type_key = 1 };
	const char *output = NULL;
	char *named = NULL;
	int is_json = 0;
	struct cli_option options[] = {
		{ "output", 'o', "FILE", "where to; default: beside it, NAME-symbols.jfr", NULL,
		  &output, NULL, NULL },
		{ "json", 0, NULL, "tell what was done, for programs", &is_json, NULL, NULL, NULL },
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
	if (!output && strcmp(path, "-") == 0)
		return cli_usage("standard input is read once only: give a file");
	status = cli_input_open(&symbolize.input, path);
	if (status)
		return status;
	if (!output)
		output = named = default_output(path);
	cli_names_init(&symbolize.names);
	symbolize.names.next_symbol_key = symbolize.names.next_method_key = 1;
	status = symbolize_file(&symbolize, output, is_json);
	cli_names_fini(&symbolize.names);
	cli_rewrite_fini(&symbolize.rewrite);
	cli_raw_fini(&symbolize.raw);
	cli_out_free(&symbolize.chunk.out);
	free(named);
	return cli_input_close(&symbolize.input, status);
}
