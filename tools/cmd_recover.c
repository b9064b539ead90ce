/*
 * holter recover: files from the regions of families that are dead.
 *
 * In: regions without a living process. Out: a file each, its name on stdout; the region is removed
 * once its file is written. A leader that is at it just now is waited for.
 */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "recorder/base/text.h"
#include "recorder/region/region.h"
#include "tools/cmd.h"
#include "tools/cmd_dump.h"
#include "tools/cmd_region.h"

#define LEADER_WAIT_NS 30000000000ull

struct recovery {
	struct cli_dump dump;
	int keep, clean;
	const char *who;   /* NULL: all */
	uint32_t pid;	   /* when `who` is a number */
	int found, failed; /* regions of dead families; those that could not be recovered */
	int living;	   /* regions that matched, but whose family lives */
	int led;	   /* a leader wrote the dump meanwhile */
};

static int is_wanted(const struct recovery *recovery, const char *path,
		     const struct rec_region *region)
{
	const char *base = strrchr(path, '/') + 1;

	if (!recovery->who)
		return 1;
	if (recovery->pid)
		return region && region->header->root_pid == recovery->pid;
	return strcmp(path, recovery->who) == 0 || strcmp(base, recovery->who) == 0;
}

/* The leader of a dead family writes the last dump and removes the region: let it. */
static int leader_did_it(const char *path, const struct rec_region *region)
{
	const struct timespec nap = { 0, 20000000 };
	uint64_t begin = cli_monotonic_ns();
	struct cli_family family;

	for (;;) {
		if (access(path, F_OK))
			return 1;
		cli_region_family(region, &family);
		if (!family.leader_alive || cli_monotonic_ns() > begin + LEADER_WAIT_NS)
			return 0;
		nanosleep(&nap, NULL);
	}
}

static void remove_region(struct recovery *recovery, const char *path)
{
	if (!recovery->keep && unlink(path))
		cli_warn("%s: cannot be removed", path);
}

static void recover(const char *path, int error, struct rec_region *region, void *context)
{
	struct recovery *recovery = context;
	struct cli_family family;

	if (!is_wanted(recovery, path, error ? NULL : region))
		return;
	if (error) {
		/* Other users' regions are none of ours unless they were named. */
		if (error == HOLTER_E_PERMISSION && !recovery->who)
			return;
		recovery->found++;
		if (error == HOLTER_E_REGION && recovery->clean && unlink(path) == 0)
			return;
		cli_region_error(path, error);
		recovery->failed++;
		return;
	}
	cli_region_family(region, &family);
	if (family.living) {
		recovery->living++;
		return;
	}
	recovery->found++;
	if (leader_did_it(path, region)) {
		recovery->led++;
		return;
	}
	rec_clock_adopt(&region->header->clock);
	if (cli_write_dump(region, &recovery->dump) == CLI_DONE)
		remove_region(recovery, path);
	else if (recovery->clean)
		remove_region(recovery, path);
	else
		recovery->failed++;
}

static int conclude(const struct recovery *recovery)
{
	if (recovery->led)
		cli_warn("the leader has just written %s itself, into the configured folder",
			 recovery->led == 1 ? "the last dump" : "last dumps");
	if (recovery->found || !recovery->who)
		return recovery->failed ? CLI_FAILED : CLI_DONE;
	if (recovery->living)
		return cli_failed("%s is alive: use `holter dump %s`", recovery->who,
				  recovery->who);
	return cli_failed(
		"nothing to recover of %s: it is not recorded, or its leader wrote the last "
		"dump when it died",
		recovery->who);
}

int cli_recover(int argc, char **argv)
{
	struct recovery recovery = { .dump.reason = "holter recover" };
	const struct cli_option options[] = {
		{ "output", 'o', "FILE", "the file, where one region is recovered", NULL,
		  &recovery.dump.path, NULL, NULL },
		{ "keep", 0, NULL, "leave the region where it is", &recovery.keep, NULL, NULL,
		  NULL },
		{ "clean", 0, NULL, "remove regions also where no file can be written of them",
		  &recovery.clean, NULL, NULL, NULL },
		CLI_OPTION_END,
	};
	int at = cli_options(argc, argv, options, 0);
	uint64_t pid = 0;

	if (at < 0)
		return -at;
	if (argc - at > 1)
		return cli_usage("give one process or region only");
	if (recovery.keep && recovery.clean)
		return cli_usage("--keep and --clean exclude each other");
	recovery.who = at < argc ? argv[at] : NULL;
	if (recovery.dump.path && !recovery.who)
		return cli_usage("-o needs a process or region: all of them cannot share one file");
	if (recovery.who && text_parse_u64(recovery.who, strlen(recovery.who), &pid) == 0)
		recovery.pid = (uint32_t)pid;
	cli_region_each(recover, &recovery);
	return conclude(&recovery);
}
