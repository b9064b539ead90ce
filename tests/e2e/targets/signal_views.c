/*
 * What a program sees of the dispositions of signals that the recorder handles: always what it
 * would see without it, whoever changed them by whatever call.
 *
 * In: nothing. Out: lines that must be the same without the recorder.
 */
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "truth.h"

/* As the kernel takes it. */
struct kernel_action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

static void on_signal(int number)
{
	(void)number;
}

static const char *name_of(void (*handler)(int))
{
	return handler == SIG_DFL     ? "default"
	       : handler == SIG_IGN   ? "ignored"
	       : handler == on_signal ? "own"
				      : "foreign";
}

static void show(const char *when, int number)
{
	struct sigaction now;

	sigaction(number, NULL, &now);
	truth("%s: %d %s, flags %x", when, number, name_of(now.sa_handler), (unsigned)now.sa_flags);
}

/* A vfork child sets signals for the program it becomes; its parent's are as they were. */
static void change_in_child(void (*handler)(int))
{
	int status;
	pid_t child = vfork();

	if (child == 0) {
		struct sigaction action = { .sa_handler = handler };

		sigaction(SIGUSR2, &action, NULL);
		signal(SIGSEGV, handler);
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	waitpid(child, &status, 0);
}

int main(void)
{
	struct kernel_action ignored = { .handler = SIG_IGN };

	show("start", SIGUSR2);
	show("start", SIGSEGV);
	change_in_child(SIG_IGN);
	show("ignored by a vfork child", SIGUSR2);
	show("ignored by a vfork child", SIGSEGV);
	change_in_child(SIG_DFL);
	show("default in a vfork child", SIGUSR2);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
	sigset(SIGSEGV, on_signal);
#pragma GCC diagnostic pop
	show("sigset", SIGSEGV);
	signal(SIGSEGV, SIG_DFL);
	show("back", SIGSEGV);
	syscall(SYS_rt_sigaction, SIGUSR2, &ignored, NULL, sizeof(ignored.mask));
	show("raw", SIGUSR2);
	truth("signal() tells: %s", name_of(signal(SIGUSR2, on_signal)));
	truth("and then: %s", name_of(signal(SIGUSR2, SIG_DFL)));
	show("end", SIGUSR2);
	truth_flush();
	return 0;
}
