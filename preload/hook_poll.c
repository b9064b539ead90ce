/*
 * Hooks of waiting for descriptors: poll, select and epoll families.
 *
 * In: the program's calls. Out: the real results, and holter.Poll beyond its threshold with the
 * count of ready descriptors. The event is off by default: then a call is two loads and a jump.
 */
#include "preload/call_failed.h"

#include <limits.h>

/* Recording sockets without this event is the usual case: then the event's own setting decides. */
static inline __attribute__((always_inline)) bool is_off(void)
{
	return !pre_gate_any(PRE_GATE(SOCKET) | PRE_GATE(ERROR)) ||
	       !(rec_enabled(EV_Poll) || pre_gate_any(PRE_GATE(ERROR)));
}

static int in_range(int64_t ms)
{
	return ms < INT_MAX ? (int)ms : INT_MAX;
}

/* Milliseconds of a timeout, rounded up as poll's are; -1 = for ever. Odd values are the call's
 * matter. */
static int timespec_ms(const struct timespec *time)
{
	if (!time)
		return -1;
	if (time->tv_sec < 0 || time->tv_sec > INT_MAX || time->tv_nsec < 0)
		return in_range(time->tv_sec < 0 ? 0 : INT_MAX);
	return in_range((int64_t)time->tv_sec * 1000 + (time->tv_nsec + 999999) / 1000000);
}

static int timeval_ms(const struct timeval *time)
{
	if (!time)
		return -1;
	if (time->tv_sec < 0 || time->tv_sec > INT_MAX || time->tv_usec < 0)
		return in_range(time->tv_sec < 0 ? 0 : INT_MAX);
	return in_range((int64_t)time->tv_sec * 1000 + (time->tv_usec + 999) / 1000);
}

static __attribute__((noinline)) int polled(uint64_t start, enum ev_name call, int timeout_ms,
					    int ready)
{
	uint64_t end = rec_clock_now();
	struct rec_thread *thread;

	if (ready < 0) {
		pre_failed(call, -1);
		return ready;
	}
	if (!rec_wanted(EV_Poll, end - start))
		return ready;
	thread = pre_thread();
	if (thread == &rec_thread_mute || !rec_sampled(thread, EV_Poll))
		return ready;
	struct ev_Poll event = {
		.stack = rec_stack(thread, EV_Poll),
		.call = call,
		.timeout = (uint32_t)timeout_ms,
		.ready = (uint32_t)ready,
	};

	rec_emit_Poll(thread, start, end, &event);
	return ready;
}

PRE_SLOW int slow_poll(struct pollfd *fds, nfds_t count, int timeout)
{
	uint64_t start = rec_clock_now();

	return polled(start, EV_NAME_poll, timeout, pre_real.poll(fds, count, timeout));
}

PRE_HOOK int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	if (likely(is_off()))
		return pre_real.poll(fds, count, timeout);
	return slow_poll(fds, count, timeout);
}

PRE_SLOW int slow_poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t room)
{
	uint64_t start = rec_clock_now();

	return polled(start, EV_NAME_poll, timeout, pre_real.__poll_chk(fds, count, timeout, room));
}

PRE_HOOK int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t room)
{
	if (likely(is_off()))
		return pre_real.__poll_chk(fds, count, timeout, room);
	return slow_poll_chk(fds, count, timeout, room);
}

PRE_SLOW int slow_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
			const sigset_t *mask)
{
	int ms = timespec_ms(timeout);
	uint64_t start = rec_clock_now();

	return polled(start, EV_NAME_ppoll, ms, pre_real.ppoll(fds, count, timeout, mask));
}

PRE_HOOK int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		   const sigset_t *mask)
{
	if (likely(is_off()))
		return pre_real.ppoll(fds, count, timeout, mask);
	return slow_ppoll(fds, count, timeout, mask);
}

PRE_SLOW int slow_ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
			    const sigset_t *mask, size_t room)
{
	int ms = timespec_ms(timeout);
	uint64_t start = rec_clock_now();

	return polled(start, EV_NAME_ppoll, ms,
		      pre_real.__ppoll_chk(fds, count, timeout, mask, room));
}

PRE_HOOK int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
			 const sigset_t *mask, size_t room)
{
	if (likely(is_off()))
		return pre_real.__ppoll_chk(fds, count, timeout, mask, room);
	return slow_ppoll_chk(fds, count, timeout, mask, room);
}

PRE_SLOW int slow_select(int count, fd_set *reads, fd_set *writes, fd_set *errors,
			 struct timeval *timeout)
{
	int ms = timeval_ms(timeout); /* before: the call writes what is left */
	uint64_t start = rec_clock_now();

	return polled(start, EV_NAME_select, ms,
		      pre_real.select(count, reads, writes, errors, timeout));
}

PRE_HOOK int select(int count, fd_set *reads, fd_set *writes, fd_set *errors,
		    struct timeval *timeout)
{
	if (likely(is_off()))
		return pre_real.select(count, reads, writes, errors, timeout);
	return slow_select(count, reads, writes, errors, timeout);
}

PRE_SLOW int slow_pselect(int count, fd_set *reads, fd_set *writes, fd_set *errors,
			  const struct timespec *timeout, const sigset_t *mask)
{
	int ms = timespec_ms(timeout);
	uint64_t start = rec_clock_now();

	return polled(start, EV_NAME_pselect, ms,
		      pre_real.pselect(count, reads, writes, errors, timeout, mask));
}

PRE_HOOK int pselect(int count, fd_set *reads, fd_set *writes, fd_set *errors,
		     const struct timespec *timeout, const sigset_t *mask)
{
	if (likely(is_off()))
		return pre_real.pselect(count, reads, writes, errors, timeout, mask);
	return slow_pselect(count, reads, writes, errors, timeout, mask);
}

PRE_SLOW int slow_epoll_wait(int epfd, struct epoll_event *events, int count, int timeout)
{
	uint64_t start = rec_clock_now();

	return polled(start, EV_NAME_epoll_wait, timeout,
		      pre_real.epoll_wait(epfd, events, count, timeout));
}

PRE_HOOK int epoll_wait(int epfd, struct epoll_event *events, int count, int timeout)
{
	if (likely(is_off()))
		return pre_real.epoll_wait(epfd, events, count, timeout);
	return slow_epoll_wait(epfd, events, count, timeout);
}

PRE_SLOW int slow_epoll_pwait(int epfd, struct epoll_event *events, int count, int timeout,
			      const sigset_t *mask)
{
	uint64_t start = rec_clock_now();

	return polled(start, EV_NAME_epoll_pwait, timeout,
		      pre_real.epoll_pwait(epfd, events, count, timeout, mask));
}

PRE_HOOK int epoll_pwait(int epfd, struct epoll_event *events, int count, int timeout,
			 const sigset_t *mask)
{
	if (likely(is_off()))
		return pre_real.epoll_pwait(epfd, events, count, timeout, mask);
	return slow_epoll_pwait(epfd, events, count, timeout, mask);
}

PRE_SLOW int slow_epoll_pwait2(int epfd, struct epoll_event *events, int count,
			       const struct timespec *timeout, const sigset_t *mask)
{
	int ms = timespec_ms(timeout);
	uint64_t start = rec_clock_now();

	return polled(start, EV_NAME_epoll_pwait2, ms,
		      pre_real.epoll_pwait2(epfd, events, count, timeout, mask));
}

PRE_HOOK int epoll_pwait2(int epfd, struct epoll_event *events, int count,
			  const struct timespec *timeout, const sigset_t *mask)
{
	if (likely(is_off()))
		return pre_real.epoll_pwait2(epfd, events, count, timeout, mask);
	return slow_epoll_pwait2(epfd, events, count, timeout, mask);
}
