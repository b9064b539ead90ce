/*
 * Hooks of what reads and writes any descriptor: read, write, recv and send families, sendfile,
 * splice.
 *
 * In: the program's calls. Out: the real results, and SocketRead, SocketWrite, FileRead, FileWrite.
 * The kind of the descriptor decides which. Never here: state that a cancelled call would leave
 * behind.
 */
#include "preload/io.h"

#include <fcntl.h>
#include <sys/sendfile.h>

#include "preload/fd_address.h"

/*
 * All four events have one layout: stack, duration | what it was about, bytes. As whole words,
 * since halves that were just written would be waited for when they are copied as a whole.
 */
static inline __attribute__((always_inline)) void emit_body(struct rec_thread *thread,
							    struct pre_io io, enum ev_number event,
							    uint64_t end, uint32_t name,
							    uint32_t bytes)
{
	uint32_t flags = 0;
	uint64_t stack = rec_stack(thread, event);
	uint64_t duration = rec_append_scale(end - io.start, &flags);
	uint64_t body[2] = { stack | duration << 32, name | (uint64_t)bytes << 32 };

#define AT(type, field, where)                                                                     \
	_Static_assert(offsetof(struct ev_##type, field) == (where) &&                             \
			       sizeof(struct ev_##type) == 16,                                     \
		       "one layout serves four events")
	AT(SocketRead, duration, 4);
	AT(SocketRead, conn, 8);
	AT(SocketRead, bytesRead, 12);
	AT(SocketWrite, conn, 8);
	AT(SocketWrite, bytesWritten, 12);
	AT(FileRead, path, 8);
	AT(FileRead, bytesRead, 12);
	AT(FileWrite, path, 8);
	AT(FileWrite, bytesWritten, 12);
#undef AT
	rec_emit(thread, event, flags, end, body, sizeof(body));
}

void pre_io_emit(struct pre_io io, int fd, enum pre_io_way way, uint64_t end, uint64_t bytes)
{
	enum ev_number event = pre_io_event(io.entry, way);
	struct rec_thread *thread = pre_thread();
	uint32_t id = PRE_FD_ID(io.entry);

	if (unlikely(thread == &rec_thread_mute) || !rec_sampled(thread, event))
		return;
	if (unlikely(id == 0 || !rec_depot_is_current(&rec_family, id)))
		id = PRE_FD_KIND(io.entry) == PRE_FD_SOCKET ? pre_fd_address(thread, fd, io.entry)
							    : pre_fd_path(thread, fd, io.entry);
	emit_body(thread, io, event, end, id, (uint32_t)bytes);
}

void pre_io_emit_peer(struct pre_io io, int fd, enum pre_io_way way, uint64_t end, uint64_t bytes,
		      const struct sockaddr *peer, socklen_t length)
{
	enum ev_number event = pre_io_event(io.entry, way);
	struct rec_thread *thread = pre_thread();

	if (thread == &rec_thread_mute || !rec_sampled(thread, event))
		return;
	emit_body(thread, io, event, end, pre_fd_peer(thread, fd, peer, length), (uint32_t)bytes);
}

/* As pre_io_end(), for calls that may name the peer: NULL or a length of 0 when this one does not.
 */
static ssize_t end_peer(struct pre_io io, int fd, enum pre_io_way way, enum ev_name call,
			ssize_t result, const struct sockaddr *peer, socklen_t length)
{
	uint64_t end;

	if (result < 0 || io.start == 0 || !peer || length == 0 || (io.entry & PRE_FD_PEER))
		return pre_io_end(io, fd, way, call, result);
	end = rec_clock_now();
	if (rec_wanted(pre_io_event(io.entry, way), end - io.start))
		pre_io_emit_peer(io, fd, way, end, (uint64_t)result, peer, length);
	return result;
}

/* Looking at data, or at errors, is no reading: not timed. */
static inline __attribute__((always_inline)) struct pre_io begin_receive(int fd, int flags)
{
	struct pre_io io = { 0, 0 };

	return flags & (MSG_PEEK | MSG_ERRQUEUE) ? io : pre_io_begin(fd, PRE_IO_READ);
}

PRE_SLOW ssize_t slow_read(int fd, void *buffer, size_t size)
{
	struct pre_io io = pre_io_begin(fd, PRE_IO_READ);

	return pre_io_end(io, fd, PRE_IO_READ, EV_NAME_read, pre_real.read(fd, buffer, size));
}

PRE_HOOK ssize_t read(int fd, void *buffer, size_t size)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.read(fd, buffer, size);
	return slow_read(fd, buffer, size);
}

PRE_SLOW ssize_t slow_read_chk(int fd, void *buffer, size_t size, size_t room)
{
	struct pre_io io = pre_io_begin(fd, PRE_IO_READ);

	return pre_io_end(io, fd, PRE_IO_READ, EV_NAME_read,
			  pre_real.__read_chk(fd, buffer, size, room));
}

PRE_HOOK ssize_t __read_chk(int fd, void *buffer, size_t size, size_t room)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.__read_chk(fd, buffer, size, room);
	return slow_read_chk(fd, buffer, size, room);
}

PRE_SLOW ssize_t slow_readv(int fd, const struct iovec *vector, int count)
{
	struct pre_io io = pre_io_begin(fd, PRE_IO_READ);

	return pre_io_end(io, fd, PRE_IO_READ, EV_NAME_readv, pre_real.readv(fd, vector, count));
}

PRE_HOOK ssize_t readv(int fd, const struct iovec *vector, int count)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.readv(fd, vector, count);
	return slow_readv(fd, vector, count);
}

PRE_SLOW ssize_t slow_write(int fd, const void *buffer, size_t size)
{
	struct pre_io io = pre_io_begin(fd, PRE_IO_WRITE);

	return pre_io_end(io, fd, PRE_IO_WRITE, EV_NAME_write, pre_real.write(fd, buffer, size));
}

PRE_HOOK ssize_t write(int fd, const void *buffer, size_t size)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.write(fd, buffer, size);
	return slow_write(fd, buffer, size);
}

PRE_SLOW ssize_t slow_writev(int fd, const struct iovec *vector, int count)
{
	struct pre_io io = pre_io_begin(fd, PRE_IO_WRITE);

	return pre_io_end(io, fd, PRE_IO_WRITE, EV_NAME_writev, pre_real.writev(fd, vector, count));
}

PRE_HOOK ssize_t writev(int fd, const struct iovec *vector, int count)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.writev(fd, vector, count);
	return slow_writev(fd, vector, count);
}

PRE_SLOW ssize_t slow_recv(int fd, void *buffer, size_t size, int flags)
{
	struct pre_io io = begin_receive(fd, flags);

	return pre_io_end(io, fd, PRE_IO_READ, EV_NAME_recv,
			  pre_real.recv(fd, buffer, size, flags));
}

PRE_HOOK ssize_t recv(int fd, void *buffer, size_t size, int flags)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.recv(fd, buffer, size, flags);
	return slow_recv(fd, buffer, size, flags);
}

PRE_SLOW ssize_t slow_recv_chk(int fd, void *buffer, size_t size, size_t room, int flags)
{
	struct pre_io io = begin_receive(fd, flags);

	return pre_io_end(io, fd, PRE_IO_READ, EV_NAME_recv,
			  pre_real.__recv_chk(fd, buffer, size, room, flags));
}

PRE_HOOK ssize_t __recv_chk(int fd, void *buffer, size_t size, size_t room, int flags)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.__recv_chk(fd, buffer, size, room, flags);
	return slow_recv_chk(fd, buffer, size, room, flags);
}

PRE_SLOW ssize_t slow_recvfrom(int fd, void *buffer, size_t size, int flags,
			       struct sockaddr *address, socklen_t *length)
{
	struct pre_io io = begin_receive(fd, flags);
	socklen_t room = address && length ? *length : 0;
	ssize_t result = pre_real.recvfrom(fd, buffer, size, flags, address, length);

	return end_peer(io, fd, PRE_IO_READ, EV_NAME_recvfrom, result, address,
			room && *length <= room ? *length : 0);
}

PRE_HOOK ssize_t recvfrom(int fd, void *buffer, size_t size, int flags, struct sockaddr *address,
			  socklen_t *length)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.recvfrom(fd, buffer, size, flags, address, length);
	return slow_recvfrom(fd, buffer, size, flags, address, length);
}

PRE_SLOW ssize_t slow_recvfrom_chk(int fd, void *buffer, size_t size, size_t room, int flags,
				   struct sockaddr *address, socklen_t *length)
{
	struct pre_io io = begin_receive(fd, flags);
	socklen_t space = address && length ? *length : 0;
	ssize_t result = pre_real.__recvfrom_chk(fd, buffer, size, room, flags, address, length);

	return end_peer(io, fd, PRE_IO_READ, EV_NAME_recvfrom, result, address,
			space && *length <= space ? *length : 0);
}

PRE_HOOK ssize_t __recvfrom_chk(int fd, void *buffer, size_t size, size_t room, int flags,
				struct sockaddr *address, socklen_t *length)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.__recvfrom_chk(fd, buffer, size, room, flags, address, length);
	return slow_recvfrom_chk(fd, buffer, size, room, flags, address, length);
}

/* Descriptors that came with a message are new. */
static void forget_passed(struct msghdr *message)
{
	struct cmsghdr *part = message->msg_controllen ? CMSG_FIRSTHDR(message) : NULL;

	for (; part; part = CMSG_NXTHDR(message, part)) {
		const int *fds = (const int *)(const void *)CMSG_DATA(part);

		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < (part->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++)
			pre_fd_forget(fds[i]);
	}
}

PRE_SLOW ssize_t slow_recvmsg(int fd, struct msghdr *message, int flags)
{
	struct pre_io io = begin_receive(fd, flags);
	ssize_t result = pre_real.recvmsg(fd, message, flags);

	if (result < 0)
		return pre_io_end(io, fd, PRE_IO_READ, EV_NAME_recvmsg, result);
	end_peer(io, fd, PRE_IO_READ, EV_NAME_recvmsg, result, message->msg_name,
		 message->msg_namelen);
	if (message->msg_controllen)
		forget_passed(message);
	return result;
}

PRE_HOOK ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.recvmsg(fd, message, flags);
	return slow_recvmsg(fd, message, flags);
}

/* One event for all messages of a call, named after the first one's peer. */
static int end_many(struct pre_io io, int fd, enum pre_io_way way, enum ev_name call,
		    const struct mmsghdr *messages, int result)
{
	ssize_t bytes = 0;

	if (result <= 0) {
		if (result < 0)
			pre_failed(call, fd);
		return result;
	}
	for (int i = 0; i < result; i++)
		bytes += messages[i].msg_len;
	end_peer(io, fd, way, call, bytes, messages[0].msg_hdr.msg_name,
		 messages[0].msg_hdr.msg_namelen);
	return result;
}

PRE_SLOW int slow_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
			   struct timespec *timeout)
{
	struct pre_io io = begin_receive(fd, flags);
	int result = pre_real.recvmmsg(fd, messages, count, flags, timeout);

	end_many(io, fd, PRE_IO_READ, EV_NAME_recvmmsg, messages, result);
	for (int i = 0; i < result; i++)
		if (messages[i].msg_hdr.msg_controllen)
			forget_passed(&messages[i].msg_hdr);
	return result;
}

PRE_HOOK int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
		      struct timespec *timeout)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.recvmmsg(fd, messages, count, flags, timeout);
	return slow_recvmmsg(fd, messages, count, flags, timeout);
}

PRE_SLOW ssize_t slow_send(int fd, const void *buffer, size_t size, int flags)
{
	struct pre_io io = pre_io_begin(fd, PRE_IO_WRITE);

	return pre_io_end(io, fd, PRE_IO_WRITE, EV_NAME_send,
			  pre_real.send(fd, buffer, size, flags));
}

PRE_HOOK ssize_t send(int fd, const void *buffer, size_t size, int flags)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.send(fd, buffer, size, flags);
	return slow_send(fd, buffer, size, flags);
}

PRE_SLOW ssize_t slow_sendto(int fd, const void *buffer, size_t size, int flags,
			     const struct sockaddr *address, socklen_t length)
{
	struct pre_io io = pre_io_begin(fd, PRE_IO_WRITE);
	ssize_t result = pre_real.sendto(fd, buffer, size, flags, address, length);

	return end_peer(io, fd, PRE_IO_WRITE, EV_NAME_sendto, result, address, length);
}

PRE_HOOK ssize_t sendto(int fd, const void *buffer, size_t size, int flags,
			const struct sockaddr *address, socklen_t length)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.sendto(fd, buffer, size, flags, address, length);
	return slow_sendto(fd, buffer, size, flags, address, length);
}

PRE_SLOW ssize_t slow_sendmsg(int fd, const struct msghdr *message, int flags)
{
	struct pre_io io = pre_io_begin(fd, PRE_IO_WRITE);
	ssize_t result = pre_real.sendmsg(fd, message, flags);

	if (result < 0)
		return pre_io_end(io, fd, PRE_IO_WRITE, EV_NAME_sendmsg, result);
	return end_peer(io, fd, PRE_IO_WRITE, EV_NAME_sendmsg, result, message->msg_name,
			message->msg_namelen);
}

PRE_HOOK ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.sendmsg(fd, message, flags);
	return slow_sendmsg(fd, message, flags);
}

PRE_SLOW int slow_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
	struct pre_io io = pre_io_begin(fd, PRE_IO_WRITE);
	int result = pre_real.sendmmsg(fd, messages, count, flags);

	return end_many(io, fd, PRE_IO_WRITE, EV_NAME_sendmmsg, messages, result);
}

PRE_HOOK int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.sendmmsg(fd, messages, count, flags);
	return slow_sendmmsg(fd, messages, count, flags);
}

/* One call that reads from one descriptor and writes to another: an event of each. */
static ssize_t end_both(struct pre_io from, int in, struct pre_io to, int out, enum ev_name call,
			ssize_t result)
{
	if (result < 0) {
		pre_failed(call, out);
		return result;
	}
	pre_io_end(from, in, PRE_IO_READ, call, result);
	return pre_io_end(to, out, PRE_IO_WRITE, call, result);
}

PRE_SLOW ssize_t slow_sendfile(int out, int in, off_t *offset, size_t count)
{
	struct pre_io from = pre_io_begin(in, PRE_IO_READ);
	struct pre_io to = pre_io_begin(out, PRE_IO_WRITE);

	return end_both(from, in, to, out, EV_NAME_sendfile,
			pre_real.sendfile(out, in, offset, count));
}

PRE_HOOK ssize_t sendfile(int out, int in, off_t *offset, size_t count)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.sendfile(out, in, offset, count);
	return slow_sendfile(out, in, offset, count);
}

PRE_SLOW ssize_t slow_sendfile64(int out, int in, off64_t *offset, size_t count)
{
	struct pre_io from = pre_io_begin(in, PRE_IO_READ);
	struct pre_io to = pre_io_begin(out, PRE_IO_WRITE);

	return end_both(from, in, to, out, EV_NAME_sendfile,
			pre_real.sendfile64(out, in, offset, count));
}

PRE_HOOK ssize_t sendfile64(int out, int in, off64_t *offset, size_t count)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.sendfile64(out, in, offset, count);
	return slow_sendfile64(out, in, offset, count);
}

PRE_SLOW ssize_t slow_splice(int in, off64_t *in_offset, int out, off64_t *out_offset, size_t size,
			     unsigned flags)
{
	struct pre_io from = pre_io_begin(in, PRE_IO_READ);
	struct pre_io to = pre_io_begin(out, PRE_IO_WRITE);

	return end_both(from, in, to, out, EV_NAME_splice,
			pre_real.splice(in, in_offset, out, out_offset, size, flags));
}

PRE_HOOK ssize_t splice(int in, off64_t *in_offset, int out, off64_t *out_offset, size_t size,
			unsigned flags)
{
	if (likely(!pre_gate_any(PRE_GATE_IO)))
		return pre_real.splice(in, in_offset, out, out_offset, size, flags);
	return slow_splice(in, in_offset, out, out_offset, size, flags);
}
