/*
 * Starts the leader from inside the program (preload.h).
 *
 * In: a slow path or the trigger signal's handler that found no leader. Out: a process of its own
 * that runs `holter leader REGION`. The program is stopped for the time of two vforks and one exec;
 * its descriptors, signal handlers and children are as before. Never here: malloc, libc state.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "preload/object.h"
#include "preload/preload.h"
#include "preload/real.h"
#include "recorder/capture/capture.h"
#include "recorder/engine/config.h"
#include "recorder/sys/raw.h"

#define STACK_BYTES 65536u
#define RETRY_NS 10000000000ull
#define PATH_BYTES 4096u
#define KERNEL_SIGSET_BYTES 8

static char leader_path[PATH_BYTES]; /* "" = no `holter` command found */
static uint64_t last_try_ns;

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool is_executable(const char *path)
{
	return raw_syscall6(SYS_faccessat, -100 /* AT_FDCWD */, (long)path, 1 /* X_OK */, 0, 0,
			    0) == 0;
}

/* Replaces the last `levels` components of `path` (length `length`) by `tail`; false if too long.
 */
static bool sibling(const char *path, size_t length, int levels, const char *tail, char *result)
{
	size_t tail_length = strlen(tail);

	while (levels > 0 && length > 0)
		if (path[--length] == '/')
			levels--;
	if (levels > 0 || length + tail_length + 1 > PATH_BYTES)
		return false;
	memcpy(result, path, length);
	memcpy(result + length, tail, tail_length + 1);
	return true;
}

void pre_leader_prepare(void)
{
	char shim[PATH_BYTES];
	const struct link_map *object = pre_object_of(&rec_family);
	const char *name = object ? object->l_name : NULL;
	size_t length;
	long start = 0;

	if (!name || !*name)
		return;
	if (name[0] != '/') {
		start = raw_syscall3(SYS_getcwd, (long)shim, PATH_BYTES - 1, 0);
		if (start <= 0)
			return;
		shim[start - 1] = '/'; /* getcwd counts its NUL */
	}
	length = strlen(name);
	if ((size_t)start + length >= PATH_BYTES)
		return;
	memcpy(shim + start, name, length + 1);
	length += (size_t)start;
	static const struct {
		int levels;
		const char *tail;
	} places[] = { { 1, "/holter" }, { 2, "/bin/holter" }, { 3, "/bin/holter" } };

	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (sibling(shim, length, places[i].levels, places[i].tail, leader_path) &&
		    is_executable(leader_path))
			return;
	leader_path[0] = 0;
}

bool pre_leader_alive(void)
{
	struct rec_lease *lease = &rec_family.header->lease;
	uint32_t pid = __atomic_load_n(&lease->pid, __ATOMIC_ACQUIRE);

	if (pid == 0 || __atomic_load_n(&lease->expires_ns, __ATOMIC_ACQUIRE) <= monotonic_ns())
		return false;
	/* One that was killed still has its lease: a signal sent now must not wait for its end. */
	return raw_refused() || raw_syscall3(SYS_kill, pid, 0, 0) != -ESRCH;
}

bool pre_leader_would_return(void)
{
	int is_subreaper = 0;

	return raw_getpid() == 1 || (raw_syscall6(SYS_prctl, PR_GET_CHILD_SUBREAPER,
						  (long)&is_subreaper, 0, 0, 0, 0) == 0 &&
				     is_subreaper != 0);
}

/* Second child: becomes the leader. Shares memory with the program until exec: touches nothing. */
static int become_leader(void *unused)
{
	static const uint64_t no_signals = 0;
	char *const arguments[] = { leader_path, (char *)"leader", rec_family.header->path, NULL };
	char *const environment[] = { (char *)"PATH=/usr/bin:/bin", NULL };
	int fd;

	(void)unused;
	raw_kernel3(SYS_setsid, 0, 0, 0);
	if (raw_kernel3(SYS_close_range, 0, ~0u, 0) < 0)
		for (fd = 0; fd < 65536; fd++)
			raw_close(fd);
	fd = raw_open("/dev/null", 2 /* O_RDWR */, 0);
	raw_kernel3(SYS_dup3, fd, 1, 0);
	raw_kernel3(SYS_dup3, fd, 2, 0);
	/* Exec keeps the mask and ignored signals; the leader sets its own dispositions. */
	raw_kernel6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&no_signals, 0, KERNEL_SIGSET_BYTES, 0,
		    0);
	raw_kernel3(SYS_chdir, (long)"/", 0, 0);
	raw_kernel3(SYS_execve, (long)leader_path, (long)arguments, (long)environment);
	raw_kernel3(SYS_exit, 127, 0, 0);
	return 127;
}

struct spawn {
	uint8_t *stack; /* top of what is free */
	long result;
};

/* First child: makes the second one an orphan by ending at once. */
static int make_orphan(void *argument)
{
	struct spawn *spawn = argument;

	spawn->result = pre_real.clone(become_leader, spawn->stack - STACK_BYTES / 2,
				       CLONE_VM | CLONE_VFORK, NULL, NULL, NULL, NULL);
	raw_kernel3(SYS_exit, 0, 0, 0);
	return 0;
}

static bool spawn_leader(void)
{
	uint64_t all = ~0ull, saved = 0;
	int saved_errno = errno;
	struct spawn spawn = { NULL, -1 };
	struct rec_thread *self = rec_thread_current;
	uint8_t *stack = raw_mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int child;

	if (raw_is_error(stack))
		return false;
	spawn.stack = stack + STACK_BYTES;
	/* No handler of the program may run in the children, which share its memory. */
	raw_kernel6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&saved, KERNEL_SIGSET_BYTES,
		    0, 0);
	rec_thread_current = &rec_thread_mute;
	/* Exit signal 0: no SIGCHLD, and only __WALL or __WCLONE can wait for it. */
	child = pre_real.clone(make_orphan, spawn.stack, CLONE_VM | CLONE_VFORK, &spawn, NULL, NULL,
			       NULL);
	if (child > 0)
		raw_kernel6(SYS_wait4, child, 0, (long)__WALL, 0, 0, 0);
	rec_thread_current = self;
	raw_kernel6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&saved, 0, KERNEL_SIGSET_BYTES, 0, 0);
	raw_munmap(stack, STACK_BYTES);
	errno = saved_errno;
	return child > 0 && spawn.result > 0;
}

bool pre_leader_start(void)
{
	struct rec_lease *lease = &rec_family.header->lease;
	uint32_t pid = (uint32_t)raw_getpid();
	uint32_t starting = __atomic_load_n(&lease->starting_pid, __ATOMIC_ACQUIRE);
	uint64_t now = monotonic_ns();
	bool started;

	if (rec_family.header->leader_mode != REC_LEADER_PROCESS || rec_family.header->anonymous)
		return pre_leader_alive();
	if (!leader_path[0] || rec_thread_current == &rec_thread_mute || raw_refused())
		return false;
	if (last_try_ns && now < last_try_ns + RETRY_NS)
		return pre_leader_alive();
	if (pre_leader_would_return())
		return false;
	/* One program of the family at a time; one that died over it is replaced. */
	if (starting != 0 && raw_syscall3(SYS_kill, starting, 0, 0) == 0 && starting != pid)
		return false;
	if (!__atomic_compare_exchange_n(&lease->starting_pid, &starting, pid, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	last_try_ns = now;
	started = pre_leader_alive() || spawn_leader();
	__atomic_store_n(&lease->starting_pid, 0, __ATOMIC_RELEASE);
	return started;
}
