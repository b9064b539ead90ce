/*
 * Children by clone() that share the program's memory and thread-local storage, at work at the same
 * time as it: what they do must not get in each other's way.
 *
 * In: nothing. Out: lines that must be the same without the recorder.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "truth.h"

#define ROUNDS 200000
#define STACK_BYTES 65536

static int zeros, nowhere;

static void work(void)
{
	char buffer[8];

	for (int i = 0; i < ROUNDS; i++)
		if (read(zeros, buffer, sizeof(buffer)) != sizeof(buffer) ||
		    write(nowhere, buffer, sizeof(buffer)) != sizeof(buffer))
			abort();
}

static int child_works(void *status)
{
	work();
	return (int)(intptr_t)status;
}

static int child_execs(void *unused)
{
	close(zeros);
	execl("/bin/true", "true", NULL);
	return unused ? 1 : 2;
}

static void tell(const char *what, pid_t child)
{
	int status = 0;

	if (child < 0 || waitpid(child, &status, 0) != child)
		truth_fail(what);
	truth("%s: %s %d", what, WIFEXITED(status) ? "status" : "signal",
	      WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

int main(void)
{
	char *stack = malloc(STACK_BYTES);
	pid_t child;

	zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	work();
	child = clone(child_execs, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	tell("as vfork", child);
	for (int i = 0; i < 3; i++) {
		child = clone(child_works, stack + STACK_BYTES, CLONE_VM | CLONE_FILES | SIGCHLD,
			      (void *)(intptr_t)(i + 3));
		work();
		tell("beside", child);
	}
	truth_flush();
	return 0;
}
