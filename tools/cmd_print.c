/*
 * holter print: the events of a file, as `jfr print` shows them.
 *
 * In: a recording and a filter. Out: text or JSON on stdout, in order of time within each chunk.
 * Never here: the layout (render_*.c).
 */
#include <unistd.h>

#include "recorder/base/text.h"
#include "tools/cmd_read.h"
#include "tools/render.h"

#define DEPTH_TEXT 5 /* that of jfr */
#define DEPTH_JSON 64

struct print {
	struct cli_out out;
	struct cli_render render;
	void (*one)(struct cli_render *render, const struct holter_event *event);
};

static void enter_chunk(void *context, struct holter_reader *reader)
{
	struct print *print = context;

	cli_render_enter(&print->render, reader);
}

static int print_event(void *context, const struct holter_event *event)
{
	struct print *print = context;

	print->one(&print->render, event);
	return print->out.error ? CLI_FAILED : 0;
}

static int print_file(struct cli_input *input, struct cli_filter *filter, bool is_json,
		      uint32_t depth)
{
	struct print print;
	struct cli_visitor visitor = { enter_chunk, print_event, NULL, &print };
	int status;

	cli_out_init(&print.out, STDOUT_FILENO, 0);
	cli_render_init(&print.render, &print.out, depth);
	print.one = is_json ? cli_json_event : cli_text_event;
	if (is_json)
		cli_json_begin(&print.render);
	status = cli_input_walk(input, filter, &visitor);
	if (is_json)
		cli_json_end(&print.render);
	if (!status)
		status = cli_filter_report(filter, input->reader, input->path);
	cli_render_fini(&print.render);
	return cli_out_finish(&print.out, "standard output", status);
}

int cli_print(int argc, char **argv)
{
	struct cli_filter_options chosen = { NULL, NULL, NULL, NULL, NULL, NULL, NULL };
	struct cli_input input = { .path = NULL };
	struct cli_filter filter = { .process = NULL };
	const char *depth_text = NULL;
	uint64_t depth;
	int is_json = 0;
	struct cli_option options[] = {
		CLI_FILTER_OPTIONS(chosen),
		{ "stack-depth", 0, "N", "frames shown of a stack (5, with --json 64)", NULL,
		  &depth_text, NULL, NULL },
		{ "json", 0, NULL, "as `jfr print --json`", &is_json, NULL, NULL, NULL },
		CLI_OPTION_END,
	};
	int first = cli_options(argc, argv, options, 0);
	const char *path;
	int status;

	if (first < 0)
		return -first;
	depth = is_json ? DEPTH_JSON : DEPTH_TEXT;
	if (depth_text &&
	    (text_parse_u64(depth_text, strlen(depth_text), &depth) != 0 || depth > UINT32_MAX))
		return cli_usage("--stack-depth: \"%s\" is not a number of frames", depth_text);
	path = cli_input_operand(argc, argv, first);
	if (!path)
		return CLI_USAGE;
	status = cli_input_open(&input, path);
	if (status)
		return status;
	status = cli_input_filter(&input, &chosen, &filter);
	if (!status)
		status = print_file(&input, &filter, is_json, (uint32_t)depth);
	cli_filter_fini(&filter);
	return cli_input_close(&input, status);
}
