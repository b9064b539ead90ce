/*
 * Regions by pid, name or file (cmd_region.h).
 *
 * In: operands; /dev/shm and /proc. Out: mapped regions and messages. Everything read from a region
 * is bounded: its program may have scribbled in it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "recorder/base/text.h"
#include "recorder/engine/lease.h"
#include "recorder/region/tables.h"
#include "recorder/sys/procfs.h"
#include "tools/cmd.h"
#include "tools/cmd_region.h"

#define PREFIX "holter-"

uint64_t cli_monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int cli_region_error(const char *path, int error)
{
	if (error == HOLTER_E_PERMISSION)
		return cli_failed("%s: belongs to another user: run as that user or as root", path);
	if (error == HOLTER_E_REGION)
		return cli_failed(
			"%s: not a region of this version of Holter: use the `holter` that "
			"belongs to the recorded program's libholter.so",
			path);
	return cli_failed("%s: %s: %s", path, holter_error_text(error), strerror(errno));
}

const char *cli_region_name(const char name[16], char buffer[17])
{
	memcpy(buffer, name, 16);
	buffer[16] = 0;
	return buffer;
}

static int is_region_name(const struct dirent *entry)
{
	return strncmp(entry->d_name, PREFIX, sizeof(PREFIX) - 1) == 0;
}

int cli_region_each(cli_region_visit visit, void *context)
{
	struct dirent **entries;
	int count = scandir(CLI_SHM, &entries, is_region_name, alphasort);

	for (int i = 0; i < count; i++) {
		char path[sizeof(CLI_SHM) + 258];
		struct rec_region region;
		int error;

		snprintf(path, sizeof(path), CLI_SHM "/%s", entries[i]->d_name);
		free(entries[i]);
		error = rec_region_open(&region, path, 0);
		visit(path, error, &region, context);
		if (!error)
			rec_region_unmap(&region);
	}
	if (count >= 0)
		free(entries);
	return count < 0 ? 0 : count;
}

static uint32_t process_count(const struct rec_region *region)
{
	return (uint32_t)min_u64(region->header->process_count, REC_PROCESS_MAX);
}

/* A process of the family that is not the leader; NULL when the entry is free. */
static const struct rec_process *family_process(const struct rec_region *region, uint32_t index)
{
	const struct rec_process *process = rec_process_at(region, index);

	if (!process || !process->pid || (process->flags & REC_PROCESS_LEADER))
		return NULL;
	return process;
}

static uint64_t sum_losses(const struct rec_region *region)
{
	uint32_t threads = (uint32_t)min_u64(region->header->thread_count, REC_THREAD_MAX);
	uint64_t sum = 0;

	for (unsigned cause = 0; cause < REC_LOSS_COUNT; cause++)
		sum += region->header->loss[cause];
	for (uint32_t i = 0; i < threads; i++) {
		const struct rec_thread_entry *entry = rec_thread_at(region, i);

		/* Those of ended threads are in the header's already. */
		if (!entry || !entry->tid || entry->end_ticks)
			continue;
		for (unsigned cause = 0; cause < REC_LOSS_COUNT; cause++)
			sum += entry->loss[cause];
	}
	return sum;
}

void cli_region_family(const struct rec_region *region, struct cli_family *family)
{
	memset(family, 0, sizeof(*family));
	family->first_pid = region->header->root_pid;
	for (uint32_t i = 0; i < process_count(region); i++) {
		const struct rec_process *process = family_process(region, i);

		if (!process)
			continue;
		family->processes++;
		if (process->end_ticks || !rec_proc_alive(process->pid, process->start_time))
			continue;
		if (!family->living++)
			family->first_pid = process->pid;
	}
	family->leader_alive = rec_lease_is_held(&region->header->lease, cli_monotonic_ns(),
						 rec_lease_holder_lives);
	family->leader_pid = family->leader_alive ? region->header->lease.pid : 0;
	family->events_lost = sum_losses(region);
}

/* A search among all regions for a program's name. */
struct by_name {
	const char *name;
	char path[REC_PATH_MAX];
	uint32_t pid;
	uint32_t matches; /* regions with a living program of that name */
	char pids[256];
};

static int has_name(const struct rec_region *region, const struct rec_process *process,
		    const char *name)
{
	char executable[4096];
	const char *base;

	if (strncmp(process->name, name, sizeof(process->name) - 1) == 0 && strlen(name) < 16)
		return 1;
	if (!process->executable ||
	    rec_names_read(region, process->executable, executable, sizeof(executable)) < 0)
		return 0;
	base = strrchr(executable, '/');
	return strcmp(base ? base + 1 : executable, name) == 0;
}

static void match_region(const char *path, int error, struct rec_region *region, void *context)
{
	struct by_name *search = context;

	for (uint32_t i = 0; !error && i < process_count(region); i++) {
		const struct rec_process *process = family_process(region, i);
		size_t used = strlen(search->pids);

		if (!process || !has_name(region, process, search->name) ||
		    !rec_proc_alive(process->pid, process->start_time))
			continue;
		if (!search->matches++) {
			snprintf(search->path, sizeof(search->path), "%s", path);
			search->pid = process->pid;
		}
		snprintf(search->pids + used, sizeof(search->pids) - used, " %u", process->pid);
		/* The others of a family are in the same region. */
		return;
	}
}

static int find_by_name(const char *name, char path[REC_PATH_MAX], uint32_t *pid)
{
	struct by_name search = { .name = name };

	cli_region_each(match_region, &search);
	if (!search.matches)
		return cli_failed("no recorded program is called \"%s\": `holter ps` lists them",
				  name);
	if (search.matches > 1)
		return cli_failed("%u recorded programs are called \"%s\": give one of the pids%s",
				  search.matches, name, search.pids);
	memcpy(path, search.path, REC_PATH_MAX);
	*pid = search.pid;
	return 0;
}

struct by_root {
	uint32_t pid;
	char path[REC_PATH_MAX];
};

static void match_root(const char *path, int error, struct rec_region *region, void *context)
{
	struct by_root *search = context;

	if (!error && region->header->root_pid == search->pid)
		snprintf(search->path, sizeof(search->path), "%s", path);
}

static int no_such_process(uint32_t pid)
{
	struct by_root search = { .pid = pid };

	cli_region_each(match_root, &search);
	if (search.path[0])
		return cli_failed(
			"process %u has ended, but left its recording: use `holter recover "
			"%u`",
			pid, pid);
	return cli_failed("no process %u: `holter ps` lists what is recorded", pid);
}

static int not_recorded(uint32_t pid, const char *name)
{
	char proc[REC_PROC_PATH];
	struct stat owner;

	rec_proc_path(proc, pid, 0, "");
	if (geteuid() != 0 && stat(proc, &owner) == 0 && owner.st_uid != geteuid())
		return cli_failed("process %u (%s) belongs to another user: run as that user or as "
				  "root",
				  pid, name);
	return cli_failed("process %u (%s) is not recorded: start it with `holter run` or with "
			  "LD_PRELOAD=libholter.so",
			  pid, name);
}

static int find_by_pid(uint32_t pid, char path[REC_PATH_MAX])
{
	struct rec_proc_stat stat;
	int error;

	if (!rec_proc_stat_read(pid, 0, &stat) || !rec_proc_alive(pid, 0))
		return no_such_process(pid);
	error = rec_region_find(pid, stat.start_time, 0, path);
	return error ? not_recorded(pid, stat.name) : 0;
}

static int find_path(const char *who, char path[REC_PATH_MAX], uint32_t *pid)
{
	uint64_t number;

	if (strchr(who, '/') || strncmp(who, PREFIX, sizeof(PREFIX) - 1) == 0) {
		int length = snprintf(path, REC_PATH_MAX, "%s%s",
				      strchr(who, '/') ? "" : CLI_SHM "/", who);

		return length < (int)REC_PATH_MAX ? 0 : cli_usage("%s: not a region file", who);
	}
	if (text_parse_u64(who, strlen(who), &number))
		return find_by_name(who, path, pid);
	if (!number || number > INT32_MAX)
		return cli_usage("\"%s\" is not a process id", who);
	*pid = (uint32_t)number;
	return find_by_pid(*pid, path);
}

int cli_region_open(const char *who, int writable, struct rec_region *region, uint32_t *pid)
{
	char path[REC_PATH_MAX];
	int status, error;

	*pid = 0;
	status = find_path(who, path, pid);
	if (status)
		return status;
	errno = 0;
	error = access(path, F_OK) ? HOLTER_E_OPEN : rec_region_open(region, path, writable);
	if (error)
		return cli_region_error(path, error);
	rec_clock_adopt(&region->header->clock);
	if (!*pid) {
		struct cli_family family;

		cli_region_family(region, &family);
		*pid = family.first_pid;
	}
	return 0;
}

int cli_region_lock(const struct rec_region *region)
{
	char path[REC_PATH_MAX];
	int fd;

	memcpy(path, region->header->path, sizeof(path));
	path[sizeof(path) - 1] = 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0)
		flock(fd, LOCK_EX);
	return fd;
}
