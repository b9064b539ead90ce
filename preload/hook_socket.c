/*
 * Hooks of a socket's life: socket, connect, accept, bind, listen, shutdown.
 *
 * In: the program's calls. Out: the real results, SocketConnect and SocketAccept, and what the
 * table of descriptors knows of a socket. Never here: bytes (hook_io.c), closing
 * (hook_descriptor.c).
 */
#include "preload/call_failed.h"
#include "preload/fd_address.h"

static uint64_t flags_of(int family, int type)
{
	const int kind = type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK);

	return (kind == SOCK_STREAM ? PRE_FD_STREAM : 0) |
	       (family == AF_INET || family == AF_INET6 ? PRE_FD_INET : 0);
}

PRE_SLOW int slow_socket(int family, int type, int protocol)
{
	int fd = pre_real.socket(family, type, protocol);

	if (unlikely(fd < 0))
		pre_failed(EV_NAME_socket, -1);
	else
		pre_fd_set(fd, PRE_FD_ENTRY(PRE_FD_SOCKET, flags_of(family, type), 0));
	return fd;
}

PRE_HOOK int socket(int family, int type, int protocol)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.socket(family, type, protocol);
	return slow_socket(family, type, protocol);
}

PRE_SLOW int slow_socketpair(int family, int type, int protocol, int fds[2])
{
	int result = pre_real.socketpair(family, type, protocol, fds);
	uint64_t entry = PRE_FD_ENTRY(PRE_FD_SOCKET, flags_of(family, type) | PRE_FD_PEER, 0);

	if (unlikely(result != 0)) {
		pre_failed(EV_NAME_socketpair, -1);
		return result;
	}
	pre_fd_set(fds[0], entry);
	pre_fd_set(fds[1], entry);
	return result;
}

PRE_HOOK int socketpair(int family, int type, int protocol, int fds[2])
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.socketpair(family, type, protocol, fds);
	return slow_socketpair(family, type, protocol, fds);
}

/* A connection attempt ended: what became of it, beyond the event's threshold as an event. */
static void connected(int fd, const struct sockaddr *address, socklen_t length, uint64_t start,
		      int error)
{
	uint64_t end = rec_clock_now();
	bool is_wanted = rec_wanted(EV_SocketConnect, end - start);
	bool is_open = error == 0 || error == EINPROGRESS || error == EINTR;
	struct rec_thread *thread = pre_thread();
	struct ev_SocketConnect event = { .descriptor = (uint32_t)fd, .error = (uint32_t)error };

	if (thread == &rec_thread_mute)
		return;
	/* To connect to AF_UNSPEC dissolves the association of a datagram socket. */
	if (error == EFAULT || !address || length < sizeof(sa_family_t) ||
	    address->sa_family == AF_UNSPEC) {
		pre_fd_forget(fd);
		address = NULL;
	} else if (is_wanted || is_open) {
		event.conn = pre_fd_meet(thread, fd, address, length, is_open);
	}
	if (!is_wanted || !rec_sampled(thread, EV_SocketConnect))
		return;
	event.process = rec_process_own()->pid;
	event.stack = rec_stack(thread, EV_SocketConnect);
	rec_emit_SocketConnect(thread, start, end, &event);
}

PRE_SLOW int slow_connect(int fd, const struct sockaddr *address, socklen_t length)
{
	uint64_t start = rec_clock_now();
	int result = pre_real.connect(fd, address, length);
	int error = result == 0 ? 0 : errno;

	connected(fd, address, length, start, error);
	if (result != 0)
		pre_failed(EV_NAME_connect, fd);
	return result;
}

PRE_HOOK int connect(int fd, const struct sockaddr *address, socklen_t length)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.connect(fd, address, length);
	return slow_connect(fd, address, length);
}

/* A new connection: notes it and its peer. `length` is 0 where the caller did not ask for the
 * address. */
static void accepted(int listener, int fd, const struct sockaddr *peer, socklen_t length,
		     uint64_t start)
{
	struct rec_thread *thread;
	uint64_t end;

	pre_fd_set(fd, PRE_FD_ENTRY(PRE_FD_SOCKET,
				    PRE_FD_PEER | (pre_fd_known(listener) & PRE_FD_TCP), 0));
	if (start == 0)
		return;
	end = rec_clock_now();
	if (!rec_wanted(EV_SocketAccept, end - start))
		return;
	thread = pre_thread();
	if (thread == &rec_thread_mute || !rec_sampled(thread, EV_SocketAccept))
		return;
	struct ev_SocketAccept event = {
		.conn = pre_fd_meet(thread, fd, peer, length, true),
		.descriptor = (uint32_t)fd,
		.process = rec_process_own()->pid,
		.stack = rec_stack(thread, EV_SocketAccept),
	};

	rec_emit_SocketAccept(thread, start, end, &event);
}

PRE_SLOW int slow_accept(int fd, struct sockaddr *address, socklen_t *length)
{
	uint64_t start = rec_enabled(EV_SocketAccept) ? rec_clock_now() : 0;
	socklen_t room = address && length ? *length : 0;
	int result = pre_real.accept(fd, address, length);

	if (unlikely(result < 0))
		pre_failed(EV_NAME_accept, fd);
	else
		accepted(fd, result, address, room && *length <= room ? *length : 0, start);
	return result;
}

PRE_HOOK int accept(int fd, struct sockaddr *address, socklen_t *length)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.accept(fd, address, length);
	return slow_accept(fd, address, length);
}

PRE_SLOW int slow_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
	uint64_t start = rec_enabled(EV_SocketAccept) ? rec_clock_now() : 0;
	socklen_t room = address && length ? *length : 0;
	int result = pre_real.accept4(fd, address, length, flags);

	if (unlikely(result < 0))
		pre_failed(EV_NAME_accept4, fd);
	else
		accepted(fd, result, address, room && *length <= room ? *length : 0, start);
	return result;
}

PRE_HOOK int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.accept4(fd, address, length, flags);
	return slow_accept4(fd, address, length, flags);
}

/* Calls that are seen only when they fail. */

PRE_SLOW int checked(int result, int fd, enum ev_name call)
{
	if (unlikely(result != 0))
		pre_failed(call, fd);
	return result;
}

PRE_HOOK int bind(int fd, const struct sockaddr *address, socklen_t length)
{
	if (likely(!pre_gate_any(PRE_GATE(ERROR))))
		return pre_real.bind(fd, address, length);
	return checked(pre_real.bind(fd, address, length), fd, EV_NAME_bind);
}

PRE_HOOK int listen(int fd, int backlog)
{
	if (likely(!pre_gate_any(PRE_GATE(ERROR))))
		return pre_real.listen(fd, backlog);
	return checked(pre_real.listen(fd, backlog), fd, EV_NAME_listen);
}

PRE_HOOK int shutdown(int fd, int how)
{
	if (likely(!pre_gate_any(PRE_GATE(ERROR))))
		return pre_real.shutdown(fd, how);
	return checked(pre_real.shutdown(fd, how), fd, EV_NAME_shutdown);
}
