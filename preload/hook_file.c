/*
 * Hooks of files: open family, fsync.
 *
 * In: the program's calls. Out: the real results, FileOpen, FileForce. Never here:
 * reading and writing (hook_io.c, hook_file_at.c); stdio, whose calls stay in libc.
 */
#include <fcntl.h>

#include "preload/io.h"
#include "preload/scratch.h"
#include "recorder/base/text.h"
#include "recorder/sys/raw.h"

/*
 * The open family is variadic; the mode arrives in the same register whether it was passed or not,
 * and goes on as it came: libc looks at it only where the flags say so. Hence names of our own.
 */
int pre_open(const char *path, int flags, mode_t mode) __asm__("open");
int pre_open64(const char *path, int flags, mode_t mode) __asm__("open64");
int pre_openat(int at, const char *path, int flags, mode_t mode) __asm__("openat");
int pre_openat64(int at, const char *path, int flags, mode_t mode) __asm__("openat64");

/* A path relative to a folder's descriptor, written out. */
static uint32_t string_at(struct rec_thread *thread, int at, const char *path)
{
	struct pre_scratch *scratch = pre_scratch_take();
	char name[32];
	uint32_t id = 0;
	long length;

	if (!scratch)
		return 0;
	text_u64(text_copy(name, name + sizeof(name), "/proc/self/fd/"), name + sizeof(name),
		 (uint64_t)at);
	length = raw_readlink(name, scratch->text, sizeof(scratch->text) - 2);
	if (length > 0) {
		char *end = scratch->text + sizeof(scratch->text);
		char *behind;

		scratch->text[length++] = '/';
		behind = text_copy(scratch->text + length, end, path);
		id = rec_string(thread, scratch->text, (size_t)(behind - scratch->text));
	}
	pre_scratch_give(scratch);
	return id;
}

static uint32_t path_id(struct rec_thread *thread, int at, const char *path, int error)
{
	/* The kernel may not have looked at the path: then nor do we. */
	if (!path || error == EFAULT || error == EINVAL)
		return 0;
	if (at >= 0 && path[0] != '/')
		return string_at(thread, at, path);
	return rec_string(thread, path, strnlen(path, REC_DEPOT_BYTES_MAX));
}

/* Behind a call that opens: `start` is 0 where the event is off. Returns the descriptor. */
static __attribute__((noinline)) int opened(int fd, uint64_t start, int at, const char *path,
					    int flags, enum ev_name call)
{
	int error = fd < 0 ? errno : 0;
	uint64_t end = start ? rec_clock_now() : 0;
	struct rec_thread *thread;

	if (fd >= 0)
		pre_fd_set(fd, PRE_FD_ENTRY(PRE_FD_FILE, 0, 0));
	else
		pre_failed(call, -1);
	if (start == 0 || !rec_wanted(EV_FileOpen, end - start))
		return fd;
	thread = pre_thread();
	if (thread == &rec_thread_mute || !rec_sampled(thread, EV_FileOpen))
		return fd;
	struct ev_FileOpen event = {
		.stack = rec_stack(thread, EV_FileOpen),
		.path = path_id(thread, at, path, error),
		.flags = (uint32_t)flags,
		.descriptor = (uint32_t)fd,
		.error = (uint32_t)error,
		.process = rec_process_own()->pid,
	};

	rec_emit_FileOpen(thread, start, end, &event);
	return fd;
}

static inline uint64_t start_open(void)
{
	return rec_enabled(EV_FileOpen) ? rec_clock_now() : 0;
}

PRE_SLOW int slow_open(const char *path, int flags, mode_t mode)
{
	uint64_t start = start_open();

	return opened(pre_real.open(path, flags, mode), start, AT_FDCWD, path, flags, EV_NAME_open);
}

PRE_HOOK int pre_open(const char *path, int flags, mode_t mode)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.open(path, flags, mode);
	return slow_open(path, flags, mode);
}

PRE_SLOW int slow_open64(const char *path, int flags, mode_t mode)
{
	uint64_t start = start_open();

	return opened(pre_real.open64(path, flags, mode), start, AT_FDCWD, path, flags,
		      EV_NAME_open);
}

PRE_HOOK int pre_open64(const char *path, int flags, mode_t mode)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.open64(path, flags, mode);
	return slow_open64(path, flags, mode);
}

PRE_SLOW int slow_openat(int at, const char *path, int flags, mode_t mode)
{
	uint64_t start = start_open();

	return opened(pre_real.openat(at, path, flags, mode), start, at, path, flags,
		      EV_NAME_openat);
}

PRE_HOOK int pre_openat(int at, const char *path, int flags, mode_t mode)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.openat(at, path, flags, mode);
	return slow_openat(at, path, flags, mode);
}

PRE_SLOW int slow_openat64(int at, const char *path, int flags, mode_t mode)
{
	uint64_t start = start_open();

	return opened(pre_real.openat64(at, path, flags, mode), start, at, path, flags,
		      EV_NAME_openat);
}

PRE_HOOK int pre_openat64(int at, const char *path, int flags, mode_t mode)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.openat64(at, path, flags, mode);
	return slow_openat64(at, path, flags, mode);
}

PRE_SLOW int slow_creat(const char *path, mode_t mode)
{
	uint64_t start = start_open();

	return opened(pre_real.creat(path, mode), start, AT_FDCWD, path,
		      O_CREAT | O_WRONLY | O_TRUNC, EV_NAME_creat);
}

PRE_HOOK int creat(const char *path, mode_t mode)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.creat(path, mode);
	return slow_creat(path, mode);
}

PRE_SLOW int slow_creat64(const char *path, mode_t mode)
{
	uint64_t start = start_open();

	return opened(pre_real.creat64(path, mode), start, AT_FDCWD, path,
		      O_CREAT | O_WRONLY | O_TRUNC, EV_NAME_creat);
}

PRE_HOOK int creat64(const char *path, mode_t mode)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.creat64(path, mode);
	return slow_creat64(path, mode);
}

PRE_SLOW int slow_open_2(const char *path, int flags)
{
	uint64_t start = start_open();

	return opened(pre_real.__open_2(path, flags), start, AT_FDCWD, path, flags, EV_NAME_open);
}

PRE_HOOK int __open_2(const char *path, int flags)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.__open_2(path, flags);
	return slow_open_2(path, flags);
}

PRE_SLOW int slow_open64_2(const char *path, int flags)
{
	uint64_t start = start_open();

	return opened(pre_real.__open64_2(path, flags), start, AT_FDCWD, path, flags, EV_NAME_open);
}

PRE_HOOK int __open64_2(const char *path, int flags)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.__open64_2(path, flags);
	return slow_open64_2(path, flags);
}

PRE_SLOW int slow_openat_2(int at, const char *path, int flags)
{
	uint64_t start = start_open();

	return opened(pre_real.__openat_2(at, path, flags), start, at, path, flags, EV_NAME_openat);
}

PRE_HOOK int __openat_2(int at, const char *path, int flags)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.__openat_2(at, path, flags);
	return slow_openat_2(at, path, flags);
}

PRE_SLOW int slow_openat64_2(int at, const char *path, int flags)
{
	uint64_t start = start_open();

	return opened(pre_real.__openat64_2(at, path, flags), start, at, path, flags,
		      EV_NAME_openat);
}

PRE_HOOK int __openat64_2(int at, const char *path, int flags)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.__openat64_2(at, path, flags);
	return slow_openat64_2(at, path, flags);
}

/* A stream closes its descriptor inside libc; one without descriptor sets errno when asked. */
static __attribute__((noinline)) void forget_stream(FILE *stream)
{
	int saved = errno;

	pre_fd_forget(fileno(stream));
	errno = saved;
}

PRE_HOOK int fclose(FILE *stream)
{
	if (unlikely(pre_gate_any(PRE_GATE_IO)))
		forget_stream(stream);
	return pre_real.fclose(stream);
}

PRE_HOOK int pclose(FILE *stream)
{
	if (unlikely(pre_gate_any(PRE_GATE_IO)))
		forget_stream(stream);
	return pre_real.pclose(stream);
}

PRE_HOOK FILE *freopen(const char *path, const char *mode, FILE *stream)
{
	if (unlikely(pre_gate_any(PRE_GATE_IO)))
		forget_stream(stream);
	return pre_real.freopen(path, mode, stream);
}

PRE_HOOK FILE *freopen64(const char *path, const char *mode, FILE *stream)
{
	if (unlikely(pre_gate_any(PRE_GATE_IO)))
		forget_stream(stream);
	return pre_real.freopen64(path, mode, stream);
}

static __attribute__((noinline)) void forced(int fd, uint64_t start, bool is_whole)
{
	uint64_t end = rec_clock_now();
	struct rec_thread *thread;

	if (!rec_wanted(EV_FileForce, end - start))
		return;
	thread = pre_thread();
	if (thread == &rec_thread_mute || !rec_sampled(thread, EV_FileForce))
		return;
	struct ev_FileForce event = {
		.stack = rec_stack(thread, EV_FileForce),
		.path = pre_fd_path(thread, fd, pre_fd_entry(fd)),
		.metaData = is_whole,
	};

	rec_emit_FileForce(thread, start, end, &event);
}

PRE_SLOW int slow_fsync(int fd)
{
	uint64_t start = rec_enabled(EV_FileForce) ? rec_clock_now() : 0;
	int result = pre_real.fsync(fd);

	if (result != 0)
		pre_failed(EV_NAME_fsync, fd);
	else if (start != 0)
		forced(fd, start, true);
	return result;
}

PRE_HOOK int fsync(int fd)
{
	if (likely(!pre_gate_any(PRE_GATE_FILE)))
		return pre_real.fsync(fd);
	return slow_fsync(fd);
}

PRE_SLOW int slow_fdatasync(int fd)
{
	uint64_t start = rec_enabled(EV_FileForce) ? rec_clock_now() : 0;
	int result = pre_real.fdatasync(fd);

	if (result != 0)
		pre_failed(EV_NAME_fdatasync, fd);
	else if (start != 0)
		forced(fd, start, false);
	return result;
}

PRE_HOOK int fdatasync(int fd)
{
	if (likely(!pre_gate_any(PRE_GATE_FILE)))
		return pre_real.fdatasync(fd);
	return slow_fdatasync(fd);
}
