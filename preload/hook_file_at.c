/*
 * Hooks of reading and writing files at an offset.
 *
 * In: the program's calls. Out: the real results, FileRead, FileWrite. Never here: calls without
 * offset, which sockets share (hook_io.c).
 */
#include "preload/io.h"

PRE_SLOW ssize_t slow_pread(int fd, void *buffer, size_t size, off_t offset)
{
	struct pre_io io = pre_io_begin(fd, PRE_IO_READ);

	return pre_io_end(io, fd, PRE_IO_READ, EV_NAME_pread,
			  pre_real.pread(fd, buffer, size, offset));
}

PRE_HOOK ssize_t pread(int fd, void *buffer, size_t size, off_t offset)
{
	if (likely(!pre_gate_any(PRE_GATE_FILE)))
		return pre_real.pread(fd, buffer, size, offset);
	return slow_pread(fd, buffer, size, offset);
}

PRE_SLOW ssize_t slow_pread_chk(int fd, void *buffer, size_t size, off_t offset, size_t room)
{
	struct pre_io io = pre_io_begin(fd, PRE_IO_READ);

	return pre_io_end(io, fd, PRE_IO_READ, EV_NAME_pread,
			  pre_real.__pread_chk(fd, buffer, size, offset, room));
}

PRE_HOOK ssize_t __pread_chk(int fd, void *buffer, size_t size, off_t offset, size_t room)
{
	if (likely(!pre_gate_any(PRE_GATE_FILE)))
		return pre_real.__pread_chk(fd, buffer, size, offset, room);
	return slow_pread_chk(fd, buffer, size, offset, room);
}

PRE_SLOW ssize_t slow_preadv(int fd, const struct iovec *vector, int count, off_t offset)
{
	struct pre_io io = pre_io_begin(fd, PRE_IO_READ);

	return pre_io_end(io, fd, PRE_IO_READ, EV_NAME_preadv,
			  pre_real.preadv(fd, vector, count, offset));
}

PRE_HOOK ssize_t preadv(int fd, const struct iovec *vector, int count, off_t offset)
{
	if (likely(!pre_gate_any(PRE_GATE_FILE)))
		return pre_real.preadv(fd, vector, count, offset);
	return slow_preadv(fd, vector, count, offset);
}

PRE_SLOW ssize_t slow_preadv2(int fd, const struct iovec *vector, int count, off_t offset,
			      int flags)
{
	struct pre_io io = pre_io_begin(fd, PRE_IO_READ);

	return pre_io_end(io, fd, PRE_IO_READ, EV_NAME_preadv,
			  pre_real.preadv2(fd, vector, count, offset, flags));
}

PRE_HOOK ssize_t preadv2(int fd, const struct iovec *vector, int count, off_t offset, int flags)
{
	if (likely(!pre_gate_any(PRE_GATE_FILE)))
		return pre_real.preadv2(fd, vector, count, offset, flags);
	return slow_preadv2(fd, vector, count, offset, flags);
}

PRE_SLOW ssize_t slow_pwrite(int fd, const void *buffer, size_t size, off_t offset)
{
	struct pre_io io = pre_io_begin(fd, PRE_IO_WRITE);

	return pre_io_end(io, fd, PRE_IO_WRITE, EV_NAME_pwrite,
			  pre_real.pwrite(fd, buffer, size, offset));
}

PRE_HOOK ssize_t pwrite(int fd, const void *buffer, size_t size, off_t offset)
{
	if (likely(!pre_gate_any(PRE_GATE_FILE)))
		return pre_real.pwrite(fd, buffer, size, offset);
	return slow_pwrite(fd, buffer, size, offset);
}

PRE_SLOW ssize_t slow_pwritev(int fd, const struct iovec *vector, int count, off_t offset)
{
	struct pre_io io = pre_io_begin(fd, PRE_IO_WRITE);

	return pre_io_end(io, fd, PRE_IO_WRITE, EV_NAME_pwritev,
			  pre_real.pwritev(fd, vector, count, offset));
}

PRE_HOOK ssize_t pwritev(int fd, const struct iovec *vector, int count, off_t offset)
{
	if (likely(!pre_gate_any(PRE_GATE_FILE)))
		return pre_real.pwritev(fd, vector, count, offset);
	return slow_pwritev(fd, vector, count, offset);
}

PRE_SLOW ssize_t slow_pwritev2(int fd, const struct iovec *vector, int count, off_t offset,
			       int flags)
{
	struct pre_io io = pre_io_begin(fd, PRE_IO_WRITE);

	return pre_io_end(io, fd, PRE_IO_WRITE, EV_NAME_pwritev,
			  pre_real.pwritev2(fd, vector, count, offset, flags));
}

PRE_HOOK ssize_t pwritev2(int fd, const struct iovec *vector, int count, off_t offset, int flags)
{
	if (likely(!pre_gate_any(PRE_GATE_FILE)))
		return pre_real.pwritev2(fd, vector, count, offset, flags);
	return slow_pwritev2(fd, vector, count, offset, flags);
}

PRE_SLOW ssize_t slow_pread64(int fd, void *buffer, size_t size, off64_t offset)
{
	struct pre_io io = pre_io_begin(fd, PRE_IO_READ);

	return pre_io_end(io, fd, PRE_IO_READ, EV_NAME_pread,
			  pre_real.pread64(fd, buffer, size, offset));
}

PRE_HOOK ssize_t pread64(int fd, void *buffer, size_t size, off64_t offset)
{
	if (likely(!pre_gate_any(PRE_GATE_FILE)))
		return pre_real.pread64(fd, buffer, size, offset);
	return slow_pread64(fd, buffer, size, offset);
}

PRE_SLOW ssize_t slow_pread64_chk(int fd, void *buffer, size_t size, off64_t offset, size_t room)
{
	struct pre_io io = pre_io_begin(fd, PRE_IO_READ);

	return pre_io_end(io, fd, PRE_IO_READ, EV_NAME_pread,
			  pre_real.__pread64_chk(fd, buffer, size, offset, room));
}

PRE_HOOK ssize_t __pread64_chk(int fd, void *buffer, size_t size, off64_t offset, size_t room)
{
	if (likely(!pre_gate_any(PRE_GATE_FILE)))
		return pre_real.__pread64_chk(fd, buffer, size, offset, room);
	return slow_pread64_chk(fd, buffer, size, offset, room);
}

PRE_SLOW ssize_t slow_preadv64(int fd, const struct iovec *vector, int count, off64_t offset)
{
	struct pre_io io = pre_io_begin(fd, PRE_IO_READ);

	return pre_io_end(io, fd, PRE_IO_READ, EV_NAME_preadv,
			  pre_real.preadv64(fd, vector, count, offset));
}

PRE_HOOK ssize_t preadv64(int fd, const struct iovec *vector, int count, off64_t offset)
{
	if (likely(!pre_gate_any(PRE_GATE_FILE)))
		return pre_real.preadv64(fd, vector, count, offset);
	return slow_preadv64(fd, vector, count, offset);
}

PRE_SLOW ssize_t slow_preadv64v2(int fd, const struct iovec *vector, int count, off64_t offset,
				 int flags)
{
	struct pre_io io = pre_io_begin(fd, PRE_IO_READ);

	return pre_io_end(io, fd, PRE_IO_READ, EV_NAME_preadv,
			  pre_real.preadv64v2(fd, vector, count, offset, flags));
}

PRE_HOOK ssize_t preadv64v2(int fd, const struct iovec *vector, int count, off64_t offset,
			    int flags)
{
	if (likely(!pre_gate_any(PRE_GATE_FILE)))
		return pre_real.preadv64v2(fd, vector, count, offset, flags);
	return slow_preadv64v2(fd, vector, count, offset, flags);
}

PRE_SLOW ssize_t slow_pwrite64(int fd, const void *buffer, size_t size, off64_t offset)
{
	struct pre_io io = pre_io_begin(fd, PRE_IO_WRITE);

	return pre_io_end(io, fd, PRE_IO_WRITE, EV_NAME_pwrite,
			  pre_real.pwrite64(fd, buffer, size, offset));
}

PRE_HOOK ssize_t pwrite64(int fd, const void *buffer, size_t size, off64_t offset)
{
	if (likely(!pre_gate_any(PRE_GATE_FILE)))
		return pre_real.pwrite64(fd, buffer, size, offset);
	return slow_pwrite64(fd, buffer, size, offset);
}

PRE_SLOW ssize_t slow_pwritev64(int fd, const struct iovec *vector, int count, off64_t offset)
{
	struct pre_io io = pre_io_begin(fd, PRE_IO_WRITE);

	return pre_io_end(io, fd, PRE_IO_WRITE, EV_NAME_pwritev,
			  pre_real.pwritev64(fd, vector, count, offset));
}

PRE_HOOK ssize_t pwritev64(int fd, const struct iovec *vector, int count, off64_t offset)
{
	if (likely(!pre_gate_any(PRE_GATE_FILE)))
		return pre_real.pwritev64(fd, vector, count, offset);
	return slow_pwritev64(fd, vector, count, offset);
}

PRE_SLOW ssize_t slow_pwritev64v2(int fd, const struct iovec *vector, int count, off64_t offset,
				  int flags)
{
	struct pre_io io = pre_io_begin(fd, PRE_IO_WRITE);

	return pre_io_end(io, fd, PRE_IO_WRITE, EV_NAME_pwritev,
			  pre_real.pwritev64v2(fd, vector, count, offset, flags));
}

PRE_HOOK ssize_t pwritev64v2(int fd, const struct iovec *vector, int count, off64_t offset,
			     int flags)
{
	if (likely(!pre_gate_any(PRE_GATE_FILE)))
		return pre_real.pwritev64v2(fd, vector, count, offset, flags);
	return slow_pwritev64v2(fd, vector, count, offset, flags);
}
