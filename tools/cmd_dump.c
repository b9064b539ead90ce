/*
 * holter dump: writes what a region holds to a file, by itself: no leader is needed.
 *
 * In: a region. Out: a file; its name on stdout. The region is mapped read-only.
 */
#include <string.h>

#include "recorder/dump/dump.h"
#include "recorder/engine/config.h"
#include "tools/cmd.h"
#include "tools/cmd_dump.h"
#include "tools/cmd_region.h"
#include "tools/symbolizer.h"

int cli_write_dump(struct rec_region *region, const struct cli_dump *wanted)
{
	static struct rec_dump_result result;
	static struct rec_config config;
	struct rec_dump_options options = {
		.path = wanted->path,
		.compress = -1,
		.reason = wanted->reason,
		.last_ns = wanted->last_ns,
		.symbolizer = wanted->no_symbols ? NULL : cli_symbolizer(),
		.force = 1,
	};
	int error;

	rec_config_load(&config, region);
	options.directory = config.dir[0] ? config.dir : NULL;
	memset(&result, 0, sizeof(result));
	error = rec_dump_write(region, &options, &result);
	if (error)
		return cli_failed("%s", result.error[0] ? result.error : holter_error_text(error));
	puts(result.path);
	if (result.chunks_damaged)
		cli_warn("%s: %llu damaged chunks of the region were left out", result.path,
			 (unsigned long long)result.chunks_damaged);
	return CLI_DONE;
}

int cli_dump(int argc, char **argv)
{
	struct cli_dump wanted = { .reason = "holter dump" };
	const char *last = NULL;
	const struct cli_option options[] = {
		{ "output", 'o', "FILE",
		  "the file: .jfr plain, .jfr.lz4 compressed; an old one is replaced", NULL,
		  &wanted.path, NULL, NULL },
		{ "last", 'l', "TIME", "only the events of the last TIME, like 30s", NULL, &last,
		  NULL, NULL },
		{ "no-symbols", 0, NULL, "leave addresses as numbers (faster)", &wanted.no_symbols,
		  NULL, NULL, NULL },
		CLI_OPTION_END,
	};
	struct rec_region region;
	uint32_t pid;
	int at = cli_options(argc, argv, options, 0);
	int status;

	if (at < 0)
		return -at;
	if (argc - at != 1)
		return cli_usage(argc - at ? "give one process only" : "give a process");
	if (last && cli_span("--last", last, &wanted.last_ns))
		return CLI_USAGE;
	if (last && !wanted.last_ns)
		return cli_usage("--last: 0 would leave nothing");
	status = cli_region_open(argv[at], 0, &region, &pid);
	if (status)
		return status;
	status = cli_write_dump(&region, &wanted);
	rec_region_unmap(&region);
	return status;
}
