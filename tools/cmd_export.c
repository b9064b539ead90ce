/*
 * holter export: a recording, or chosen events of it, in another form.
 *
 * In: a recording and a filter. Out: a JFR file, JSON, CSV tables or collapsed stacks, in a file or
 * on stdout. Never here: the forms themselves (chunk_raw.c, render_*.c).
 */
#include <stdlib.h>
#include <sys/stat.h>

#include "tools/chunk_raw.h"
#include "tools/cmd_read.h"
#include "tools/out_file.h"
#include "tools/render_tables.h"

#define JSON_DEPTH 64
#define NAME_BYTES 4096

struct export
{
	struct cli_input input;
	struct cli_filter filter;
	struct cli_out_file file;
	const char *output;
	uint64_t limit;
	uint64_t events;
};

/* ---- json ---- */

struct export_json {
	struct export *export;
	struct cli_render render;
};

static void enter_json(void *context, struct holter_reader *reader)
{
	struct export_json *json = context;

	cli_render_enter(&json->render, reader);
}

static int add_json(void *context, const struct holter_event *event)
{
	struct export_json *json = context;

	cli_json_event(&json->render, event);
	return json->export->file.out.error ? CLI_FAILED : 0;
}

static int export_json(struct export *export, uint32_t depth)
{
	struct export_json json = { .export = export };
	struct cli_visitor visitor = { enter_json, add_json, NULL, &json };
	int status = cli_out_file_open(&export->file, export->output, export->limit);

	if (status)
		return status;
	cli_render_init(&json.render, &export->file.out, depth);
	cli_json_begin(&json.render);
	status = cli_input_walk(&export->input, &export->filter, &visitor);
	cli_json_end(&json.render);
	cli_render_fini(&json.render);
	return cli_out_file_close(&export->file, status, true);
}

/* ---- jfr ---- */

struct export_jfr {
	struct export *export;
	struct cli_raw_chunk raw;
	struct cli_chunk_out chunk;
	struct cli_out spare; /* the first chunk without events, in case nothing is wanted */
	bool is_copied;	      /* the chunk has metadata to copy */
};

static void begin_jfr(void *context, struct holter_reader *reader)
{
	struct export_jfr *jfr = context;

	jfr->is_copied = cli_raw_enter(&jfr->raw, reader);
	if (jfr->is_copied)
		cli_chunk_begin(&jfr->chunk, &jfr->raw);
}

static int add_jfr(void *context, const struct holter_event *event)
{
	struct export_jfr *jfr = context;
	uint64_t offset = holter_event_offset(event) - jfr->raw.offset;

	if (!jfr->is_copied)
		return 0;
	jfr->export->events++;
	cli_chunk_event(&jfr->chunk, jfr->raw.bytes + offset, holter_event_size(event));
	return 0;
}

static void end_jfr(void *context)
{
	struct export_jfr *jfr = context;
	struct cli_out *out = &jfr->export->file.out;

	if (!jfr->is_copied || (!jfr->chunk.event_count && jfr->spare.used))
		return;
	for (size_t i = 0; i < jfr->raw.checkpoint_count; i++)
		cli_chunk_checkpoint(&jfr->chunk, &jfr->raw.checkpoints[i]);
	cli_chunk_end(&jfr->chunk);
	if (!jfr->chunk.event_count)
		out = &jfr->spare;
	cli_out_bytes(out, jfr->chunk.out.data, jfr->chunk.out.used);
	if (jfr->chunk.event_count)
		cli_out_flush(out);
}

static int export_jfr(struct export *export)
{
	struct export_jfr jfr = { .export = export };
	struct cli_visitor visitor = { begin_jfr, add_jfr, end_jfr, &jfr };
	int status;

	if (export->output && strcmp(export->output, "-") != 0 &&
	    !cli_is_recording_name(export->output))
		cli_warn("%s: other tools want names that end in .jfr (or .jfr.lz4, compressed)",
			 export->output);
	status = cli_out_file_open(&export->file, export->output, export->limit);
	if (status)
		return status;
	cli_out_init(&jfr.spare, -1, 0);
	export->input.is_in_file_order = true;
	status = cli_input_walk(&export->input, &export->filter, &visitor);
	if (!export->events && jfr.spare.used)
		cli_out_bytes(&export->file.out, jfr.spare.data, jfr.spare.used);
	if (!status && !export->events && !jfr.spare.used)
		status = cli_failed("%s: no chunk of it can be copied", export->input.path);
	cli_raw_fini(&jfr.raw);
	cli_out_free(&jfr.chunk.out);
	cli_out_free(&jfr.spare);
	return cli_out_file_close(&export->file, status, export->events || !status);
}

/* ---- collapsed ---- */

struct export_folded {
	struct cli_folded chosen;
	struct cli_folded samples; /* of the CPU, when nothing was chosen */
	bool has_choice;
	int value; /* enum cli_folded_value; -1: by the first event */
	uint64_t added;
	uint64_t left_out;
};

static void enter_folded(void *context, struct holter_reader *reader)
{
	struct export_folded *folded = context;

	(void)reader;
	cli_folded_enter(&folded->chosen);
	cli_folded_enter(&folded->samples);
}

static int add_folded(void *context, const struct holter_event *event)
{
	struct export_folded *folded = context;
	const struct holter_type *type = holter_event_type(event);
	bool is_sample = strcmp(holter_type_name(type), "jdk.ExecutionSample") == 0;

	if (!folded->has_choice && is_sample) {
		cli_folded_add(&folded->samples, event, CLI_FOLDED_COUNT);
		return 0;
	}
	if (folded->value < 0)
		folded->value = cli_type_has_weight(type) ? CLI_FOLDED_WEIGHT : CLI_FOLDED_COUNT;
	if (cli_folded_add(&folded->chosen, event, (enum cli_folded_value)folded->value))
		folded->added++;
	else
		folded->left_out++;
	return 0;
}

static int export_folded(struct export *export, int value)
{
	struct export_folded folded = { .has_choice = export->filter.events.text != NULL,
					.value = value };
	struct cli_visitor visitor = { enter_folded, add_folded, NULL, &folded };
	int status;

	if (!folded.has_choice)
		cli_globs_init(&export->filter.events, "profiler.Malloc,jdk.ExecutionSample");
	status = cli_out_file_open(&export->file, export->output, export->limit);
	if (status)
		return status;
	cli_folded_init(&folded.chosen);
	cli_folded_init(&folded.samples);
	export->input.is_in_file_order = true;
	status = cli_input_walk(&export->input, &export->filter, &visitor);
	cli_folded_write(folded.added || folded.has_choice ? &folded.chosen : &folded.samples,
			 &export->file.out);
	if (folded.left_out)
		cli_warn("%s: %llu events have no stack or no such value and are left out",
			 export->input.path, (unsigned long long)folded.left_out);
	if (!status && !folded.added && !folded.samples.count)
		status = cli_failed("%s: no stacks in it for that choice (--events, --value)",
				    export->input.path);
	cli_folded_fini(&folded.chosen);
	cli_folded_fini(&folded.samples);
	return cli_out_file_close(&export->file, status, true);
}

/* ---- csv ---- */

struct table {
	struct cli_csv csv;
	struct cli_out_file file;
	char *type;
	char *path;
};

struct export_csv {
	struct export *export;
	struct table **tables;
	size_t count;
	struct holter_reader *reader;
	bool is_folder;
	/* tables of the chunk's types, by index */
	struct table **by_type;
	size_t type_count;
};

static void enter_csv(void *context, struct holter_reader *reader)
{
	struct export_csv *csv = context;

	csv->reader = reader;
	csv->type_count = holter_reader_type_count(reader);
	csv->by_type = cli_realloc(csv->by_type, csv->type_count * sizeof(*csv->by_type));
	memset(csv->by_type, 0, csv->type_count * sizeof(*csv->by_type));
	for (size_t i = 0; i < csv->count; i++)
		cli_csv_enter(&csv->tables[i]->csv, reader);
}

/* FOLDER/type.csv; a type's name is from the file, so nothing in it may lead elsewhere. */
static char *table_path(const struct export_csv *csv, const char *type)
{
	size_t bytes = strlen(csv->export->output) + strlen(type) + 8;
	char *path = cli_alloc(bytes);
	size_t at = strlen(csv->export->output);

	snprintf(path, bytes, "%s/%s.csv", csv->export->output, type);
	for (at++; path[at]; at++)
		if (path[at] == '/')
			path[at] = '_';
	return path;
}

static struct table *make_table(struct export_csv *csv, const struct holter_type *type)
{
	struct table *table = cli_alloc(sizeof(*table));
	const char *path = csv->export->output;

	*table = (struct table){ .type = cli_strdup(holter_type_name(type)) };
	if (csv->is_folder)
		path = table->path = table_path(csv, table->type);
	if (cli_out_file_open(&table->file, path, csv->export->limit) != 0) {
		free(table->type);
		free(table->path);
		free(table);
		return NULL;
	}
	cli_csv_begin(&table->csv, &table->file.out, type);
	cli_csv_enter(&table->csv, csv->reader);
	csv->tables = cli_realloc(csv->tables, (csv->count + 1) * sizeof(*csv->tables));
	csv->tables[csv->count++] = table;
	return table;
}

static struct table *find_table(struct export_csv *csv, const struct holter_type *type)
{
	struct table **place = &csv->by_type[holter_type_index(type)];

	for (size_t i = 0; i < csv->count && !*place; i++)
		if (strcmp(csv->tables[i]->type, holter_type_name(type)) == 0)
			*place = csv->tables[i];
	if (*place)
		return *place;
	if (csv->count && !csv->is_folder) {
		cli_usage("a table holds one event type, and there are %s and %s: choose with "
			  "--events, or give an existing folder to -o",
			  csv->tables[0]->type, holter_type_name(type));
		return NULL;
	}
	*place = make_table(csv, type);
	return *place;
}

static int add_csv(void *context, const struct holter_event *event)
{
	struct export_csv *csv = context;
	struct table *table = find_table(csv, holter_event_type(event));

	if (!table)
		return csv->count && !csv->is_folder ? CLI_USAGE : CLI_FAILED;
	csv->export->events++;
	cli_csv_row(&table->csv, &table->file.out, event);
	return table->file.out.error ? CLI_FAILED : 0;
}

/* How many of the wanted types have events: more than one do not fit one table. */
static int check_one_type(struct export *export)
{
	const struct holter_type_count *counts;
	struct holter_totals totals;
	const char *first = NULL;
	size_t count;

	/* A pipe cannot be read twice; what does not fit is found on the way. */
	if (strcmp(export->input.path, "-") == 0)
		return 0;
	export->input.shown = CLI_WARNINGS_SHOWN;
	if (holter_reader_scan(export->input.reader) != 0)
		return 0;
	holter_reader_totals(export->input.reader, &totals);
	count = holter_reader_counts(export->input.reader, &counts);
	for (size_t i = 0; i < count; i++) {
		/* Metadata and checkpoints are counted but are no events to be shown. */
		if (!counts[i].count || strcmp(counts[i].name, "jdk.Metadata") == 0 ||
		    strcmp(counts[i].name, "jdk.CheckPoint") == 0 ||
		    !cli_globs_match_name(&export->filter.events, counts[i].name))
			continue;
		if (first)
			return cli_usage("a table holds one event type, and there are %s and %s: "
					 "choose with --events, or give an existing folder to -o",
					 first, counts[i].name);
		first = counts[i].name;
	}
	export->input.shown = 0;
	export->input.damages = 0;
	return holter_reader_rewind(export->input.reader) ? CLI_FAILED : 0;
}

static int export_csv(struct export *export)
{
	struct export_csv csv = { .export = export };
	struct cli_visitor visitor = { enter_csv, add_csv, NULL, &csv };
	struct stat stat_of;
	int status = 0;

	csv.is_folder =
		export->output && stat(export->output, &stat_of) == 0 && S_ISDIR(stat_of.st_mode);
	if (!csv.is_folder && !export->filter.categories.text)
		status = check_one_type(export);
	if (!status)
		status = cli_input_walk(&export->input, &export->filter, &visitor);
	if (!status && !csv.count)
		status = cli_failed("%s: no event of it was chosen: nothing was written",
				    export->input.path);
	for (size_t i = 0; i < csv.count; i++) {
		status = cli_out_file_close(&csv.tables[i]->file, status, status != CLI_USAGE);
		cli_csv_end(&csv.tables[i]->csv);
		free(csv.tables[i]->type);
		free(csv.tables[i]->path);
		free(csv.tables[i]);
	}
	free(csv.tables);
	free(csv.by_type);
	return status;
}

/* ---- the command ---- */

static const char *const formats[] = { "jfr", "json", "csv", "collapsed" };
static const char *const values[] = { "count", "duration", "weight", "bytes" };

/* Index of a word; -1 after a message. */
static int choose(const char *option, const char *word, const char *const *names, size_t count)
{
	const char *nearest;

	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], word) == 0)
			return (int)i;
	nearest = cli_nearest(word, names, count);
	cli_usage("%s: \"%s\" is unknown: did you mean \"%s\"?", option, word,
		  nearest ? nearest : names[0]);
	return -1;
}

static int run_export(struct export *export, int format, int value)
{
	switch (format) {
	case 0:
		return export_jfr(export);
	case 1:
		return export_json(export, JSON_DEPTH);
	case 2:
		return export_csv(export);
	default:
		return export_folded(export, value);
	}
}

/* What the options say together; CLI_USAGE after a message. */
static int check_choice(const struct export *export, const char *format, const char *value)
{
	if (!format)
		return cli_usage("--format is missing: jfr, json, csv or collapsed");
	if (value && strcmp(format, "collapsed") != 0)
		return cli_usage("--value goes with --format collapsed only");
	if (strcmp(format, "jfr") == 0 && !export->output)
		return cli_usage("--format jfr needs a file: -o FILE.jfr (-o - for standard "
				 "output)");
	return 0;
}

int cli_export(int argc, char **argv)
{
	struct cli_filter_options chosen = { .events = NULL };
	struct export export = { .events = 0 };
	const char *format = NULL;
	const char *value = NULL;
	const char *limit = NULL;
	int is_json = 0;
	struct cli_option options[] = {
		{ "format", 'f', "FORM", "jfr, json, csv or collapsed", NULL, &format, NULL, NULL },
		{ "json", 0, NULL, "short for --format json", &is_json, NULL, NULL, NULL },
		CLI_FILTER_OPTIONS(chosen),
		{ "value", 0, "VALUE", "collapsed: sum of count, duration, weight or bytes", NULL,
		  &value, NULL, NULL },
		{ "output", 'o', "FILE", "where to; csv: a folder for one file per type", NULL,
		  &export.output, NULL, NULL },
		{ "limit", 0, "SIZE", "refuse to write more than this", NULL, &limit, NULL, NULL },
		CLI_OPTION_END,
	};
	int first = cli_options(argc, argv, options, 0);
	int form, sum, status;
	const char *path;

	if (first < 0)
		return -first;
	format = !format && is_json ? "json" : format;
	status = check_choice(&export, format, value);
	if (!status && limit)
		status = cli_size("--limit", limit, &export.limit);
	path = status ? NULL : cli_input_operand(argc, argv, first);
	if (!path)
		return CLI_USAGE;
	form = choose("--format", format, formats, ARRAY_LEN(formats));
	sum = value ? choose("--value", value, values, ARRAY_LEN(values)) : -1;
	if (form < 0 || (value && sum < 0))
		return CLI_USAGE;
	status = cli_input_open(&export.input, path);
	if (status)
		return status;
	status = cli_input_filter(&export.input, &chosen, &export.filter);
	if (!status)
		status = run_export(&export, form, sum);
	if (status != CLI_USAGE && chosen.events &&
	    cli_filter_report(&export.filter, export.input.reader, path) != 0)
		status = CLI_FAILED;
	cli_filter_fini(&export.filter);
	return cli_input_close(&export.input, status);
}
