/*
 * One thread, one epoll set of pidfds (death_watch.h).
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/engine/engine.h"
#include "tools/death_watch.h"

struct cli_watch {
	struct rec_region *region;
	int epoll_fd;
};

static void *watch_loop(void *context)
{
	struct cli_watch *watch = context;
	struct epoll_event event;

	for (;;) {
		if (epoll_wait(watch->epoll_fd, &event, 1, -1) != 1)
			continue;
		/* Closing takes it out of the set; the leader finds out who it was. */
		close(event.data.fd);
		rec_engine_wake(watch->region);
	}
	return NULL;
}

/* A descriptor for each of up to 1,024 processes. */
static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

struct cli_watch *cli_watch_start(struct rec_region *region)
{
	struct cli_watch *watch = malloc(sizeof(*watch));
	long probe = syscall(SYS_pidfd_open, getpid(), 0);
	pthread_t thread;

	if (!watch || probe < 0)
		goto fail;
	close((int)probe);
	raise_limit();
	watch->region = region;
	watch->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (watch->epoll_fd < 0)
		goto fail;
	if (pthread_create(&thread, NULL, watch_loop, watch) == 0)
		return watch;
	close(watch->epoll_fd);
fail:
	free(watch);
	return NULL;
}

void cli_watch_add(void *context, uint32_t pid)
{
	struct cli_watch *watch = context;
	struct epoll_event event = { .events = EPOLLIN };
	long fd = syscall(SYS_pidfd_open, (pid_t)pid, 0);

	if (fd < 0 && errno == ESRCH)
		rec_engine_wake(watch->region);
	if (fd < 0)
		return;
	event.data.fd = (int)fd;
	if (epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, (int)fd, &event))
		close((int)fd);
}
