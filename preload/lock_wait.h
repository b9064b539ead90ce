/*
 * What the lock hooks share: the events of waiting, and glibc's lock words as far as we look at
 * them.
 *
 * In: begin and end of waits, releases. Out: MonitorEnter, LockHeld, ThreadPark, ThreadSleep
 * events. Looking is all that is done to a lock here: taking and releasing it is the real
 * functions' work.
 */
#ifndef HOLTER_PRELOAD_LOCK_WAIT_H
#define HOLTER_PRELOAD_LOCK_WAIT_H

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "preload/lock_mark.h"
#include "recorder/capture/capture.h"

#define PRE_TID_MAX 4194304u /* of the kernel; above are glibc's marks for lost robust mutexes */
#define PRE_SHARED_KIND 128  /* PTHREAD_MUTEX_PSHARED_BIT in __kind */

/* A wait for a lock under way; on the waiter's stack. */
struct pre_wait {
	const void *lock;
	struct pre_mark *mark;
	uint64_t start;
	uint32_t owner;	  /* tid that held it; 0 = unknown */
	uint32_t is_held; /* 0: only timed (locks=timed), nobody seen to hold it */
};

/* A release under way. */
struct pre_release {
	const void *lock;
	uint64_t since; /* when the first waiter began; 0: nothing to tell */
	uint64_t now;
};

static inline uint32_t pre_lock_mode(void)
{
	return __atomic_load_n(&rec_live.lock_mode, __ATOMIC_RELAXED);
}

/* A tid as it stands in a lock word; 0 where it is none. */
static inline uint32_t pre_lock_tid(int word)
{
	return (uint32_t)word <= PRE_TID_MAX ? (uint32_t)word : 0;
}

static inline uint32_t pre_mutex_owner(const pthread_mutex_t *mutex)
{
	return pre_lock_tid(__atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED));
}

/**
 * pre_wait_begin() - the calling thread is going to call the real lock function.
 * @wait: out. @lock: address. @owner: tid, 0 unknown. @is_held: somebody holds it.
 *
 * pre_wait_end() - the real function returned.
 * @name: class of the lock. @result: its error; what is no wait (EDEADLK, EINVAL) is not recorded.
 *
 * Return: nothing. Context: any thread, handlers; errno untouched.
 */
void pre_wait_begin(struct pre_wait *wait, const void *lock, uint32_t owner, bool is_held);
void pre_wait_end(struct pre_wait *wait, enum ev_name name, int result);

/**
 * pre_release_begin() - the calling thread is going to release a lock that others may wait for.
 * pre_release_end() - it did; the lock's memory may be gone.
 *
 * Return: nothing. Context: as above.
 */
void pre_release_begin(struct pre_release *release, const void *lock);
void pre_release_end(const struct pre_release *release, enum ev_name name);

/* A deadline given by the program, as an event tells it. */
struct pre_deadline {
	int64_t timeout_ns; /* from the begin of the wait; INT64_MIN = none */
	int64_t until_ms;   /* since the epoch; INT64_MIN = none */
};

/**
 * pre_deadline() - what an absolute time meant when the wait began.
 * @until: NULL = no deadline. @clock: it counts on. @elapsed: ticks since the wait began.
 *
 * Return: the deadline. Context: any thread; reads a clock; errno untouched.
 */
struct pre_deadline pre_deadline(const struct timespec *until, clockid_t clock, uint64_t elapsed);

/**
 * pre_park_end() - a wait for a semaphore, a barrier or a thread is over.
 * @name: class. @address: waited for. @start: ticks. @until, @clock: as for pre_deadline().
 *
 * Return: nothing. Context: as above.
 */
void pre_park_end(enum ev_name name, uint64_t address, uint64_t start, const struct timespec *until,
		  clockid_t clock);

/* A sleep of `time_ns` (asked for) is over. Return: nothing. Context: as above. */
void pre_sleep_end(uint64_t start, int64_t time_ns);

#endif
