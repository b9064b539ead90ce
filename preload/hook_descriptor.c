/*
 * Hooks of what makes, copies and closes descriptors.
 *
 * In: the program's calls. Out: the real results, an up-to-date table of descriptors (fd_table.h),
 * and SocketClose. An entry is forgotten before its descriptor is closed, since another thread may
 * get the number at once. Never here: reading and writing.
 */
#include "preload/call_failed.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <netinet/in.h>
#include <sys/eventfd.h>

#include "preload/fd_address.h"
#include "preload/scratch.h"
#include "recorder/sys/raw.h"

/* A descriptor of a kind that nobody told us: looked at when it is first used. */
static int fresh(int fd, enum ev_name call)
{
	if (fd < 0)
		pre_failed(call, -1);
	else
		pre_fd_forget(fd);
	return fd;
}

/* The kernel's counts of a TCP connection; all zero where there are none. */
static void ask_counts(int fd, struct ev_SocketClose *event)
{
	struct pre_scratch *scratch = pre_scratch_take();
	socklen_t length = sizeof(scratch->tcp);

	if (!scratch)
		return;
	memset(&scratch->tcp, 0, sizeof(scratch->tcp)); /* an older kernel fills less */
	if (raw_syscall6(SYS_getsockopt, fd, IPPROTO_TCP, TCP_INFO, (long)&scratch->tcp,
			 (long)&length, 0) == 0) {
		event->bytesReceived = scratch->tcp.tcpi_bytes_received;
		event->bytesSent = scratch->tcp.tcpi_bytes_acked;
		event->segmentsIn = scratch->tcp.tcpi_segs_in;
		event->segmentsOut = scratch->tcp.tcpi_segs_out;
		event->retransmits = scratch->tcp.tcpi_total_retrans;
		event->roundTrip = scratch->tcp.tcpi_rtt;
	}
	pre_scratch_give(scratch);
}

/* Closes a socket that has a peer. The event is made before and emitted behind the real call. */
static __attribute__((noinline)) int close_socket(int fd, uint64_t entry)
{
	struct rec_thread *thread = pre_thread();
	struct ev_SocketClose event = { .descriptor = (uint32_t)fd };
	int result;

	if (thread == &rec_thread_mute || !rec_sampled(thread, EV_SocketClose)) {
		pre_fd_forget(fd);
		return pre_real.close(fd);
	}
	event.conn = pre_fd_address(thread, fd, entry);
	event.process = rec_process_own()->pid;
	if (PRE_FD_ID(entry) == 0)
		entry = pre_fd_known(fd); /* its family and type have only just been learnt */
	if ((entry & PRE_FD_TCP) == PRE_FD_TCP)
		ask_counts(fd, &event);
	pre_fd_forget(fd);
	result = pre_real.close(fd);
	if (result != 0)
		pre_failed(EV_NAME_close, fd);
	event.stack = rec_stack(thread, EV_SocketClose);
	rec_emit_SocketClose(thread, rec_clock_now(), &event);
	return result;
}

PRE_SLOW int slow_close(int fd)
{
	uint64_t entry = pre_fd_known(fd);
	int result;

	if (unlikely(PRE_FD_KIND(entry) == PRE_FD_SOCKET && (entry & PRE_FD_PEER) &&
		     rec_enabled(EV_SocketClose)))
		return close_socket(fd, entry);
	pre_fd_forget(fd);
	result = pre_real.close(fd);
	if (unlikely(result != 0))
		pre_failed(EV_NAME_close, fd);
	return result;
}

PRE_HOOK int close(int fd)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.close(fd);
	return slow_close(fd);
}

PRE_SLOW int slow_dup(int fd)
{
	int copy = pre_real.dup(fd);

	if (copy < 0)
		pre_failed(EV_NAME_dup, fd);
	else
		pre_fd_copy(fd, copy);
	return copy;
}

PRE_HOOK int dup(int fd)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.dup(fd);
	return slow_dup(fd);
}

PRE_SLOW int slow_dup2(int from, int to)
{
	int result;

	if (from != to)
		pre_fd_forget(to);
	result = pre_real.dup2(from, to);
	if (result < 0)
		pre_failed(EV_NAME_dup2, from);
	else if (from != to)
		pre_fd_copy(from, to);
	return result;
}

PRE_HOOK int dup2(int from, int to)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.dup2(from, to);
	return slow_dup2(from, to);
}

PRE_SLOW int slow_dup3(int from, int to, int flags)
{
	int result;

	if (from != to)
		pre_fd_forget(to);
	result = pre_real.dup3(from, to, flags);
	if (result < 0)
		pre_failed(EV_NAME_dup3, from);
	else
		pre_fd_copy(from, to);
	return result;
}

PRE_HOOK int dup3(int from, int to, int flags)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.dup3(from, to, flags);
	return slow_dup3(from, to, flags);
}

PRE_SLOW int slow_close_range(unsigned first, unsigned last, int flags)
{
	int result;

	if (!(flags & CLOSE_RANGE_CLOEXEC))
		pre_fd_forget_range(first, last);
	result = pre_real.close_range(first, last, flags);
	if (result != 0)
		pre_failed(EV_NAME_close_range, (int)first);
	return result;
}

PRE_HOOK int close_range(unsigned first, unsigned last, int flags)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.close_range(first, last, flags);
	return slow_close_range(first, last, flags);
}

PRE_SLOW void slow_closefrom(int first)
{
	pre_fd_forget_range(first > 0 ? (unsigned)first : 0, PRE_FD_MAX - 1);
	pre_real.closefrom(first);
}

PRE_HOOK void closefrom(int first)
{
	if (likely(!pre_gate_any(PRE_GATE_IO))) {
		pre_real.closefrom(first);
		return;
	}
	slow_closefrom(first);
}

PRE_SLOW int slow_pipe(int fds[2])
{
	int result = pre_real.pipe(fds);

	fresh(result < 0 ? result : fds[0], EV_NAME_pipe);
	if (result == 0)
		pre_fd_forget(fds[1]);
	return result;
}

PRE_HOOK int pipe(int fds[2])
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.pipe(fds);
	return slow_pipe(fds);
}

PRE_SLOW int slow_pipe2(int fds[2], int flags)
{
	int result = pre_real.pipe2(fds, flags);

	fresh(result < 0 ? result : fds[0], EV_NAME_pipe);
	if (result == 0)
		pre_fd_forget(fds[1]);
	return result;
}

PRE_HOOK int pipe2(int fds[2], int flags)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.pipe2(fds, flags);
	return slow_pipe2(fds, flags);
}

PRE_SLOW int slow_eventfd(unsigned count, int flags)
{
	return fresh(pre_real.eventfd(count, flags), EV_NAME_eventfd);
}

PRE_HOOK int eventfd(unsigned count, int flags)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.eventfd(count, flags);
	return slow_eventfd(count, flags);
}

PRE_SLOW int slow_epoll_create(int size)
{
	return fresh(pre_real.epoll_create(size), EV_NAME_epoll_create);
}

PRE_HOOK int epoll_create(int size)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.epoll_create(size);
	return slow_epoll_create(size);
}

PRE_SLOW int slow_epoll_create1(int flags)
{
	return fresh(pre_real.epoll_create1(flags), EV_NAME_epoll_create);
}

PRE_HOOK int epoll_create1(int flags)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.epoll_create1(flags);
	return slow_epoll_create1(flags);
}

/*
 * fcntl is variadic; its third argument arrives in the same register whether it was passed or not,
 * and goes on as it came. Hence names of our own that stand for libc's.
 */
int pre_fcntl(int fd, int command, void *argument) __asm__("fcntl");
int pre_fcntl64(int fd, int command, void *argument) __asm__("fcntl64");

PRE_SLOW int fcntl_copies(int fd, int copy)
{
	if (copy < 0)
		pre_failed(EV_NAME_fcntl, fd);
	else
		pre_fd_copy(fd, copy);
	return copy;
}

static inline bool copies(int command)
{
	return (command == F_DUPFD || command == F_DUPFD_CLOEXEC) && pre_gate_any(PRE_GATE_IO);
}

PRE_HOOK int pre_fcntl(int fd, int command, void *argument)
{
	if (likely(!copies(command)))
		return pre_real.fcntl(fd, command, argument);
	return fcntl_copies(fd, pre_real.fcntl(fd, command, argument));
}

PRE_HOOK int pre_fcntl64(int fd, int command, void *argument)
{
	if (likely(!copies(command)))
		return pre_real.fcntl64(fd, command, argument);
	return fcntl_copies(fd, pre_real.fcntl64(fd, command, argument));
}
