/*
 * The frame of every hook that moves bytes: what kind is the descriptor, is its event on, how long
 * did the call take.
 *
 * In: a descriptor before the real call, the result after it. Out: SocketRead, SocketWrite,
 * FileRead or FileWrite, beyond its threshold; CallFailed. Clocks are read only where the event is
 * on.
 */
#ifndef HOLTER_PRELOAD_IO_H
#define HOLTER_PRELOAD_IO_H

#include "preload/call_failed.h"
#include "preload/fd_table.h"

enum pre_io_way { PRE_IO_READ, PRE_IO_WRITE };

/* Two words, so that it travels in registers. */
struct pre_io {
	uint64_t entry;
	uint64_t start; /* ticks; 0: not timed */
};

/* The event of a descriptor's kind. */
static inline enum ev_number pre_io_event(uint64_t entry, enum pre_io_way way)
{
	if (PRE_FD_KIND(entry) == PRE_FD_SOCKET)
		return way == PRE_IO_READ ? EV_SocketRead : EV_SocketWrite;
	return way == PRE_IO_READ ? EV_FileRead : EV_FileWrite;
}

static inline __attribute__((always_inline)) struct pre_io pre_io_begin(int fd, enum pre_io_way way)
{
	struct pre_io io = { .entry = pre_fd_entry(fd), .start = 0 };

	if (likely(io.entry != 0) && rec_enabled(pre_io_event(io.entry, way)))
		io.start = rec_clock_now();
	return io;
}

/**
 * pre_io_emit() - the event of a call that moved bytes long enough.
 * @io: of pre_io_begin(). @end: ticks when the call returned. @bytes: moved, 0 = end of file.
 *
 * Return: nothing. Context: as every hook.
 */
void pre_io_emit(struct pre_io io, int fd, enum pre_io_way way, uint64_t end, uint64_t bytes);

/**
 * pre_io_emit_peer() - the same for a datagram whose peer the call names.
 * @peer, @length: its address.
 *
 * Return: nothing. Context: as every hook.
 */
void pre_io_emit_peer(struct pre_io io, int fd, enum pre_io_way way, uint64_t end, uint64_t bytes,
		      const struct sockaddr *peer, socklen_t length);

/* Behind the real call: hands its result on. errno is not touched. */
static inline __attribute__((always_inline)) ssize_t
pre_io_end(struct pre_io io, int fd, enum pre_io_way way, enum ev_name call, ssize_t result)
{
	if (unlikely(result < 0)) {
		pre_failed(call, fd);
	} else if (io.start != 0) {
		uint64_t end = rec_clock_now();

		if (rec_wanted(pre_io_event(io.entry, way), end - io.start))
			pre_io_emit(io, fd, way, end, (uint64_t)result);
	}
	return result;
}

#endif
