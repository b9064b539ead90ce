/*
 * A child in a PID namespace of its own: its numbers mean other processes to everybody else, so it
 * is not recorded, and its parent's recording goes on behind it.
 *
 * In: nothing; needs the right to unshare, else the child is recorded as any. Out: counts for
 * judge.py.
 */
#include <sched.h>
#include <sys/wait.h>

#include "truth.h"

#define CHILD_BYTES 6666
#define PARENT_BYTES 5555
#define COUNT 10

static void allocate(size_t size)
{
	for (int i = 0; i < COUNT; i++)
		free(malloc(size));
}

int main(void)
{
	int is_alone = unshare(CLONE_NEWPID) == 0;
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		allocate(CHILD_BYTES);
		exit(5);
	}
	if (waitpid(child, &status, 0) != child)
		truth_fail("waitpid");
	allocate(PARENT_BYTES);
	truth("child: %d", WEXITSTATUS(status));
	truth("expect profiler.Malloc count=%d size=%d", is_alone ? 0 : COUNT, CHILD_BYTES);
	truth("expect profiler.Malloc count=%d size=%d", COUNT, PARENT_BYTES);
	if (is_alone)
		truth("allow-loss");
	truth_flush();
	return 0;
}
