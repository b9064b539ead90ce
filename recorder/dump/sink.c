/*
 * Creating, syncing and renaming the file of a dump, by raw system calls.
 *
 * In: bytes and names. Out: a file that is whole or absent. A file is never opened under a name
 * that somebody else may have put there: O_EXCL, O_NOFOLLOW, 0600, and a rename that replaces
 * nothing unless told to.
 */
#include "recorder/dump/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "recorder/base/text.h"
#include "recorder/dump/dump_text.h"
#include "recorder/sys/raw.h"

#define NAME_TRIES 1000
#define NOREPLACE 1u /* RENAME_NOREPLACE */

static int fail(struct rec_sink *sink, const char *what, const char *path, int error)
{
	struct text text = text_init(sink->error, sizeof(sink->error));
	const char *reason = strerrordesc_np(error);

	if (sink->code)
		return sink->code;
	text_put(&text, what);
	text_put(&text, " ");
	text_put(&text, path);
	text_put(&text, ": ");
	text_put(&text, reason ? reason : "unknown error");
	if (error == ENOSPC || error == EDQUOT || error == EFBIG)
		sink->code = HOLTER_E_NOSPACE;
	else if (error == EACCES || error == EPERM || error == EROFS)
		sink->code = HOLTER_E_PERMISSION;
	else
		sink->code = HOLTER_E_WRITE;
	return sink->code;
}

/* Makes the folders in front of the last '/' of `path`; what exists is fine. 0 or errno. */
static int make_parents(char *path)
{
	int error = 0;

	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		long result = raw_syscall3(SYS_mkdir, (long)path, 0755, 0);
		*slash = '/';
		error = result == 0 || result == -EEXIST ? 0 : (int)-result;
	}
	/* A folder that exists but may not be made again (EACCES, EROFS) shows when the file is. */
	return error == EACCES || error == EROFS || error == EPERM ? 0 : error;
}

/* folder/.holter-PID-TIME.tmp beside sink->path; false when it does not fit. */
static bool name_temporary(struct rec_sink *sink)
{
	struct text text = text_init(sink->temporary, sizeof(sink->temporary));
	const char *slash = strrchr(sink->path, '/');
	struct timespec now = { 0, 0 };

	raw_syscall3(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0);
	for (const char *at = sink->path; slash && at <= slash; at++) {
		char piece[2] = { *at, 0 };

		text_put(&text, piece);
	}
	text_put(&text, ".holter-");
	text_put_u64(&text, (uint64_t)raw_gettid());
	text_put(&text, "-");
	text_put_u64(&text, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
	text_put(&text, ".tmp");
	return !text.is_cut;
}

/* Creates the temporary file of sink->path. 0 or errno. */
static int create(struct rec_sink *sink)
{
	int error = make_parents(sink->path);

	if (error)
		return error;
	for (int i = 0; i < 10; i++) {
		if (!name_temporary(sink))
			return ENAMETOOLONG;
		sink->fd = raw_open(sink->temporary,
				    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (sink->fd != -EEXIST)
			break;
	}
	return sink->fd < 0 ? -sink->fd : 0;
}

static void put_file_name(struct text *text, const char *program)
{
	for (int i = 0; i < 64 && program[i]; i++) {
		char piece[2] = { program[i], 0 };

		if ((unsigned char)piece[0] <= ' ' || piece[0] == '/' || piece[0] == 0x7f)
			piece[0] = '_';
		text_put(text, piece);
	}
}

/* directory/holter-PROGRAM-PID-TIME[-NUMBER].jfr[.lz4] into sink->path; false when too long. */
static bool name_default(struct rec_sink *sink, const struct rec_sink_name *name,
			 const char *directory, uint32_t number)
{
	struct text text = text_init(sink->path, sizeof(sink->path));

	text_put(&text, directory[0] ? directory : ".");
	text_put(&text, "/holter-");
	put_file_name(&text, name->program);
	text_put(&text, "-");
	text_put_u64(&text, name->pid);
	text_put(&text, "-");
	rec_text_utc(&text, name->epoch_seconds);
	if (number > 1) {
		text_put(&text, "-");
		text_put_u64(&text, number);
	}
	text_put(&text, name->is_compressed ? ".jfr.lz4" : ".jfr");
	return !text.is_cut;
}

/* A name of the user's: refused early when it exists and may not be replaced, or is a folder. */
static int open_named(struct rec_sink *sink, const struct rec_sink_name *name)
{
	struct text text = text_init(sink->path, sizeof(sink->path));
	size_t length = strlen(name->path);
	int error;

	text_put(&text, name->path);
	if (text.is_cut)
		return fail(sink, "cannot write", "(file name)", ENAMETOOLONG);
	if (length == 0 || name->path[length - 1] == '/')
		return fail(sink, "cannot write", name->path, length ? EISDIR : ENOENT);
	if (!name->force &&
	    raw_syscall6(SYS_faccessat, AT_FDCWD, (long)sink->path, 0, 0, 0, 0) == 0)
		return fail(sink, "cannot write", sink->path, EEXIST);
	error = create(sink);
	return error ? fail(sink, "cannot create a file beside", sink->path, error) : 0;
}

int rec_sink_open(struct rec_sink *sink, const struct rec_sink_name *name)
{
	int error, second;

	sink->fd = -1;
	sink->code = 0;
	sink->bytes = 0;
	sink->error[0] = sink->path[0] = sink->temporary[0] = 0;
	if (name->path)
		return open_named(sink, name);
	error = name_default(sink, name, name->directory, 1) ? create(sink) : ENAMETOOLONG;
	if (error == 0)
		return 0;
	if (error == ENOSPC || error == EDQUOT || error == EMFILE || error == ENFILE)
		return fail(sink, "cannot create a file in", name->directory, error);
	name_default(sink, name, "/tmp", 1);
	second = create(sink);
	return second ? fail(sink, "cannot create a file in /tmp nor in", name->directory, error)
		      : 0;
}

int rec_sink_write(struct rec_sink *sink, const void *bytes, uint64_t count)
{
	const uint8_t *at = bytes;

	while (count > 0 && !sink->code) {
		long got = raw_write(sink->fd, at, count);

		if (got == -EINTR)
			continue;
		if (got <= 0)
			return fail(sink, "cannot write", sink->path, got ? (int)-got : ENOSPC);
		at += got;
		count -= (uint64_t)got;
		sink->bytes += (uint64_t)got;
	}
	return sink->code;
}

int rec_sink_patch(struct rec_sink *sink, uint64_t offset, const void *bytes, uint64_t count)
{
	const uint8_t *at = bytes;

	while (count > 0 && !sink->code) {
		long got = raw_syscall6(SYS_pwrite64, sink->fd, (long)at, (long)count, (long)offset,
					0, 0);

		if (got == -EINTR)
			continue;
		if (got <= 0)
			return fail(sink, "cannot write", sink->path, got ? (int)-got : ENOSPC);
		at += got;
		offset += (uint64_t)got;
		count -= (uint64_t)got;
	}
	return sink->code;
}

/* Renames without replacing. 0 or errno. Old kernels and some file systems cannot: link, unlink. */
static int rename_new(const char *from, const char *to)
{
	long result =
		raw_syscall6(SYS_renameat2, AT_FDCWD, (long)from, AT_FDCWD, (long)to, NOREPLACE, 0);

	if (result == -EINVAL || result == -ENOSYS) {
		result = raw_syscall3(SYS_link, (long)from, (long)to, 0);
		if (result == 0)
			raw_syscall3(SYS_unlink, (long)from, 0, 0);
		else if (result == -EPERM || result == -EOPNOTSUPP)
			result = raw_syscall3(SYS_rename, (long)from, (long)to, 0);
	}
	return (int)-result;
}

static int rename_final(struct rec_sink *sink, const struct rec_sink_name *name)
{
	char directory[REC_SINK_PATH];
	char *slash;
	int error;

	if (name->path && name->force)
		return (int)-raw_syscall3(SYS_rename, (long)sink->temporary, (long)sink->path, 0);
	error = rename_new(sink->temporary, sink->path);
	if (name->path)
		return error;
	memcpy(directory, sink->path, sizeof(directory));
	slash = strrchr(directory, '/');
	if (slash)
		*slash = 0;
	for (uint32_t i = 2; error == EEXIST && i < NAME_TRIES; i++) {
		if (!name_default(sink, name, directory, i))
			return ENAMETOOLONG;
		error = rename_new(sink->temporary, sink->path);
	}
	return error;
}

/* So that the name survives a crash of the machine too. Errors do not matter: the file is there. */
static void sync_directory(const struct rec_sink *sink)
{
	char directory[REC_SINK_PATH];
	char *slash;
	int fd;

	memcpy(directory, sink->path, sizeof(directory));
	slash = strrchr(directory, '/');
	if (slash)
		slash[slash == directory] = 0;
	fd = raw_open(slash ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	raw_syscall3(SYS_fsync, fd, 0, 0);
	raw_close(fd);
}

int rec_sink_commit(struct rec_sink *sink, const struct rec_sink_name *name)
{
	long result;
	int error;

	if (sink->code)
		goto out;
	do {
		result = raw_syscall3(SYS_fsync, sink->fd, 0, 0);
	} while (result == -EINTR);
	if (result && result != -EINVAL && result != -EROFS) {
		fail(sink, "cannot write", sink->path, (int)-result);
		goto out;
	}
	error = rename_final(sink, name);
	if (error)
		fail(sink, "cannot write", sink->path, error);
out:
	if (sink->code) {
		rec_sink_abort(sink);
		return sink->code;
	}
	raw_close(sink->fd);
	sink->fd = -1;
	sync_directory(sink);
	return 0;
}

void rec_sink_abort(struct rec_sink *sink)
{
	if (sink->fd < 0)
		return;
	raw_close(sink->fd);
	raw_syscall3(SYS_unlink, (long)sink->temporary, 0, 0);
	sink->fd = -1;
}
