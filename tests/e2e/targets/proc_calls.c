/*
 * Processes: what starts and ends is counted, with pids, commands and statuses that must be
 * recorded; children of every kind record into the same file, in their own name.
 */
#include "tests/e2e/targets/truth.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define NOINLINE __attribute__((noinline, noclone))

extern char **environ;

NOINLINE static pid_t start_worker(int status)
{
	pid_t child = fork();

	if (child == 0)
		_exit(status);
	return child;
}

static void forks(void)
{
	pid_t child[4];
	siginfo_t info;
	int status;

	for (int i = 0; i < 4; i++) {
		child[i] = start_worker(20 + i);
		TRUTH_CHECK(child[i] > 0);
		truth("expect holter.ProcessFork count=1 child=%d eventThread.osThreadId=%d",
		      child[i], getpid());
		truth("expect holter.ProcessExit count=1 pid=%d status=%d signal=0 how=waited",
		      child[i], 20 + i);
		truth("expect holter.ProcessExit count=1 pid=%d status=%d how=_exit "
		      "eventThread.osThreadId=%d",
		      child[i], 20 + i, child[i]);
	}
	truth("expect-stack holter.ProcessFork count=4 start_worker forks main");
	TRUTH_CHECK(waitid(P_PID, (id_t)child[0], &info, WEXITED | WNOWAIT) == 0);
	TRUTH_CHECK(waitid(P_PID, (id_t)child[0], NULL, WEXITED) == 0);
	TRUTH_CHECK(waitpid(child[1], NULL, 0) == child[1]);
	TRUTH_CHECK(wait4(child[2], &status, 0, NULL) == child[2] && WEXITSTATUS(status) == 22);
	TRUTH_CHECK(wait3(&status, 0, NULL) == child[3] && WEXITSTATUS(status) == 23);
	TRUTH_CHECK(wait(&status) == -1 && errno == ECHILD);
	truth("expect holter.CallFailed count=1 call=wait error=%d", ECHILD);
}

static void killed_child(void)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		pause();
		_exit(0);
	}
	TRUTH_CHECK(waitpid(child, &status, WNOHANG) == 0 && kill(child, SIGKILL) == 0);
	TRUTH_CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
	truth("expect holter.ProcessExit count=1 pid=%d status=0 signal=9", child);
}

/* A search through PATH starts one program, however many folders are tried. */
static void executed(void)
{
	char *arguments[] = { (char[]){ "sh" }, (char[]){ "-c" }, (char[]){ "exit 31" }, NULL };
	int status;
	pid_t child = fork();

	if (child == 0) {
		execv("/nowhere/sh", arguments);
		execve("/nonexistent/sh", arguments, environ);
		setenv("PATH", "/nowhere:/nonexistent:/usr/bin:/bin", 1);
		execvp("sh", arguments);
		_exit(99);
	}
	TRUTH_CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 31);
	truth("expect jdk.ProcessStart count=1 pid=%d 'command=sh -c exit 31'", child);
	truth("expect holter.CallFailed count=2 call=execve error=%d", ENOENT);
	child = fork();
	if (child == 0) {
		execl("/bin/sh", "sh", "-c", "exit $0", "32", (char *)NULL);
		_exit(99);
	}
	TRUTH_CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 32);
	truth("expect jdk.ProcessStart count=1 pid=%d 'command=sh -c exit $0 32'", child);
	child = fork();
	if (child == 0) {
		char *environment[] = { (char[]){ "NUMBER=33" }, NULL };

		execle("/bin/sh", "sh", "-c", "exit $NUMBER", (char *)NULL, environment);
		_exit(99);
	}
	TRUTH_CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 33);
	truth("expect jdk.ProcessStart count=1 pid=%d 'command=sh -c exit $NUMBER'", child);
}

NOINLINE static pid_t spawn_helper(char **arguments)
{
	pid_t child = 0;

	TRUTH_CHECK(posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ) == 0);
	return child;
}

static void spawned(void)
{
	char *arguments[] = { (char[]){ "sh" }, (char[]){ "-c" }, (char[]){ "exit 41" }, NULL };
	char where[512], line[32];
	int status;
	pid_t child = spawn_helper(arguments);
	FILE *stream;

	TRUTH_CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 41);
	TRUTH_CHECK(getcwd(where, sizeof(where)) != NULL);
	truth("expect jdk.ProcessStart count=1 pid=%d 'command=sh -c exit 41' 'directory=%s'",
	      child, where);
	truth("expect-stack jdk.ProcessStart pid=%d spawn_helper spawned main", child);
	TRUTH_CHECK(posix_spawnp(NULL, "sh", NULL, NULL, arguments, environ) == 0);
	TRUTH_CHECK(wait(&status) > 0 && WEXITSTATUS(status) == 41);
	TRUTH_CHECK(posix_spawn(&child, "/nowhere", NULL, NULL, arguments, environ) == ENOENT);
	truth("expect holter.CallFailed count=1 call=posix_spawn error=%d", ENOENT);
	TRUTH_CHECK(WEXITSTATUS(system("exit 42")) == 42);
	truth("expect jdk.ProcessStart count=1 pid=0 'command=sh -c exit 42'");
	stream = popen("echo 43", "r");
	TRUTH_CHECK(stream && fgets(line, sizeof(line), stream) && atoi(line) == 43);
	TRUTH_CHECK(pclose(stream) == 0);
	truth("expect jdk.ProcessStart count=1 pid=0 'command=sh -c echo 43'");
}

int main(void)
{
	forks();
	killed_child();
	executed();
	spawned();
	truth("expect holter.ProcessFork count=8 eventThread.osThreadId=%d", getpid());
	truth("expect jdk.Shutdown count=1 reason=exit");
	truth("expect holter.ProcessExit count=1 pid=%d status=17 how=exit", getpid());
	truth_flush();
	exit(17);
}
