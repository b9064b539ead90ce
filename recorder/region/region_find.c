/*
 * Finds the region in which a process stands (region.h), and when a process started.
 *
 * In: pids; /proc and the files /dev/shm/holter-*. Out: the path of a region. The files are only
 * read (pread, never mapped), since anybody may have laid them there. Never here: opening a region.
 */
#include "recorder/region/region.h"

#include <fcntl.h>
#include "recorder/region/path.h"
#include "recorder/region/region_folder.h"
#include "recorder/region/tables.h"
#include "recorder/sys/raw.h"

#define STAT_PPID 4
#define STAT_START_TIME 22
#define PROC_PATH_BYTES 32u

/* What is looked for. A start time of 0 was not to be had and matches any. */
struct wanted {
	uint32_t pid, ppid;
	uint64_t start_time, parent_start_time;
	uint32_t me, owner; /* users whose files count, root's besides */
	char *path;	    /* out: the region's */
};

static void proc_path(char *path, uint32_t pid, const char *file)
{
	const char *end = path + PROC_PATH_BYTES;
	char *at = path_word(path, end, "/proc/");

	at = path_number(at, end, pid, 10);
	path_word(at, end, file);
}

int rec_region_start_time(uint32_t pid, uint64_t *start_time, uint32_t *ppid)
{
	char buffer[512];
	char path[PROC_PATH_BYTES];
	uint64_t number = 0;
	uint32_t parent = 0;
	const char *at;
	int field = 2;

	proc_path(path, pid, "/stat");
	if (raw_read_file(path, buffer, sizeof(buffer)) <= 0)
		return HOLTER_E_NO_PROCESS;
	/* The second field is a name in brackets that may itself contain brackets and blanks. */
	at = strrchr(buffer, ')');
	if (!at)
		return HOLTER_E_NO_PROCESS;
	for (; *at != 0 && field < STAT_START_TIME; at++) {
		if (*at == ' ') {
			field++;
			number = 0;
		} else if (field == STAT_PPID && *at >= '0' && *at <= '9') {
			number = number * 10 + (uint64_t)(*at - '0');
			parent = (uint32_t)number;
		}
	}
	number = 0;
	for (; *at >= '0' && *at <= '9'; at++)
		number = number * 10 + (uint64_t)(*at - '0');
	if (field != STAT_START_TIME || *at != ' ')
		return HOLTER_E_NO_PROCESS;
	*start_time = number;
	*ppid = parent;
	return 0;
}

/* Does the entry of that index, with a matching pid, have the right start time? */
static int entry_matches(int fd, const struct rec_layout *layout, uint32_t index,
			 uint64_t start_time)
{
	uint64_t at = layout->processes + (uint64_t)index * sizeof(struct rec_process) +
		      offsetof(struct rec_process, start_time);
	uint64_t stored;

	if (raw_pread(fd, &stored, sizeof(stored), (int64_t)at) != (long)sizeof(stored))
		return 0;
	return start_time == 0 || stored == start_time;
}

static int file_lists(int fd, const struct rec_layout *layout, const struct wanted *wanted)
{
	uint32_t pids[REC_PROCESS_MAX];
	uint32_t count = rec_folder_pids(fd, layout, pids);

	for (uint32_t i = 0; i < count; i++) {
		if (pids[i] == 0)
			continue;
		if (pids[i] == wanted->pid && entry_matches(fd, layout, i, wanted->start_time))
			return 1;
		if (pids[i] == wanted->ppid &&
		    entry_matches(fd, layout, i, wanted->parent_start_time))
			return 1;
	}
	return 0;
}

/* Is this file a region, of a user that counts, in which the process or its parent stands? */
static int file_matches(const char *path, void *context)
{
	struct wanted *wanted = context;
	struct rec_layout layout;
	struct stat status;
	int fd = rec_folder_open(path, &layout, &status);
	int result;

	if (fd < 0)
		return 0;
	result = (status.st_uid == 0 || status.st_uid == wanted->me ||
		  status.st_uid == wanted->owner) &&
		 file_lists(fd, &layout, wanted);
	raw_close(fd);
	if (result)
		memcpy(wanted->path, path, REC_PATH_MAX);
	return result;
}

/* For root: who owns the process, so that only this user's regions (and root's) count. */
static uint32_t process_owner(uint32_t pid, uint32_t me)
{
	struct stat status;
	char path[PROC_PATH_BYTES];

	if (me != 0)
		return me;
	proc_path(path, pid, "");
	if (raw_syscall6(SYS_newfstatat, AT_FDCWD, (long)path, (long)&status, 0, 0, 0) != 0)
		return 0;
	return status.st_uid;
}

int rec_region_find(uint32_t pid, uint64_t start_time, uint32_t ppid, char *path)
{
	struct wanted wanted = { .pid = pid, .ppid = ppid, .start_time = start_time, .path = path };
	uint32_t unused;

	if (pid == 0)
		return HOLTER_E_NOT_RECORDED;
	if (ppid == 0)
		wanted.ppid = pid;
	if (ppid == 0 || rec_region_start_time(ppid, &wanted.parent_start_time, &unused) != 0)
		wanted.parent_start_time = ppid == 0 ? start_time : 0;
	wanted.me = (uint32_t)raw_syscall3(SYS_geteuid, 0, 0, 0);
	wanted.owner = process_owner(pid, wanted.me);
	return rec_folder_each(file_matches, &wanted) ? 0 : HOLTER_E_NOT_RECORDED;
}
