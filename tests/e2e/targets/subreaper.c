/*
 * A program to which orphans come back: what the recorder starts must not be met by its wait().
 *
 * In: nothing. Out: lines that must be the same without the recorder.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "truth.h"

/* As the kernel gives it. */
struct kernel_action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

int main(void)
{
	struct kernel_action now = { 0 };
	int waited = 0;

	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
		truth_fail("prctl");
	/* Only where it is handled, which is by the recorder: then it asks for a leader. */
	syscall(SYS_rt_sigaction, SIGUSR2, NULL, &now, sizeof(now.mask));
	if (now.handler != SIG_DFL)
		raise(SIGUSR2);
	usleep(300000);
	for (int i = 0; i < 3; i++)
		if (fork() == 0)
			_exit(i);
	alarm(20);
	while (wait(NULL) > 0)
		waited++;
	truth("%d children, then %s", waited, errno == ECHILD ? "none" : "an error");
	truth_flush();
	return 0;
}
