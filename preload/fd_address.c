/*
 * Learns the addresses of sockets (fd_address.h).
 */
#include "preload/fd_address.h"

#include <netinet/in.h>
#include <sys/un.h>

#include "preload/scratch.h"
#include "recorder/sys/raw.h"

/* An IPv4 address that came through an IPv6 socket is written as what it is. */
static void put_ip6(struct rec_address *address, uint8_t ip[16], const struct in6_addr *from)
{
	if (IN6_IS_ADDR_V4MAPPED(from)) {
		address->family = AF_INET;
		memcpy(ip, from->s6_addr + 12, 4);
	} else {
		memcpy(ip, from->s6_addr, 16);
	}
}

/* A name in the abstract space begins with NUL there, with '@' here. */
static void put_path(struct rec_address *address, const struct sockaddr_un *from, size_t length)
{
	const size_t begin = offsetof(struct sockaddr_un, sun_path);
	size_t count = length > begin ? length - begin : 0;

	if (count == 0 || address->path[0])
		return;
	count = count < sizeof(address->path) ? count : sizeof(address->path) - 1;
	if (from->sun_path[0] != 0)
		count = strnlen(from->sun_path, count);
	memcpy(address->path, from->sun_path, count);
	if (address->path[0] == 0)
		address->path[0] = '@';
}

static void put_side(struct rec_address *address, const struct sockaddr *from, socklen_t length,
		     bool is_peer)
{
	uint8_t *ip = is_peer ? address->peer : address->local;
	uint16_t *port = is_peer ? &address->peer_port : &address->local_port;
	const struct sockaddr_in *in = (const struct sockaddr_in *)from;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)from;

	if (length < sizeof(sa_family_t))
		return;
	if (is_peer || address->family == 0)
		address->family = from->sa_family;
	if (from->sa_family == AF_INET && length >= sizeof(*in)) {
		memcpy(ip, &in->sin_addr, 4);
		*port = ntohs(in->sin_port);
	} else if (from->sa_family == AF_INET6 &&
		   length >= offsetof(struct sockaddr_in6, sin6_addr) + 16) {
		put_ip6(address, ip, &in6->sin6_addr);
		*port = ntohs(in6->sin6_port);
	} else if (from->sa_family == AF_UNIX) {
		put_path(address, (const struct sockaddr_un *)from, length);
	}
}

/* getpeername or getsockname into the scratch; its length, 0 when there is none. */
static socklen_t ask(struct pre_scratch *scratch, long call, int fd)
{
	socklen_t length = sizeof(scratch->socket_address);

	if (raw_syscall3(call, fd, (long)&scratch->socket_address, (long)&length) != 0)
		return 0;
	return length < sizeof(scratch->socket_address) ? length : sizeof(scratch->socket_address);
}

static uint16_t ask_type(int fd)
{
	int type = 0;
	socklen_t length = sizeof(type);

	if (raw_syscall6(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, (long)&type, (long)&length, 0) !=
	    0)
		return 0;
	return (uint16_t)type;
}

/*
 * The whole address of a socket. `flags` tells what the table shall know of it; `type` is the
 * socket's, 0 when it must be asked for.
 */
static uint32_t build(struct rec_thread *thread, int fd, const struct sockaddr *peer,
		      socklen_t length, uint16_t type, uint64_t *flags)
{
	struct pre_scratch *scratch = pre_scratch_take();
	uint32_t id;

	if (!scratch)
		return 0;
	memset(&scratch->address, 0, sizeof(scratch->address));
	if (!peer || length == 0) {
		length = ask(scratch, SYS_getpeername, fd);
		peer = (const struct sockaddr *)&scratch->socket_address;
	}
	if (length != 0) {
		put_side(&scratch->address, peer, length, true);
		*flags |= PRE_FD_PEER;
	}
	length = ask(scratch, SYS_getsockname, fd);
	if (length != 0)
		put_side(&scratch->address, (const struct sockaddr *)&scratch->socket_address,
			 length, false);
	scratch->address.type = type ? type : ask_type(fd);
	if (scratch->address.type == SOCK_STREAM)
		*flags |= PRE_FD_STREAM;
	if (scratch->address.family == AF_INET || scratch->address.family == AF_INET6)
		*flags |= PRE_FD_INET;
	id = rec_address(thread, &scratch->address);
	pre_scratch_give(scratch);
	return id;
}

uint32_t pre_fd_address(struct rec_thread *thread, int fd, uint64_t entry)
{
	uint32_t id = PRE_FD_ID(entry);
	uint64_t flags = entry & PRE_FD_FLAGS;

	if (likely(id != 0)) {
		if (likely(rec_depot_is_current(&rec_family, id)))
			return id;
		id = rec_depot_refresh(&rec_family, id);
	} else if (flags & PRE_FD_NAMELESS) {
		return 0;
	}
	if (id == 0)
		id = build(thread, fd, NULL, 0, flags & PRE_FD_STREAM ? SOCK_STREAM : 0, &flags);
	if (id == 0)
		flags |= PRE_FD_NAMELESS;
	pre_fd_improve(fd, entry, PRE_FD_ENTRY(PRE_FD_SOCKET, flags, id));
	return id;
}

uint32_t pre_fd_meet(struct rec_thread *thread, int fd, const struct sockaddr *peer,
		     socklen_t length, bool keep)
{
	uint64_t known = pre_fd_known(fd);
	uint64_t flags = 0;
	uint32_t id =
		build(thread, fd, peer, length, known & PRE_FD_STREAM ? SOCK_STREAM : 0, &flags);

	if (keep)
		pre_fd_set(fd, PRE_FD_ENTRY(PRE_FD_SOCKET, flags, id));
	return id;
}

uint32_t pre_fd_peer(struct rec_thread *thread, int fd, const struct sockaddr *peer,
		     socklen_t length)
{
	uint64_t flags = 0;

	return build(thread, fd, peer, length, SOCK_DGRAM, &flags);
}
