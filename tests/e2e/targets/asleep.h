/*
 * How a target knows that one of its threads waits: the kernel says that it sleeps.
 *
 * In: a thread that announces itself and then calls what makes it wait, and sleeps nowhere between.
 * Out: waiting for that, without relying on time passing.
 */
#ifndef HOLTER_TESTS_ASLEEP_H
#define HOLTER_TESTS_ASLEEP_H

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>

#include "tests/e2e/targets/truth.h"

/* Set by a thread just before it waits; one at a time. */
static volatile int asleep_tid;

static inline __attribute__((unused)) void asleep_soon(void)
{
	asleep_tid = (int)syscall(SYS_gettid);
}

/* State letter of a thread of this process; 0 when it is gone. By raw calls: they make no event. */
static inline __attribute__((unused)) char asleep_state(int tid)
{
	char path[64], text[256];
	long fd, n;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY, 0);
	if (fd < 0)
		return 0;
	n = syscall(SYS_read, fd, text, sizeof(text) - 1);
	syscall(SYS_close, fd);
	if (n <= 0)
		return 0;
	text[n] = 0;
	const char *end = strrchr(text, ')');

	return end ? end[2] : 0;
}

/* Waits until the thread that announced itself sleeps; forgets it. */
static inline __attribute__((unused)) void asleep_wait(void)
{
	while (asleep_tid == 0 || asleep_state(asleep_tid) != 'S')
		sched_yield();
	asleep_tid = 0;
}

/* Passes some time without a hooked call. */
static inline __attribute__((unused)) void asleep_pass_ms(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	while (syscall(SYS_nanosleep, &time, &time) != 0 && errno == EINTR)
		;
}

/* The time of a clock, `ms` from now. */
static inline __attribute__((unused)) struct timespec asleep_until(clockid_t clock, long ms)
{
	struct timespec time;

	clock_gettime(clock, &time);
	time.tv_sec += ms / 1000;
	time.tv_nsec += ms % 1000 * 1000000;
	if (time.tv_nsec >= 1000000000) {
		time.tv_nsec -= 1000000000;
		time.tv_sec++;
	}
	return time;
}

#endif
