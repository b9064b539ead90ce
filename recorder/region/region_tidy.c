/*
 * Bounds what programs leave behind that were killed while nobody led them (region.h).
 *
 * In: the region files of this user. Out: at most one of them removed. Never here: regions of which
 * any process, or the leader, may still live.
 */
#include <errno.h>

#include "recorder/region/region_folder.h"
#include "recorder/region/tables.h"
#include "recorder/sys/raw.h"

struct dead_regions {
	uint32_t owner;
	uint32_t count;
	int64_t oldest_ns;
	char oldest[REC_PATH_MAX];
};

static bool is_gone(uint32_t pid)
{
	return pid == 0 || raw_syscall3(SYS_kill, pid, 0, 0) == -ESRCH;
}

static bool family_is_gone(int fd, const struct rec_layout *layout)
{
	uint32_t pids[REC_PROCESS_MAX];
	uint32_t pid, count;

	if (raw_pread(fd, &pid, sizeof(pid), offsetof(struct rec_header, root_pid)) !=
		    sizeof(pid) ||
	    !is_gone(pid) ||
	    raw_pread(fd, &pid, sizeof(pid), offsetof(struct rec_header, lease.pid)) !=
		    sizeof(pid) ||
	    !is_gone(pid))
		return false;
	count = rec_folder_pids(fd, layout, pids);
	for (uint32_t i = 0; i < count; i++)
		if (!is_gone(pids[i]))
			return false;
	return true;
}

static int note_dead(const char *path, void *context)
{
	struct dead_regions *dead = context;
	struct rec_layout layout;
	struct stat status;
	int fd = rec_folder_open(path, &layout, &status);
	int64_t ns;

	if (fd < 0)
		return 0;
	ns = status.st_mtim.tv_sec * 1000000000ll + status.st_mtim.tv_nsec;
	if (status.st_uid == dead->owner && family_is_gone(fd, &layout)) {
		if (dead->count++ == 0 || ns < dead->oldest_ns) {
			dead->oldest_ns = ns;
			memcpy(dead->oldest, path, REC_PATH_MAX);
		}
	}
	raw_close(fd);
	return 0;
}

static int count_file(const char *path, void *context)
{
	uint32_t *left = context;

	(void)path;
	return (*left)-- == 0;
}

int rec_region_tidy(uint32_t keep)
{
	struct dead_regions dead = { .count = 0 };
	uint32_t left = keep;

	/* Usually there are few files, and none needs to be opened to know that. */
	if (!rec_folder_each(count_file, &left))
		return 0;

	dead.owner = (uint32_t)raw_syscall3(SYS_geteuid, 0, 0, 0);
	rec_folder_each(note_dead, &dead);
	if (dead.count <= keep)
		return 0;
	return raw_syscall3(SYS_unlink, (long)dead.oldest, 0, 0) == 0;
}
