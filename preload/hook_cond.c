/*
 * Hooks of condition variables: both ABIs of pthread_cond_*, and the C11 names.
 *
 * In: calls of the program. Out: MonitorWait events, with who signalled; LockHeld where the wait
 * released a mutex that others waited for. The object of the old ABI (GLIBC_2.2.5) has 8 bytes:
 * nothing but its address is used. A wait is a cancellation point: nothing of ours is open while
 * the real function runs. Never here: the condition's memory after the real call.
 */
#include "preload/lock_wait.h"
#include "preload/notifier.h"
#include "preload/real.h"
#include "preload/wipe.h"

#define MONOTONIC_COND 2u /* in __wrefs: made with pthread_condattr_setclock(CLOCK_MONOTONIC) */
#define KEPT static __attribute__((noinline))

/* The old ABI's names: exported as pthread_cond_*@GLIBC_2.2.5. */
PRE_HOOK int pre_cond_wait_225(pthread_cond_t *cond, pthread_mutex_t *mutex);
PRE_HOOK int pre_cond_timedwait_225(pthread_cond_t *cond, pthread_mutex_t *mutex,
				    const struct timespec *until);
PRE_HOOK int pre_cond_signal_225(pthread_cond_t *cond);
PRE_HOOK int pre_cond_broadcast_225(pthread_cond_t *cond);
PRE_HOOK int pre_cond_wait_232(pthread_cond_t *cond, pthread_mutex_t *mutex);
PRE_HOOK int pre_cond_timedwait_232(pthread_cond_t *cond, pthread_mutex_t *mutex,
				    const struct timespec *until);
PRE_HOOK int pre_cond_signal_232(pthread_cond_t *cond);
PRE_HOOK int pre_cond_broadcast_232(pthread_cond_t *cond);
__asm__(".symver pre_cond_wait_225, pthread_cond_wait@GLIBC_2.2.5, remove");
__asm__(".symver pre_cond_timedwait_225, pthread_cond_timedwait@GLIBC_2.2.5, remove");
__asm__(".symver pre_cond_signal_225, pthread_cond_signal@GLIBC_2.2.5, remove");
__asm__(".symver pre_cond_broadcast_225, pthread_cond_broadcast@GLIBC_2.2.5, remove");
__asm__(".symver pre_cond_wait_232, pthread_cond_wait@@GLIBC_2.3.2, remove");
__asm__(".symver pre_cond_timedwait_232, pthread_cond_timedwait@@GLIBC_2.3.2, remove");
__asm__(".symver pre_cond_signal_232, pthread_cond_signal@@GLIBC_2.3.2, remove");
__asm__(".symver pre_cond_broadcast_232, pthread_cond_broadcast@@GLIBC_2.3.2, remove");

struct pre_notifiers pre_notifiers __attribute__((aligned(PAGE_BYTES)));
static uint32_t notifiers_wiped;

/* A wait under way; on the waiter's stack. */
struct cond_wait {
	const void *cond;
	struct pre_release release; /* of the mutex, which the wait gives up */
	uint64_t start;
};

/* The wait releases the mutex: those who wait for it learn that now, before the real call. */
static void wait_begin(struct cond_wait *wait, const void *cond, const pthread_mutex_t *mutex)
{
	wait->cond = cond;
	wait->release.since = 0;
	if (pre_mark_any()) {
		pre_release_begin(&wait->release, mutex);
		pre_release_end(&wait->release, EV_NAME_pthread_mutex);
	}
	wait->start = rec_clock_now();
}

/* `result` is pthread's; what is no wait (EINVAL, EPERM) is not recorded. */
static void wait_end(const struct cond_wait *wait, int result, const struct timespec *until,
		     clockid_t clock)
{
	uint64_t end = rec_clock_now();
	struct rec_thread *thread = rec_thread_self();
	struct pre_deadline deadline;
	bool timed_out = result == ETIMEDOUT;

	if (result == EINVAL || result == EPERM || !rec_wanted(EV_MonitorWait, end - wait->start))
		return;
	if (thread->tid == 0)
		thread = rec_thread_attach();
	if (thread == &rec_thread_mute || !rec_sampled(thread, EV_MonitorWait))
		return;
	deadline = pre_deadline(until, clock, end - wait->start);
	struct ev_MonitorWait event = {
		.stack = rec_stack(thread, EV_MonitorWait),
		.monitorClass = EV_NAME_pthread_cond,
		.notifier = timed_out ? 0 : pre_notifier_get(wait->cond),
		.timeout = (uint64_t)(until ? (deadline.timeout_ns + 500000) / 1000000 : INT64_MIN),
		.timedOut = timed_out,
		.address = (uintptr_t)wait->cond,
	};

	rec_emit_MonitorWait(thread, wait->start, end, &event);
}

KEPT int cond_wait_recorded(int (*real)(pthread_cond_t *, pthread_mutex_t *), pthread_cond_t *cond,
			    pthread_mutex_t *mutex)
{
	struct cond_wait wait;
	int result;

	wait_begin(&wait, cond, mutex);
	result = real(cond, mutex);
	wait_end(&wait, result, NULL, CLOCK_REALTIME);
	return result;
}

PRE_HOOK int pre_cond_wait_232(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	if (pre_lock_mode() == REC_LOCK_OFF)
		return pre_real.pthread_cond_wait(cond, mutex);
	return cond_wait_recorded(pre_real.pthread_cond_wait, cond, mutex);
}

PRE_HOOK int pre_cond_wait_225(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	if (pre_lock_mode() == REC_LOCK_OFF)
		return pre_real.pre_cond_wait_225(cond, mutex);
	return cond_wait_recorded(pre_real.pre_cond_wait_225, cond, mutex);
}

KEPT int cond_timedwait_recorded(pthread_cond_t *cond, pthread_mutex_t *mutex,
				 const struct timespec *until)
{
	clockid_t clock = cond->__data.__wrefs & MONOTONIC_COND ? CLOCK_MONOTONIC : CLOCK_REALTIME;
	struct cond_wait wait;
	int result;

	wait_begin(&wait, cond, mutex);
	result = pre_real.pthread_cond_timedwait(cond, mutex, until);
	wait_end(&wait, result, until, clock);
	return result;
}

PRE_HOOK int pre_cond_timedwait_232(pthread_cond_t *cond, pthread_mutex_t *mutex,
				    const struct timespec *until)
{
	if (pre_lock_mode() == REC_LOCK_OFF)
		return pre_real.pthread_cond_timedwait(cond, mutex, until);
	return cond_timedwait_recorded(cond, mutex, until);
}

KEPT int cond_timedwait_225_recorded(pthread_cond_t *cond, pthread_mutex_t *mutex,
				     const struct timespec *until)
{
	struct cond_wait wait;
	int result;

	wait_begin(&wait, cond, mutex);
	result = pre_real.pre_cond_timedwait_225(cond, mutex, until);
	wait_end(&wait, result, until, CLOCK_REALTIME);
	return result;
}

PRE_HOOK int pre_cond_timedwait_225(pthread_cond_t *cond, pthread_mutex_t *mutex,
				    const struct timespec *until)
{
	if (pre_lock_mode() == REC_LOCK_OFF)
		return pre_real.pre_cond_timedwait_225(cond, mutex, until);
	return cond_timedwait_225_recorded(cond, mutex, until);
}

KEPT int cond_clockwait_recorded(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
				 const struct timespec *until)
{
	struct cond_wait wait;
	int result;

	wait_begin(&wait, cond, mutex);
	result = pre_real.pthread_cond_clockwait(cond, mutex, clock, until);
	wait_end(&wait, result, until, clock);
	return result;
}

PRE_HOOK int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
				    const struct timespec *until)
{
	if (pre_lock_mode() == REC_LOCK_OFF)
		return pre_real.pthread_cond_clockwait(cond, mutex, clock, until);
	return cond_clockwait_recorded(cond, mutex, clock, until);
}

/* --- signalling --------------------------------------------------------------------------------
 */

static inline void notify(const void *cond)
{
	struct rec_thread *thread = rec_thread_self();

	if (!rec_enabled(EV_MonitorWait))
		return;
	if (unlikely(thread->tid == 0))
		thread = rec_thread_attach();
	pre_wipe_on_fork(&pre_notifiers, sizeof(pre_notifiers), &notifiers_wiped);
	pre_notifier_set(cond, thread->tid);
}

KEPT int cond_signal_noted(pthread_cond_t *cond)
{
	notify(cond);
	return pre_real.pthread_cond_signal(cond);
}

PRE_HOOK int pre_cond_signal_232(pthread_cond_t *cond)
{
	if (pre_lock_mode() == REC_LOCK_OFF)
		return pre_real.pthread_cond_signal(cond);
	return cond_signal_noted(cond);
}

KEPT int cond_signal_225_noted(pthread_cond_t *cond)
{
	notify(cond);
	return pre_real.pre_cond_signal_225(cond);
}

PRE_HOOK int pre_cond_signal_225(pthread_cond_t *cond)
{
	if (pre_lock_mode() == REC_LOCK_OFF)
		return pre_real.pre_cond_signal_225(cond);
	return cond_signal_225_noted(cond);
}

KEPT int cond_broadcast_noted(pthread_cond_t *cond)
{
	notify(cond);
	return pre_real.pthread_cond_broadcast(cond);
}

PRE_HOOK int pre_cond_broadcast_232(pthread_cond_t *cond)
{
	if (pre_lock_mode() == REC_LOCK_OFF)
		return pre_real.pthread_cond_broadcast(cond);
	return cond_broadcast_noted(cond);
}

KEPT int cond_broadcast_225_noted(pthread_cond_t *cond)
{
	notify(cond);
	return pre_real.pre_cond_broadcast_225(cond);
}

PRE_HOOK int pre_cond_broadcast_225(pthread_cond_t *cond)
{
	if (pre_lock_mode() == REC_LOCK_OFF)
		return pre_real.pre_cond_broadcast_225(cond);
	return cond_broadcast_225_noted(cond);
}

/* --- C11: glibc's cnd_t is a pthread_cond_t, its functions call pthread's inside libc ------------
 */

KEPT int cnd_wait_recorded(cnd_t *cond, mtx_t *mutex)
{
	struct cond_wait wait;
	int result;

	wait_begin(&wait, cond, (pthread_mutex_t *)mutex);
	result = pre_real.cnd_wait(cond, mutex);
	wait_end(&wait, result == thrd_error ? EINVAL : 0, NULL, CLOCK_REALTIME);
	return result;
}

PRE_HOOK int cnd_wait(cnd_t *cond, mtx_t *mutex)
{
	if (pre_lock_mode() == REC_LOCK_OFF)
		return pre_real.cnd_wait(cond, mutex);
	return cnd_wait_recorded(cond, mutex);
}

KEPT int cnd_timedwait_recorded(cnd_t *cond, mtx_t *mutex, const struct timespec *until)
{
	struct cond_wait wait;
	int result;

	wait_begin(&wait, cond, (pthread_mutex_t *)mutex);
	result = pre_real.cnd_timedwait(cond, mutex, until);
	wait_end(&wait,
		 result == thrd_timedout ? ETIMEDOUT
		 : result == thrd_error	 ? EINVAL
					 : 0,
		 until, CLOCK_REALTIME);
	return result;
}

PRE_HOOK int cnd_timedwait(cnd_t *cond, mtx_t *mutex, const struct timespec *until)
{
	if (pre_lock_mode() == REC_LOCK_OFF)
		return pre_real.cnd_timedwait(cond, mutex, until);
	return cnd_timedwait_recorded(cond, mutex, until);
}

KEPT int cnd_signal_noted(cnd_t *cond)
{
	notify(cond);
	return pre_real.cnd_signal(cond);
}

PRE_HOOK int cnd_signal(cnd_t *cond)
{
	if (pre_lock_mode() == REC_LOCK_OFF)
		return pre_real.cnd_signal(cond);
	return cnd_signal_noted(cond);
}

KEPT int cnd_broadcast_noted(cnd_t *cond)
{
	notify(cond);
	return pre_real.cnd_broadcast(cond);
}

PRE_HOOK int cnd_broadcast(cnd_t *cond)
{
	if (pre_lock_mode() == REC_LOCK_OFF)
		return pre_real.cnd_broadcast(cond);
	return cnd_broadcast_noted(cond);
}
