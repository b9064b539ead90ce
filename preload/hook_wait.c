/*
 * Hooks of waits that are no locks: semaphores, barriers, joins, sleeps.
 *
 * In: calls of the program. Out: ThreadPark and ThreadSleep events. Most are cancellation points:
 * nothing of ours is open while the real function runs. Never here: the object's memory after the
 * real call (a barrier or semaphore may be destroyed by then).
 */
#include "preload/lock_wait.h"
#include "preload/real.h"

#define NS_PER_SECOND 1000000000ll
#define KEPT static __attribute__((noinline))

/* --- semaphores --------------------------------------------------------------------------------
 */

/*
 * Whether a wait would return at once: glibc's sem_t begins with the value. Only looked at: the
 * real function takes it, since it is a cancellation point even then.
 */
static inline bool is_free(sem_t *sem)
{
	return __atomic_load_n((const uint32_t *)(const void *)sem, __ATOMIC_RELAXED) != 0;
}

KEPT int sem_wait_recorded(sem_t *sem)
{
	uint64_t start = rec_clock_now();
	int result = pre_real.sem_wait(sem);

	pre_park_end(EV_NAME_sem, (uintptr_t)sem, start, NULL, CLOCK_REALTIME);
	return result;
}

PRE_HOOK int sem_wait(sem_t *sem)
{
	if (pre_lock_mode() == REC_LOCK_OFF || is_free(sem))
		return pre_real.sem_wait(sem);
	return sem_wait_recorded(sem);
}

KEPT int sem_timedwait_recorded(sem_t *sem, const struct timespec *until)
{
	uint64_t start = rec_clock_now();
	int result = pre_real.sem_timedwait(sem, until);

	if (result == 0 || errno != EINVAL)
		pre_park_end(EV_NAME_sem, (uintptr_t)sem, start, until, CLOCK_REALTIME);
	return result;
}

PRE_HOOK int sem_timedwait(sem_t *sem, const struct timespec *until)
{
	if (pre_lock_mode() == REC_LOCK_OFF || is_free(sem))
		return pre_real.sem_timedwait(sem, until);
	return sem_timedwait_recorded(sem, until);
}

KEPT int sem_clockwait_recorded(sem_t *sem, clockid_t clock, const struct timespec *until)
{
	uint64_t start = rec_clock_now();
	int result = pre_real.sem_clockwait(sem, clock, until);

	if (result == 0 || errno != EINVAL)
		pre_park_end(EV_NAME_sem, (uintptr_t)sem, start, until, clock);
	return result;
}

PRE_HOOK int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until)
{
	if (pre_lock_mode() == REC_LOCK_OFF || is_free(sem))
		return pre_real.sem_clockwait(sem, clock, until);
	return sem_clockwait_recorded(sem, clock, until);
}

/* --- barriers, joins ----------------------------------------------------------------------------
 */

KEPT int barrier_wait_recorded(pthread_barrier_t *barrier)
{
	uint64_t start = rec_clock_now();
	int result = pre_real.pthread_barrier_wait(barrier);

	pre_park_end(EV_NAME_pthread_barrier, (uintptr_t)barrier, start, NULL, CLOCK_REALTIME);
	return result;
}

PRE_HOOK int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	if (pre_lock_mode() == REC_LOCK_OFF)
		return pre_real.pthread_barrier_wait(barrier);
	return barrier_wait_recorded(barrier);
}

/* A join that found no thread to wait for is no wait. */
static void join_end(int result, pthread_t thread, uint64_t start, const struct timespec *until,
		     clockid_t clock)
{
	if (result == 0 || result == ETIMEDOUT)
		pre_park_end(EV_NAME_pthread, (uint64_t)thread, start, until, clock);
}

KEPT int join_recorded(pthread_t thread, void **value)
{
	uint64_t start = rec_clock_now();
	int result = pre_real.pthread_join(thread, value);

	join_end(result, thread, start, NULL, CLOCK_REALTIME);
	return result;
}

PRE_HOOK int pthread_join(pthread_t thread, void **value)
{
	if (pre_lock_mode() == REC_LOCK_OFF)
		return pre_real.pthread_join(thread, value);
	return join_recorded(thread, value);
}

KEPT int timedjoin_recorded(pthread_t thread, void **value, const struct timespec *until)
{
	uint64_t start = rec_clock_now();
	int result = pre_real.pthread_timedjoin_np(thread, value, until);

	join_end(result, thread, start, until, CLOCK_REALTIME);
	return result;
}

PRE_HOOK int pthread_timedjoin_np(pthread_t thread, void **value, const struct timespec *until)
{
	if (pre_lock_mode() == REC_LOCK_OFF)
		return pre_real.pthread_timedjoin_np(thread, value, until);
	return timedjoin_recorded(thread, value, until);
}

KEPT int clockjoin_recorded(pthread_t thread, void **value, clockid_t clock,
			    const struct timespec *until)
{
	uint64_t start = rec_clock_now();
	int result = pre_real.pthread_clockjoin_np(thread, value, clock, until);

	join_end(result, thread, start, until, clock);
	return result;
}

PRE_HOOK int pthread_clockjoin_np(pthread_t thread, void **value, clockid_t clock,
				  const struct timespec *until)
{
	if (pre_lock_mode() == REC_LOCK_OFF)
		return pre_real.pthread_clockjoin_np(thread, value, clock, until);
	return clockjoin_recorded(thread, value, clock, until);
}

KEPT int thrd_join_recorded(thrd_t thread, int *value)
{
	uint64_t start = rec_clock_now();
	int result = pre_real.thrd_join(thread, value);

	join_end(result == thrd_success ? 0 : ESRCH, thread, start, NULL, CLOCK_REALTIME);
	return result;
}

PRE_HOOK int thrd_join(thrd_t thread, int *value)
{
	if (pre_lock_mode() == REC_LOCK_OFF)
		return pre_real.thrd_join(thread, value);
	return thrd_join_recorded(thread, value);
}

/* --- sleeps -------------------------------------------------------------------------------------
 */

static int64_t asked_ns(const struct timespec *time)
{
	int64_t ns;

	if (__builtin_mul_overflow((int64_t)time->tv_sec, NS_PER_SECOND, &ns) ||
	    __builtin_add_overflow(ns, (int64_t)time->tv_nsec, &ns))
		return INT64_MAX;
	return ns;
}

/*
 * What was asked for, read after the real call: by then the kernel has found the pointer good.
 * Where `time` and `rest` are one object, an interrupted call has put the rest there: then it is
 * what passed plus that.
 */
static int64_t asked_after(const struct timespec *time, const struct timespec *rest,
			   bool is_interrupted, uint64_t start)
{
	int64_t ns = asked_ns(time);

	if (is_interrupted && time == rest)
		ns += (int64_t)rec_clock_span_ns(&rec_family.header->clock,
						 rec_clock_now() - start);
	return ns;
}

KEPT int nanosleep_recorded(const struct timespec *time, struct timespec *rest)
{
	uint64_t start = rec_clock_now();
	int result = pre_real.nanosleep(time, rest);

	if (result == 0 || errno == EINTR)
		pre_sleep_end(start, asked_after(time, rest, result != 0, start));
	return result;
}

PRE_HOOK int nanosleep(const struct timespec *time, struct timespec *rest)
{
	if (pre_lock_mode() == REC_LOCK_OFF)
		return pre_real.nanosleep(time, rest);
	return nanosleep_recorded(time, rest);
}

KEPT int clock_nanosleep_recorded(clockid_t clock, int flags, const struct timespec *time,
				  struct timespec *rest)
{
	struct timespec now = { 0, 0 };
	int saved = errno;
	uint64_t start;
	int result;

	if ((flags & TIMER_ABSTIME) && clock_gettime(clock, &now) != 0)
		errno = saved;
	start = rec_clock_now();
	result = pre_real.clock_nanosleep(clock, flags, time, rest);
	if (result != 0 && result != EINTR)
		return result;
	/* An absolute sleep never writes the rest. */
	int64_t ns = flags & TIMER_ABSTIME ? asked_ns(time) - asked_ns(&now)
					   : asked_after(time, rest, result != 0, start);

	pre_sleep_end(start, ns > 0 ? ns : 0);
	return result;
}

PRE_HOOK int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
			     struct timespec *rest)
{
	if (pre_lock_mode() == REC_LOCK_OFF)
		return pre_real.clock_nanosleep(clock, flags, time, rest);
	return clock_nanosleep_recorded(clock, flags, time, rest);
}

KEPT int usleep_recorded(useconds_t time)
{
	uint64_t start = rec_clock_now();
	int result = pre_real.usleep(time);

	pre_sleep_end(start, (int64_t)time * 1000);
	return result;
}

PRE_HOOK int usleep(useconds_t time)
{
	if (pre_lock_mode() == REC_LOCK_OFF)
		return pre_real.usleep(time);
	return usleep_recorded(time);
}

KEPT unsigned sleep_recorded(unsigned seconds)
{
	uint64_t start = rec_clock_now();
	unsigned rest = pre_real.sleep(seconds);

	pre_sleep_end(start, (int64_t)seconds * NS_PER_SECOND);
	return rest;
}

PRE_HOOK unsigned sleep(unsigned seconds)
{
	if (pre_lock_mode() == REC_LOCK_OFF)
		return pre_real.sleep(seconds);
	return sleep_recorded(seconds);
}

KEPT int thrd_sleep_recorded(const struct timespec *time, struct timespec *rest)
{
	uint64_t start = rec_clock_now();
	int result = pre_real.thrd_sleep(time, rest);

	/* -1: interrupted; other negative values: refused. */
	if (result == 0 || result == -1)
		pre_sleep_end(start, asked_after(time, rest, result != 0, start));
	return result;
}

PRE_HOOK int thrd_sleep(const struct timespec *time, struct timespec *rest)
{
	if (pre_lock_mode() == REC_LOCK_OFF)
		return pre_real.thrd_sleep(time, rest);
	return thrd_sleep_recorded(time, rest);
}
