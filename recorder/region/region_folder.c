/*
 * Goes through the region files of /dev/shm (region_folder.h).
 *
 * In: the folder, where anybody may have laid anything. Out: paths, descriptors of files that look
 * like regions. The files are only read (pread, never mapped).
 */
#include "recorder/region/region_folder.h"

#include <fcntl.h>

#include "recorder/region/path.h"
#include "recorder/sys/raw.h"

#define FOLDER "/dev/shm/"
#define FILE_PREFIX "holter-"
#define FILES_MAX 4096 /* looked at; a folder full of decoys ends here */

/* As the kernel writes it (getdents64). */
struct folder_entry {
	uint64_t inode;
	int64_t offset;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

int rec_folder_open(const char *path, struct rec_layout *layout, struct stat *status)
{
	int fd = raw_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	uint64_t start[4]; /* magic; version, chunk_max; total_bytes; memory_bytes */

	if (fd < 0)
		return fd;
	if (raw_syscall3(SYS_fstat, fd, (long)status, 0) == 0 && S_ISREG(status->st_mode) &&
	    raw_pread(fd, start, sizeof(start), 0) == (long)sizeof(start) &&
	    start[0] == REC_REGION_MAGIC && (uint32_t)start[1] == REC_REGION_VERSION &&
	    rec_layout_compute(start[3], layout) == 0 && start[2] == layout->total &&
	    (uint64_t)status->st_size == layout->total)
		return fd;
	raw_close(fd);
	return -1;
}

uint32_t rec_folder_pids(int fd, const struct rec_layout *layout, uint32_t *pids)
{
	uint32_t count;
	long bytes;

	if (raw_pread(fd, &count, sizeof(count), offsetof(struct rec_header, process_count)) !=
	    (long)sizeof(count))
		return 0;
	bytes = (long)(min_u64(count, REC_PROCESS_MAX) * sizeof(uint32_t));
	if (raw_pread(fd, pids, (size_t)bytes, (int64_t)layout->pids) != bytes)
		return 0;
	return (uint32_t)bytes / sizeof(uint32_t);
}

static int name_path(const char *name, char *path)
{
	char *at;

	if (strncmp(name, FILE_PREFIX, strlen(FILE_PREFIX)) != 0)
		return 0;
	at = path_word(path, path + REC_PATH_MAX, FOLDER);
	at = path_word(at, path + REC_PATH_MAX, name);
	return at + 1 < path + REC_PATH_MAX;
}

int rec_folder_each(int (*visit)(const char *path, void *context), void *context)
{
	uint64_t buffer[256];
	char path[REC_PATH_MAX];
	int files = 0, result = 0;
	long count;
	int fd = raw_open(FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

	if (fd < 0)
		return 0;
	while (result == 0 &&
	       (count = raw_syscall3(SYS_getdents64, fd, (long)buffer, sizeof(buffer))) > 0) {
		for (long at = 0; at < count && result == 0;) {
			const struct folder_entry *entry =
				(const void *)((const uint8_t *)buffer + at);

			at += entry->bytes;
			if (name_path(entry->name, path) && ++files <= FILES_MAX)
				result = visit(path, context);
		}
	}
	raw_close(fd);
	return result;
}
