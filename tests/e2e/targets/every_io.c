/*
 * Calls every hook of sockets, descriptors, files and name lookup, so that it succeeds and so that
 * it fails, and prints result and errno: they must be the same with and without the recorder.
 */
#include "tests/e2e/targets/truth.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

/* The fortified names, which compilers call where a buffer's size is known. */
ssize_t __read_chk(int fd, void *buffer, size_t size, size_t room);
ssize_t __recv_chk(int fd, void *buffer, size_t size, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *buffer, size_t size, size_t room, int flags,
		       struct sockaddr *address, socklen_t *length);
ssize_t __pread_chk(int fd, void *buffer, size_t size, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *buffer, size_t size, off64_t offset, size_t room);
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		const sigset_t *mask, size_t room);
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int at, const char *path, int flags);
int __openat64_2(int at, const char *path, int flags);

/* Result and errno of one call; errno is set before, so that a call that must keep it is seen to.
 */
#define SAY(call)                                                                                  \
	do {                                                                                       \
		long result_;                                                                      \
		errno = 77;                                                                        \
		result_ = (long)(call);                                                            \
		truth("%s = %ld errno %d", #call, result_, result_ < 0 ? errno : 0);               \
	} while (0)

static char buffer[4096];
static struct iovec vector[2] = { { buffer, 3 }, { buffer + 8, 5 } };

static void stream_calls(void)
{
	struct msghdr message = { .msg_iov = vector, .msg_iovlen = 2 };
	struct mmsghdr messages[2] = { { .msg_hdr = { .msg_iov = vector, .msg_iovlen = 1 } },
				       { .msg_hdr = { .msg_iov = vector + 1, .msg_iovlen = 1 } } };
	int fd[2];

	SAY(socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
	SAY(write(fd[0], buffer, 10));
	SAY(read(fd[1], buffer, 4));
	SAY(__read_chk(fd[1], buffer, 6, sizeof(buffer)));
	SAY(writev(fd[0], vector, 2));
	SAY(readv(fd[1], vector, 2));
	SAY(send(fd[0], buffer, 20, MSG_NOSIGNAL));
	SAY(recv(fd[1], buffer, 5, MSG_PEEK));
	SAY(recv(fd[1], buffer, 5, 0));
	SAY(__recv_chk(fd[1], buffer, 5, sizeof(buffer), 0));
	SAY(recvfrom(fd[1], buffer, 5, 0, NULL, NULL));
	SAY(__recvfrom_chk(fd[1], buffer, 5, sizeof(buffer), 0, NULL, NULL));
	SAY(sendto(fd[0], buffer, 9, 0, NULL, 0));
	SAY(sendmsg(fd[0], &message, 0));
	SAY(recvmsg(fd[1], &message, 0));
	SAY(sendmmsg(fd[0], messages, 2, 0));
	SAY(recvmmsg(fd[1], messages, 2, MSG_DONTWAIT, NULL));
	SAY(recv(fd[1], buffer, sizeof(buffer), MSG_DONTWAIT));
	SAY(recv(fd[1], buffer, sizeof(buffer), MSG_DONTWAIT));
	SAY(shutdown(fd[0], SHUT_WR));
	SAY(read(fd[1], buffer, 10));
	SAY(close(fd[0]));
	SAY(write(fd[1], buffer, 1) < 0 ? errno : 0);
	SAY(close(fd[1]));
	SAY(close(fd[1]));
	SAY(read(fd[1], buffer, 1));
	SAY(write(fd[1], buffer, 1));
	SAY(send(fd[1], buffer, 1, 0));
	SAY(readv(-1, vector, 2));
	SAY(writev(-1, vector, 2));
	SAY(recvmsg(-1, &message, 0));
	SAY(sendmsg(-1, &message, 0));
}

static void network_calls(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr *generic = (struct sockaddr *)&address;
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd, peer;

	SAY(bind(listener, generic, length));
	SAY(listen(listener, 4));
	getsockname(listener, generic, &length);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	SAY(connect(fd, generic, length));
	SAY(peer = accept(listener, NULL, NULL));
	SAY(close(peer));
	SAY(close(fd));
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	truth("non-blocking connect %d", connect(fd, generic, length) == 0 || errno == EINPROGRESS);
	SAY(peer = accept4(listener, generic, &length, SOCK_CLOEXEC));
	truth("close-on-exec %d", fcntl(peer, F_GETFD));
	SAY(close(peer));
	SAY(close(fd));
	fcntl(listener, F_SETFL, O_NONBLOCK);
	SAY(accept(listener, NULL, NULL));
	SAY(accept4(-1, NULL, NULL, 0));
	SAY(close(listener));
	fd = socket(AF_INET, SOCK_STREAM, 0);
	address.sin_port = htons(1); /* nobody listens there */
	SAY(connect(fd, generic, sizeof(address)));
	SAY(connect(-1, generic, sizeof(address)));
	SAY(bind(-1, generic, sizeof(address)));
	SAY(listen(-1, 1));
	SAY(shutdown(fd, SHUT_RD));
	SAY(close(fd));
	SAY(socket(AF_INET, 99, 0));
}

static void wait_calls(void)
{
	struct timespec none = { 0, 0 };
	struct timeval at_once = { 0, 0 };
	struct epoll_event event = { .events = EPOLLIN };
	struct pollfd polled = { .events = POLLIN };
	fd_set set;
	int fd[2], epoll, event_fd, ends[2];
	uint64_t value = 0;

	TRUTH_CHECK(pipe(fd) == 0);
	polled.fd = fd[0];
	SAY(poll(&polled, 1, 0));
	SAY(write(fd[1], "x", 1));
	SAY(poll(&polled, 1, 1000));
	SAY(ppoll(&polled, 1, &none, NULL));
	SAY(__poll_chk(&polled, 1, 0, sizeof(polled)));
	SAY(__ppoll_chk(&polled, 1, &none, NULL, sizeof(polled)));
	FD_ZERO(&set);
	FD_SET(fd[0], &set);
	SAY(select(fd[0] + 1, &set, NULL, NULL, &at_once));
	SAY(pselect(fd[0] + 1, &set, NULL, NULL, &none, NULL));
	epoll = epoll_create1(0);
	TRUTH_CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, fd[0], &event) == 0);
	SAY(epoll_wait(epoll, &event, 1, 1000));
	SAY(epoll_pwait(epoll, &event, 1, 0, NULL));
	SAY(epoll_pwait2(epoll, &event, 1, &none, NULL));
	SAY(epoll_wait(-1, &event, 1, 0));
	SAY(close(epoll_create(1)));
	SAY(epoll_create(0));
	SAY(eventfd_write(event_fd = eventfd(3, EFD_NONBLOCK), 4));
	SAY(read(event_fd, &value, sizeof(value)));
	truth("value %lu", (unsigned long)value);
	SAY(read(event_fd, &value, sizeof(value)));
	SAY(close(event_fd));
	TRUTH_CHECK(pipe2(ends, O_CLOEXEC) == 0);
	SAY(fcntl64(ends[0], F_GETFD));
	SAY(close(fcntl64(ends[0], F_DUPFD_CLOEXEC, 100)));
	SAY(close(ends[0]) + close(ends[1]));
	SAY(poll(NULL, 0, 1));
	SAY(close(epoll));
	SAY(close(fd[0]));
	SAY(close(fd[1]));
}

static void open_calls(const char *path)
{
	int fd;

	SAY((fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0640)) >= 0);
	SAY(close(fd));
	SAY(open(path, O_RDWR | O_CREAT | O_EXCL, 0640));
	SAY(close(open64(path, O_RDONLY)));
	SAY(close(openat(AT_FDCWD, path, O_RDONLY)));
	SAY(close(openat64(AT_FDCWD, path, O_RDONLY)));
	SAY(close(creat(path, 0640)));
	SAY(close(creat64(path, 0640)));
	SAY(close(__open_2(path, O_RDONLY)));
	SAY(close(__open64_2(path, O_RDONLY)));
	SAY(close(__openat_2(AT_FDCWD, path, O_RDONLY)));
	SAY(close(__openat64_2(AT_FDCWD, path, O_RDONLY)));
	SAY(openat(-5, "nothing", O_RDONLY));
	SAY(close(open("/tmp", O_TMPFILE | O_RDWR, 0600)));
}

static void file_calls(const char *path)
{
	struct stat status;
	off_t at = 0;
	off64_t at64 = 0;
	int fd, other, ends[2];

	TRUTH_CHECK((fd = open(path, O_RDWR)) >= 0 && fstat(fd, &status) == 0);
	truth("mode %o", status.st_mode & 0777);
	SAY(pwrite(fd, "0123456789", 10, 0));
	SAY(pwrite64(fd, "abc", 3, 10));
	SAY(pwritev(fd, vector, 2, 20));
	SAY(pwritev64(fd, vector, 2, 30));
	SAY(pwritev2(fd, vector, 2, 40, 0));
	SAY(pwritev64v2(fd, vector, 2, 40, 0));
	SAY(preadv64v2(fd, vector, 2, 40, 0));
	SAY(pread(fd, buffer, 10, 0));
	SAY(memcmp(buffer, "0123456789", 10));
	SAY(pread64(fd, buffer, 10, 5));
	SAY(__pread_chk(fd, buffer, 10, 0, sizeof(buffer)));
	SAY(__pread64_chk(fd, buffer, 10, 0, sizeof(buffer)));
	SAY(preadv(fd, vector, 2, 0));
	SAY(preadv64(fd, vector, 2, 0));
	SAY(preadv2(fd, vector, 2, 0, 0));
	SAY(pread(fd, buffer, 10, 1000));
	SAY(pread(-1, buffer, 10, 0));
	SAY(pwrite(-1, buffer, 10, 0));
	SAY(fsync(fd));
	SAY(fdatasync(fd));
	SAY(fsync(-1));
	SAY(fdatasync(-1));
	other = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	SAY(sendfile(other, fd, &at, 10));
	SAY(sendfile64(other, fd, &at64, 10));
	SAY(sendfile(-1, fd, NULL, 10));
	TRUTH_CHECK(pipe(ends) == 0);
	at64 = 0;
	SAY(splice(fd, &at64, ends[1], NULL, 8, 0));
	SAY(splice(ends[0], NULL, other, NULL, 8, 0));
	SAY(splice(-1, NULL, other, NULL, 8, 0));
	SAY(close(dup(fd)));
	SAY(dup2(fd, 200));
	SAY(dup3(fd, 201, O_CLOEXEC));
	SAY(dup(-1));
	SAY(dup2(-1, 202));
	SAY(close_range(200, 300, 0));
	SAY(read(200, buffer, 1));
	SAY(close(ends[0]) + close(ends[1]) + close(other) + close(fd));
	TRUTH_CHECK((fd = open(path, O_RDWR)) >= 0);
	closefrom(fd);
	SAY(read(fd, buffer, 1));
}

static void name_calls(void)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST }, *result;
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct hostent entry, *found;
	char host[64], service[16];
	int error;

	SAY(getaddrinfo("127.0.0.1", "80", &hints, &result));
	freeaddrinfo(result);
	SAY(getaddrinfo("no number", NULL, &hints, &result));
	SAY(getnameinfo((struct sockaddr *)&address, sizeof(address), host, sizeof(host), service,
			sizeof(service), NI_NUMERICHOST | NI_NUMERICSERV));
	truth("host %s service %s", host, service);
	SAY(gethostbyname("127.0.0.1") != NULL);
	SAY(gethostbyname2("127.0.0.2", AF_INET) != NULL);
	SAY(gethostbyname_r("127.0.0.3", &entry, buffer, sizeof(buffer), &found, &error));
	truth("found %s", found ? found->h_name : "nothing");
	SAY(gethostbyname2_r("127.0.0.4", AF_INET, &entry, buffer, sizeof(buffer), &found, &error));
	truth("found %s", found ? found->h_name : "nothing");
	(void)gethostbyaddr_r(&address.sin_addr, sizeof(address.sin_addr), AF_INET, &entry, buffer,
			      sizeof(buffer), &found, &error);
	/* Whether a name is known is the machine's business; that it returns is ours. */
	(void)gethostbyaddr(&address.sin_addr, sizeof(address.sin_addr), AF_INET);
}

int main(void)
{
	char path[64];

	signal(SIGPIPE, SIG_IGN);
	snprintf(path, sizeof(path), "/tmp/holter-every-%d", getpid());
	stream_calls();
	network_calls();
	wait_calls();
	open_calls(path);
	name_calls();
	file_calls(path); /* closes every descriptor at its end */
	unlink(path);
	truth("expect holter.CallFailed count>=20 error=%d", EBADF);
	truth("expect holter.SocketConnect count>=1 error=%d", ECONNREFUSED);
	truth("expect jdk.FileForce count>=2");
	truth_flush();
	return 0;
}
