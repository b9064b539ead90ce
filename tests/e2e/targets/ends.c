/*
 * Sleeps three times and ends, in the way its argument says: what was recorded must be in the dump
 * however it ended.
 *
 *   ends return|exit|_exit|quick_exit|thread_exit|segv|abort|kill
 */
#include "tests/e2e/targets/truth.h"

#include <pthread.h>
#include <signal.h>

#define SLEEPS 3

static void *exit_here(void *unused)
{
	(void)unused;
	exit(21);
}

static volatile int sink;

static __attribute__((noinline)) void crash(void)
{
	sink++; /* pcs are looked up as return addresses: not the first instruction */
	*(volatile int *)8 = 1;
}

/* Returns only for `return`. */
static void end(const char *how)
{
	pthread_t thread;

	if (strcmp(how, "exit") == 0)
		exit(22);
	if (strcmp(how, "_exit") == 0)
		_exit(23);
	if (strcmp(how, "quick_exit") == 0)
		quick_exit(24);
	if (strcmp(how, "thread_exit") == 0) {
		pthread_create(&thread, NULL, exit_here, NULL);
		pthread_join(thread, NULL);
	}
	if (strcmp(how, "segv") == 0)
		crash();
	if (strcmp(how, "abort") == 0)
		abort();
	if (strcmp(how, "kill") == 0)
		raise(SIGKILL);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "return";

	for (int i = 0; i < SLEEPS; i++)
		usleep(2000);
	truth("expect jdk.ThreadSleep count=%d time=2ms eventThread.osThreadId=%d duration>=2ms",
	      SLEEPS, getpid());
	truth("expect-stack jdk.ThreadSleep count=%d main ...", SLEEPS);
	truth("expect jdk.DumpReason count=1");
	truth("expect jdk.JVMInformation count=1 pid=%d jvmName~ends javaArguments~%s", getpid(),
	      how);
	if (strcmp(how, "segv") == 0) {
		truth("expect holter.FatalSignal count=1 signal=%d address=8 process=%d", SIGSEGV,
		      getpid());
		truth("expect-stack holter.FatalSignal ... crash ... main ...");
	} else if (strcmp(how, "abort") == 0) {
		truth("expect holter.FatalSignal signal=%d", SIGABRT);
	} else if (strcmp(how, "kill") != 0) {
		truth("expect jdk.Shutdown count=1");
		truth("expect holter.ProcessExit count=1 pid=%d", getpid());
	}
	truth_flush();
	end(how);
	return 20;
}
