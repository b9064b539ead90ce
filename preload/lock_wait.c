/*
 * Events of waiting (lock_wait.h).
 *
 * In: begin and end of a wait or a release. Out: records. Everything here runs only where a thread
 * waited, or where one waits for us. Never here: the real functions.
 */
#include "preload/lock_wait.h"

#define NS_PER_SECOND 1000000000ll
#define NS_PER_MS 1000000ll

/* The thread's state for recording; NULL where nothing can be recorded. */
static struct rec_thread *recording_thread(void)
{
	struct rec_thread *thread = rec_thread_self();

	if (unlikely(thread->tid == 0))
		thread = rec_thread_attach();
	return thread == &rec_thread_mute ? NULL : thread;
}

void pre_wait_begin(struct pre_wait *wait, const void *lock, uint32_t owner, bool is_held)
{
	wait->lock = lock;
	wait->owner = owner;
	wait->is_held = is_held;
	wait->start = rec_clock_now();
	wait->mark = is_held && rec_enabled(EV_LockHeld) ? pre_mark_wait(lock, wait->start) : NULL;
}

void pre_wait_end(struct pre_wait *wait, enum ev_name name, int result)
{
	uint64_t end = rec_clock_now();
	struct rec_thread *thread;

	pre_mark_done(wait->mark);
	if (!wait->is_held || result == EDEADLK || result == EINVAL ||
	    !rec_wanted(EV_MonitorEnter, end - wait->start))
		return;
	thread = recording_thread();
	if (!thread || !rec_sampled(thread, EV_MonitorEnter))
		return;
	struct ev_MonitorEnter event = {
		.stack = rec_stack(thread, EV_MonitorEnter),
		.monitorClass = name,
		.previousOwner = wait->owner,
		.address = (uintptr_t)wait->lock,
	};

	rec_emit_MonitorEnter(thread, wait->start, end, &event);
}

void pre_release_begin(struct pre_release *release, const void *lock)
{
	release->lock = lock;
	release->now = rec_clock_now();
	release->since = pre_mark_release(lock, release->now);
}

void pre_release_end(const struct pre_release *release, enum ev_name name)
{
	struct rec_thread *thread;

	if (release->since == 0 || release->since > release->now ||
	    !rec_wanted(EV_LockHeld, release->now - release->since))
		return;
	thread = recording_thread();
	if (!thread || !rec_sampled(thread, EV_LockHeld))
		return;
	struct ev_LockHeld event = {
		.stack = rec_stack(thread, EV_LockHeld),
		.lockClass = name,
		.address = (uintptr_t)release->lock,
	};

	rec_emit_LockHeld(thread, release->since, release->now, &event);
}

static int64_t timespec_ns(const struct timespec *time)
{
	int64_t ns;

	/* Programs say "for ever" by huge seconds. */
	if (__builtin_mul_overflow((int64_t)time->tv_sec, NS_PER_SECOND, &ns) ||
	    __builtin_add_overflow(ns, (int64_t)time->tv_nsec, &ns))
		return time->tv_sec < 0 ? INT64_MIN / 2 : INT64_MAX / 2;
	return ns;
}

struct pre_deadline pre_deadline(const struct timespec *until, clockid_t clock, uint64_t elapsed)
{
	struct pre_deadline deadline = { INT64_MIN, INT64_MIN };
	struct timespec now, wall;
	int64_t left;

	if (!until || !rec_family.base)
		return deadline;
	clock_gettime(clock == CLOCK_MONOTONIC ? CLOCK_MONOTONIC : CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_REALTIME, &wall);
	if (__builtin_sub_overflow(timespec_ns(until), timespec_ns(&now), &left))
		left = INT64_MAX / 2;
	deadline.until_ms = (timespec_ns(&wall) / 2 + left / 2) / (NS_PER_MS / 2);
	left += (int64_t)rec_clock_span_ns(&rec_family.header->clock, elapsed);
	deadline.timeout_ns = left > 0 ? left : 0;
	return deadline;
}

void pre_park_end(enum ev_name name, uint64_t address, uint64_t start, const struct timespec *until,
		  clockid_t clock)
{
	uint64_t end = rec_clock_now();
	struct pre_deadline deadline;
	struct rec_thread *thread;

	if (!rec_wanted(EV_ThreadPark, end - start))
		return;
	thread = recording_thread();
	if (!thread || !rec_sampled(thread, EV_ThreadPark))
		return;
	deadline = pre_deadline(until, clock, end - start);
	struct ev_ThreadPark event = {
		.stack = rec_stack(thread, EV_ThreadPark),
		.parkedClass = name,
		.timeout = (uint64_t)deadline.timeout_ns,
		.until = (uint64_t)deadline.until_ms,
		.address = address,
	};

	rec_emit_ThreadPark(thread, start, end, &event);
}

void pre_sleep_end(uint64_t start, int64_t time_ns)
{
	uint64_t end = rec_clock_now();
	struct rec_thread *thread;

	if (!rec_wanted(EV_ThreadSleep, end - start))
		return;
	thread = recording_thread();
	if (!thread || !rec_sampled(thread, EV_ThreadSleep))
		return;
	struct ev_ThreadSleep event = {
		.stack = rec_stack(thread, EV_ThreadSleep),
		.time = (uint64_t)(time_ns / NS_PER_MS),
	};

	rec_emit_ThreadSleep(thread, start, end, &event);
}
