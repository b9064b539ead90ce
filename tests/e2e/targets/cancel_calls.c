/*
 * Threads cancelled inside blocking calls: cleanup handlers run, the thread ends, and the calls
 * that were cut short leave no event and nothing that disturbs later ones. Early close by another
 * thread as well.
 */
#include "tests/e2e/targets/truth.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

static int pipe_end[2], pair[2], listener, epoll;
static int cleaned;
static char buffer[64];

static void wait_in(int which)
{
	struct pollfd polled = { .fd = pipe_end[0], .events = POLLIN };
	struct iovec vector = { buffer, sizeof(buffer) };
	struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1 };
	struct epoll_event event;
	fd_set set;
	int status;

	switch (which) {
	case 0:
		(void)!read(pipe_end[0], buffer, sizeof(buffer));
		break;
	case 1:
		(void)!readv(pipe_end[0], &vector, 1);
		break;
	case 2:
		recv(pair[0], buffer, sizeof(buffer), 0);
		break;
	case 3:
		recvmsg(pair[0], &message, 0);
		break;
	case 4:
		accept(listener, NULL, NULL);
		break;
	case 5:
		poll(&polled, 1, -1);
		break;
	case 6:
		epoll_wait(epoll, &event, 1, -1);
		break;
	case 7:
		FD_ZERO(&set);
		FD_SET(pipe_end[0], &set);
		select(pipe_end[0] + 1, &set, NULL, NULL, NULL);
		break;
	case 8:
		waitpid(-1, &status, 0);
		break;
	default:
		recvfrom(pair[0], buffer, sizeof(buffer), 0, NULL, NULL);
	}
}

static void clean(void *unused)
{
	(void)unused;
	cleaned++;
}

static void *thread_main(void *which)
{
	pthread_cleanup_push(clean, NULL);
	wait_in((int)(intptr_t)which);
	pthread_cleanup_pop(0);
	return NULL;
}

int main(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	pid_t child = fork();
	int status;

	if (child == 0) {
		pause();
		_exit(0);
	}
	TRUTH_CHECK(pipe(pipe_end) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	TRUTH_CHECK(bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0);
	TRUTH_CHECK(listen(listener, 1) == 0 && (epoll = epoll_create1(0)) >= 0);
	for (int which = 0; which < 10; which++) {
		pthread_t thread;
		void *result = NULL;

		TRUTH_CHECK(pthread_create(&thread, NULL, thread_main, (void *)(intptr_t)which) ==
			    0);
		usleep(20000); /* usually inside the call then; before it is as well */
		TRUTH_CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
		TRUTH_CHECK(result == PTHREAD_CANCELED && cleaned == which + 1);
	}
	truth("cancelled %d", cleaned);
	truth("expect jdk.FileRead count=0 bytesRead=0");
	truth("expect jdk.SocketRead count=0 bytesRead=0");
	truth("expect holter.SocketAccept count=0");
	TRUTH_CHECK(write(pipe_end[1], buffer, 9) == 9 && read(pipe_end[0], buffer, 9) == 9);
	TRUTH_CHECK(send(pair[1], buffer, 8, 0) == 8 && recv(pair[0], buffer, 8, 0) == 8);
	truth("expect jdk.FileRead count=1 path~^pipe bytesRead=9");
	truth("expect jdk.SocketRead count=1 bytesRead=8");
	TRUTH_CHECK(kill(child, 9) == 0 && waitpid(child, &status, 0) == child);
	truth("expect holter.ProcessExit count=1 pid=%d signal=9", child);
	truth_flush();
	return 0;
}
