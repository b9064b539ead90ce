/*
 * Finds the path by which the program was started (executable.h).
 *
 * In: AT_EXECFN, which may be a link, relative, or a script; /proc/self/exe, which is the file
 * itself. Out: the former where it names the same file, else the latter.
 */
#include "preload/executable.h"

#include <sys/auxv.h>
#include <sys/stat.h>

#include "recorder/base/util.h"
#include "recorder/sys/raw.h"

static bool same_file(const char *one, const char *other)
{
	struct stat a, b;

	return raw_syscall6(SYS_newfstatat, -100 /* AT_FDCWD */, (long)one, (long)&a, 0, 0, 0) ==
		       0 &&
	       raw_syscall6(SYS_newfstatat, -100, (long)other, (long)&b, 0, 0, 0) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

size_t pre_executable(char *path, size_t size)
{
	const char *started = (const char *)getauxval(AT_EXECFN);
	size_t length = started ? strlen(started) : 0;
	long used = 0;

	if (length > 0 && *started != '/')
		used = raw_syscall3(SYS_getcwd, (long)path, (long)size - 1, 0);
	if (length > 0 && used >= 0 && (size_t)used + length < size) {
		if (used > 0)
			path[used - 1] = '/'; /* getcwd counts its NUL */
		memcpy(path + used, started, length + 1);
		if (same_file(path, "/proc/self/exe"))
			return (size_t)used + length;
	}
	used = raw_readlink("/proc/self/exe", path, size - 1);
	path[used > 0 ? used : 0] = 0;
	return used > 0 ? (size_t)used : 0;
}
