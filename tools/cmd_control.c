/*
 * holter start, stop, configure: settings of a running program, changed in its region.
 *
 * In: a region and "key=value" words. Out: new settings in force before the command returns.
 * Commands of the same region lock its file, so that no change is lost.
 */
#include <string.h>
#include <unistd.h>

#include "recorder/engine/config.h"
#include "tools/cmd.h"
#include "tools/cmd_region.h"

static struct rec_config config;

static int apply(struct rec_region *region)
{
	int error = rec_config_apply(&config, region, NULL);

	if (error == HOLTER_E_LIMIT)
		cli_warn("the settings are in force, but too many to be kept as text");
	return CLI_DONE;
}

static int set_recording(int argc, char **argv, uint32_t recording)
{
	static const struct cli_option options[] = { CLI_OPTION_END };
	struct rec_region region;
	uint32_t pid;
	int at = cli_options(argc, argv, options, 0);
	int status, lock;

	if (at < 0)
		return -at;
	if (argc - at != 1)
		return cli_usage("give a process");
	status = cli_region_open(argv[at], 1, &region, &pid);
	if (status)
		return status;
	lock = cli_region_lock(&region);
	rec_config_load(&config, &region);
	if (config.recording == recording)
		cli_warn("process %u: %s already", pid, recording ? "is recorded" : "is stopped");
	config.recording = recording;
	status = apply(&region);
	close(lock);
	rec_region_unmap(&region);
	return status;
}

int cli_start(int argc, char **argv)
{
	return set_recording(argc, argv, 1);
}

int cli_stop(int argc, char **argv)
{
	return set_recording(argc, argv, 0);
}

/* All words are checked before one is applied. */
static int configure(struct rec_region *region, char **words)
{
	struct rec_config_report report = { 0 };

	rec_config_load(&config, region);
	for (; *words; words++)
		if (rec_config_parse(&config, *words, REC_CONFIG_STRICT | REC_CONFIG_LIVE, &report))
			return cli_usage("%s", report.text);
	return apply(region);
}

int cli_configure(int argc, char **argv)
{
	static const struct cli_option options[] = { CLI_OPTION_END };
	struct rec_region region;
	uint32_t pid;
	int at = cli_options(argc, argv, options, 0);
	int status, lock;

	if (at < 0)
		return -at;
	if (at == argc)
		return cli_usage("give a process and KEY=VALUE");
	if (strchr(argv[at], '=') && !strchr(argv[at], '/'))
		return cli_usage("give the process first, then KEY=VALUE");
	if (argc - at < 2)
		return cli_usage("give at least one KEY=VALUE (holter-settings(7) lists them)");
	status = cli_region_open(argv[at], 1, &region, &pid);
	if (status)
		return status;
	lock = cli_region_lock(&region);
	status = configure(&region, argv + at + 1);
	close(lock);
	rec_region_unmap(&region);
	return status;
}
