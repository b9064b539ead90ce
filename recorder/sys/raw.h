/*
 * System calls made directly, so that no hook, no errno and no cancellation point is met.
 *
 * Used by everything that may run inside the recorded program. Each returns the kernel's value:
 * -errno on failure. Once the program has put itself under a seccomp filter they are refused with
 * -EPERM, since a filter may end the program for a call that it does not make itself. Never here:
 * anything that allocates.
 */
#ifndef HOLTER_SYS_RAW_H
#define HOLTER_SYS_RAW_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "recorder/base/util.h"

#define RAW_EPERM 1

/* Mutable global: set by preload/hook_seccomp.c, never in the tools. */
extern bool raw_is_refused __attribute__((visibility("hidden")));

static inline bool raw_refused(void)
{
	return unlikely(__atomic_load_n(&raw_is_refused, __ATOMIC_RELAXED));
}

/* raw_kernel6(), raw_kernel3() - also under a filter: what was begun must be ended. */
static inline long raw_kernel6(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static inline long raw_kernel3(long number, long a, long b, long c)
{
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return result;
}

static inline long raw_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
	return raw_refused() ? -RAW_EPERM : raw_kernel6(number, a, b, c, d, e, f);
}

static inline long raw_syscall3(long number, long a, long b, long c)
{
	return raw_refused() ? -RAW_EPERM : raw_kernel3(number, a, b, c);
}

static inline int raw_open(const char *path, int flags, int mode)
{
	return (int)raw_syscall6(SYS_openat, -100 /* AT_FDCWD */, (long)path, flags, mode, 0, 0);
}

static inline int raw_close(int fd)
{
	return (int)raw_syscall3(SYS_close, fd, 0, 0);
}

static inline long raw_read(int fd, void *buffer, size_t count)
{
	return raw_syscall3(SYS_read, fd, (long)buffer, (long)count);
}

static inline long raw_write(int fd, const void *buffer, size_t count)
{
	return raw_syscall3(SYS_write, fd, (long)buffer, (long)count);
}

static inline long raw_pread(int fd, void *buffer, size_t count, int64_t offset)
{
	return raw_syscall6(SYS_pread64, fd, (long)buffer, (long)count, offset, 0, 0);
}

static inline long raw_readlink(const char *path, char *buffer, size_t size)
{
	return raw_syscall3(SYS_readlink, (long)path, (long)buffer, (long)size);
}

/* Returns MAP_FAILED-like values as -errno: compare with raw_is_error(). */
static inline void *raw_mmap(void *at, size_t length, int protection, int flags, int fd,
			     int64_t offset)
{
	return (void *)raw_syscall6(SYS_mmap, (long)at, (long)length, protection, flags, fd,
				    offset);
}

static inline bool raw_is_error(const void *pointer)
{
	return (uintptr_t)pointer > (uintptr_t)-4096;
}

static inline int raw_munmap(void *at, size_t length)
{
	return (int)raw_syscall3(SYS_munmap, (long)at, (long)length, 0);
}

static inline int raw_madvise(void *at, size_t length, int advice)
{
	return (int)raw_syscall3(SYS_madvise, (long)at, (long)length, advice);
}

static inline int raw_getpid(void)
{
	return (int)raw_syscall3(SYS_getpid, 0, 0, 0);
}

static inline int raw_gettid(void)
{
	return (int)raw_syscall3(SYS_gettid, 0, 0, 0);
}

static inline int raw_tgkill(int pid, int tid, int signal)
{
	return (int)raw_syscall3(SYS_tgkill, pid, tid, signal);
}

/* Shared between processes: never FUTEX_PRIVATE_FLAG, the region is. `timeout` may be NULL. */
static inline int raw_futex(const uint32_t *word, int operation, uint32_t value,
			    const void *timeout)
{
	return (int)raw_syscall6(SYS_futex, (long)word, operation, value, (long)timeout, 0, 0);
}

/*
 * raw_read_file() - reads a small file (of /proc) whole, up to `size` - 1 bytes, ends it by NUL.
 *
 * Return: bytes read, or -errno.
 */
static inline long raw_read_file(const char *path, char *buffer, size_t size)
{
	int fd = raw_open(path, 02000000 /* O_CLOEXEC */, 0);
	size_t used = 0;
	long got = 0;

	if (fd < 0)
		return fd;
	while (used + 1 < size && (got = raw_read(fd, buffer + used, size - 1 - used)) > 0)
		used += (size_t)got;
	raw_close(fd);
	buffer[used] = 0;
	return got < 0 ? got : (long)used;
}

#endif
