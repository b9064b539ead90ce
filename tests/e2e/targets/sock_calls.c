/*
 * Sockets: TCP, datagram and local connections whose every call is counted, with the addresses,
 * errors and byte counts that must be recorded; descriptors that are copied, passed and used again;
 * the poll family; name lookups.
 */
#include "tests/e2e/targets/truth.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#define NOINLINE __attribute__((noinline, noclone))

static char buffer[4096];

NOINLINE static ssize_t read_request(int fd)
{
	ssize_t n = recv(fd, buffer, 100, 0);

	__asm__ volatile("");
	return n;
}

NOINLINE static ssize_t serve_request(int fd)
{
	ssize_t n = read_request(fd);

	__asm__ volatile("");
	return n;
}

static struct sockaddr_in listen_on(int fd)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);

	TRUTH_CHECK(bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	TRUTH_CHECK(getsockname(fd, (struct sockaddr *)&address, &length) == 0);
	return address;
}

static int port_of(int fd)
{
	struct sockaddr_in address;
	socklen_t length = sizeof(address);

	TRUTH_CHECK(getsockname(fd, (struct sockaddr *)&address, &length) == 0);
	return ntohs(address.sin_port);
}

/* One connection: five sends of 10 bytes, three reads of them, a look that is no read, the end. */
static void tcp_connection(void)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in address = listen_on(listener);
	struct iovec vector[2] = { { buffer, 4 }, { buffer + 4, 6 } };
	int port = ntohs(address.sin_port), client, server, own;

	TRUTH_CHECK(listen(listener, 4) == 0);
	client = socket(AF_INET, SOCK_STREAM, 0);
	TRUTH_CHECK(connect(client, (struct sockaddr *)&address, sizeof(address)) == 0);
	server = accept(listener, NULL, NULL);
	TRUTH_CHECK(server >= 0);
	own = port_of(client);
	truth("expect holter.SocketConnect count=1 address=127.0.0.1 port=%d error=0 descriptor=%d",
	      port, client);
	truth("expect holter.SocketAccept count=1 address=127.0.0.1 port=%d descriptor=%d", own,
	      server);
	TRUTH_CHECK(send(client, buffer, 10, 0) == 10 &&
		    sendto(client, buffer, 10, 0, NULL, 0) == 10);
	TRUTH_CHECK(write(client, buffer, 10) == 10 && writev(client, vector, 2) == 10);
	TRUTH_CHECK(recv(server, buffer, 40, MSG_PEEK | MSG_WAITALL) == 40);
	TRUTH_CHECK(read(server, buffer, 15) == 15 && readv(server, vector, 2) == 10);
	TRUTH_CHECK(serve_request(server) == 15);
	TRUTH_CHECK(recv(server, buffer, 10, MSG_DONTWAIT) == -1 && errno == EAGAIN);
	TRUTH_CHECK(shutdown(client, SHUT_WR) == 0 && read(server, buffer, 10) == 0);
	truth("expect jdk.SocketWrite count=4 port=%d sum:bytesWritten=40", port);
	truth("expect jdk.SocketRead count=4 port=%d sum:bytesRead=40", own);
	truth("expect jdk.SocketRead count=1 port=%d endOfStream=true bytesRead=0", own);
	truth("expect-stack jdk.SocketRead count=1 bytesRead=15 read_request serve_request");
	TRUTH_CHECK(close(client) == 0 && close(server) == 0 && close(listener) == 0);
	/* The kernel counts SYN and FIN as a byte each. */
	truth("expect holter.SocketClose count=1 port=%d descriptor=%d min:bytesSent>=40 "
	      "max:bytesSent<=42 min:segmentsOut>=4",
	      port, client);
	truth("expect holter.SocketClose count=1 port=%d descriptor=%d min:bytesReceived>=40 "
	      "max:bytesReceived<=42",
	      own, server);
	truth("expect holter.CallFailed count=1 call=recv error=%d descriptor=%d", EAGAIN, server);
}

static void tcp_failures(void)
{
	int closed = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in address = listen_on(closed), busy;
	int listener = socket(AF_INET, SOCK_STREAM, 0), pending, error = 0;
	socklen_t length = sizeof(error);
	struct pollfd polled;

	close(closed);
	TRUTH_CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == -1);
	TRUTH_CHECK(errno == ECONNREFUSED && close(fd) == 0);
	truth("expect holter.SocketConnect count=1 port=%d error=%d", ntohs(address.sin_port),
	      ECONNREFUSED);
	busy = listen_on(listener);
	TRUTH_CHECK(listen(listener, 4) == 0);
	pending = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (connect(pending, (struct sockaddr *)&busy, sizeof(busy)) == 0)
		truth_fail("a non-blocking connect that was done at once");
	TRUTH_CHECK(errno == EINPROGRESS);
	truth("expect holter.SocketConnect count=1 port=%d error=%d", ntohs(busy.sin_port),
	      EINPROGRESS);
	polled = (struct pollfd){ .fd = pending, .events = POLLOUT };
	TRUTH_CHECK(poll(&polled, 1, 5000) == 1);
	TRUTH_CHECK(getsockopt(pending, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0);
	TRUTH_CHECK(send(pending, buffer, 7, 0) == 7);
	truth("expect jdk.SocketWrite count=1 port=%d bytesWritten=7", ntohs(busy.sin_port));
	close(pending);
	close(listener);
}

/* Datagrams name their peers; a connected one need not. */
static void datagrams(void)
{
	int one = socket(AF_INET, SOCK_DGRAM, 0), two = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in first = listen_on(one), second = listen_on(two), from;
	struct sockaddr *to = (struct sockaddr *)&second;
	socklen_t length = sizeof(from);
	struct iovec vector = { buffer, 11 };
	struct mmsghdr messages[3] = { 0 };
	struct msghdr message = { .msg_name = &second,
				  .msg_namelen = sizeof(second),
				  .msg_iov = &vector,
				  .msg_iovlen = 1 };

	TRUTH_CHECK(sendto(one, buffer, 12, 0, to, sizeof(second)) == 12);
	TRUTH_CHECK(recvfrom(two, buffer, 100, 0, (struct sockaddr *)&from, &length) == 12);
	TRUTH_CHECK(sendmsg(one, &message, 0) == 11);
	message.msg_name = &from;
	TRUTH_CHECK(recvmsg(two, &message, 0) == 11);
	for (int i = 0; i < 3; i++) {
		messages[i].msg_hdr = message;
		messages[i].msg_hdr.msg_name = &second;
	}
	TRUTH_CHECK(sendmmsg(one, messages, 3, 0) == 3);
	for (int i = 0; i < 3; i++)
		messages[i].msg_hdr.msg_name = &from;
	TRUTH_CHECK(recvmmsg(two, messages, 3, 0, NULL) == 3);
	TRUTH_CHECK(connect(one, to, sizeof(second)) == 0 && send(one, buffer, 5, 0) == 5);
	truth("expect jdk.SocketWrite count=4 address=127.0.0.1 port=%d sum:bytesWritten=61",
	      ntohs(second.sin_port));
	truth("expect jdk.SocketRead count=3 address=127.0.0.1 port=%d sum:bytesRead=56",
	      ntohs(first.sin_port));
	close(one);
	close(two);
}

static void local_sockets(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
	int server, length;

	length =
		snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "holter-%d", getpid());
	length += (int)offsetof(struct sockaddr_un, sun_path) + 1;
	TRUTH_CHECK(bind(listener, (struct sockaddr *)&address, (socklen_t)length) == 0);
	TRUTH_CHECK(listen(listener, 1) == 0);
	TRUTH_CHECK(connect(client, (struct sockaddr *)&address, (socklen_t)length) == 0);
	server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	TRUTH_CHECK(send(client, buffer, 21, 0) == 21 && recv(server, buffer, 100, 0) == 21);
	truth("expect holter.SocketConnect count=1 address~holter-%d error=0", getpid());
	truth("expect jdk.SocketWrite count=1 address~holter-%d bytesWritten=21", getpid());
	truth("expect jdk.SocketRead count=1 address~holter-%d bytesRead=21", getpid());
	close(client);
	close(server);
	close(listener);
}

/* A number that is a socket, then a pipe, then a socket again, by roads that a hook may not see. */
static void reused_descriptor(void)
{
	struct {
		struct cmsghdr head;
		int fd;
	} passed = { 0 };
	struct iovec vector = { buffer, 1 };
	struct msghdr message = { .msg_iov = &vector,
				  .msg_iovlen = 1,
				  .msg_control = &passed,
				  .msg_controllen = sizeof(passed) };
	int pair[2], ends[2], way[2], got;

	TRUTH_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	TRUTH_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, way) == 0);
	TRUTH_CHECK(write(pair[0], buffer, 31) == 31 && read(pair[1], buffer, 31) == 31);
	TRUTH_CHECK(fclose(fdopen(pair[0], "w")) == 0); /* closed inside libc */
	TRUTH_CHECK(pipe(ends) == 0 && ends[0] == pair[0]);
	TRUTH_CHECK(write(ends[1], buffer, 32) == 32 && read(ends[0], buffer, 32) == 32);
	truth("expect jdk.FileRead count=1 path~^pipe: bytesRead=32");
	truth("expect jdk.FileWrite count=1 path~^pipe: bytesWritten=32");
	passed.head = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(&passed.head), &ends[0], sizeof(int));
	TRUTH_CHECK(sendmsg(way[0], &message, 0) == 1);
	TRUTH_CHECK(close(pair[1]) == 0 && recvmsg(way[1], &message, 0) == 1);
	memcpy(&got, CMSG_DATA(&passed.head), sizeof(int));
	TRUTH_CHECK(got == pair[1]); /* was a socket, now it is a pipe */
	TRUTH_CHECK(write(ends[1], buffer, 33) == 33 && read(got, buffer, 33) == 33);
	truth("expect jdk.FileRead count=1 bytesRead=33");
	TRUTH_CHECK(dup2(way[0], got) == got && write(got, buffer, 34) == 34);
	truth("expect jdk.SocketWrite count=1 bytesWritten=34");
	close(got);
	got = fcntl(ends[1], F_DUPFD, got);
	TRUTH_CHECK(write(got, buffer, 35) == 35);
	truth("expect jdk.FileWrite count=1 path~^pipe: bytesWritten=35");
	close_range((unsigned)pair[0], (unsigned)got + 1, 0);
}

static void poll_calls(void)
{
	struct timespec none = { 0, 0 };
	struct timeval at_once = { 0, 0 };
	struct epoll_event event = { .events = EPOLLIN };
	struct pollfd polled = { .events = POLLIN };
	int ends[2], epoll = epoll_create1(0);
	fd_set set;

	TRUTH_CHECK(pipe(ends) == 0 && write(ends[1], buffer, 1) == 1);
	polled.fd = ends[0];
	TRUTH_CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event) == 0);
	FD_ZERO(&set);
	FD_SET(ends[0], &set);
	TRUTH_CHECK(poll(&polled, 1, 1234) == 1 && ppoll(&polled, 1, &none, NULL) == 1);
	TRUTH_CHECK(select(ends[0] + 1, &set, NULL, NULL, &at_once) == 1);
	TRUTH_CHECK(pselect(ends[0] + 1, &set, NULL, NULL, NULL, NULL) == 1);
	TRUTH_CHECK(epoll_wait(epoll, &event, 1, 2345) == 1);
	TRUTH_CHECK(epoll_pwait(epoll, &event, 1, -1, NULL) == 1);
	polled.fd = -1;
	TRUTH_CHECK(poll(&polled, 1, 3) == 0);
	truth("expect holter.Poll count=1 call=poll ready=1 timeout=1234");
	truth("expect holter.Poll count=1 call=poll ready=0 timeout=3");
	truth("expect holter.Poll count=1 call=ppoll ready=1 timeout=0");
	truth("expect holter.Poll count=1 call=select ready=1 timeout=0");
	truth("expect holter.Poll count=1 call=pselect ready=1 timeout=-1");
	truth("expect holter.Poll count=1 call=epoll_wait ready=1 timeout=2345");
	truth("expect holter.Poll count=1 call=epoll_pwait ready=1 timeout=-1");
	close(ends[0]);
	close(ends[1]);
	close(epoll);
}

static void lookups(void)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST }, *result;
	char host[64];
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(0x7f000009) };

	TRUTH_CHECK(getaddrinfo("127.0.0.7", NULL, &hints, &result) == 0);
	freeaddrinfo(result);
	TRUTH_CHECK(getaddrinfo("not a number", NULL, &hints, &result) == EAI_NONAME);
	TRUTH_CHECK(gethostbyname("127.0.0.8") != NULL);
	TRUTH_CHECK(getnameinfo((struct sockaddr *)&address, sizeof(address), host, sizeof(host),
				NULL, 0, NI_NUMERICHOST) == 0);
	truth("expect holter.NameLookup count=1 call=getaddrinfo name=127.0.0.7 result=0");
	truth("expect holter.NameLookup count=1 call=getaddrinfo 'name=not a number' result=%d",
	      EAI_NONAME);
	truth("expect holter.NameLookup count=1 call=gethostbyname name=127.0.0.8 result=0");
	truth("expect holter.NameLookup count=1 call=getnameinfo name=127.0.0.9 result=0");
}

int main(void)
{
	tcp_connection();
	tcp_failures();
	datagrams();
	local_sockets();
	reused_descriptor();
	poll_calls();
	lookups();
	truth_flush();
	return 0;
}
