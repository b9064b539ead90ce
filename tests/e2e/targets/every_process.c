/*
 * Calls every hook of processes, libraries and signals in children and prints what came of them: it
 * must be the same with and without the recorder. With `child` as argument it is what the exec
 * functions start.
 */
#include "tests/e2e/targets/truth.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define SAY(call)                                                                                  \
	do {                                                                                       \
		long result_;                                                                      \
		errno = 77;                                                                        \
		result_ = (long)(call);                                                            \
		truth("%s = %ld errno %d", #call, result_, result_ < 0 ? errno : 0);               \
	} while (0)

static char self[] = "/proc/self/exe";
static char child_word[] = "child", name_word[] = "MARK=here";
static char *child_arguments[] = { self, child_word, NULL };
static char *child_environment[] = { name_word, NULL };

static void say_status(const char *what, int status)
{
	if (WIFEXITED(status))
		truth("%s: exit %d", what, WEXITSTATUS(status));
	else
		truth("%s: signal %d", what, WTERMSIG(status));
}

/* The ways to start another program; each child says with 40 that its arguments came through. */
static void start_program(int how)
{
	char *shell[] = { (char[]){ "sh" }, (char[]){ "-c" }, (char[]){ "exit 40" }, NULL };

	switch (how) {
	case 0:
		execve(self, child_arguments, child_environment);
		break;
	case 1:
		execv(self, child_arguments);
		break;
	case 2:
		execvp("sh", shell);
		break;
	case 3:
		execvpe("sh", shell, child_environment);
		break;
	case 4:
		fexecve(open(self, O_RDONLY | O_CLOEXEC), child_arguments, child_environment);
		break;
	case 5:
		execl(self, self, child_word, (char *)NULL);
		break;
	case 6:
		execlp("sh", "sh", "-c", "exit 40", (char *)NULL);
		break;
	case 7:
		execle(self, self, child_word, (char *)NULL, child_environment);
		break;
	default:
		execve("/nonexistent", child_arguments, child_environment);
		_exit(errno == ENOENT ? 41 : 42);
	}
	_exit(43);
}

static void exec_calls(void)
{
	for (int how = 0; how <= 8; how++) {
		char what[32];
		int status = 0;
		pid_t pid = fork();

		if (pid == 0)
			start_program(how);
		TRUTH_CHECK(waitpid(pid, &status, 0) == pid);
		snprintf(what, sizeof(what), "exec %d", how);
		say_status(what, status);
	}
}

static void vfork_calls(void)
{
	for (volatile int i = 0; i < 20; i++) {
		int status = 0;
		pid_t pid = vfork();

		if (pid == 0) {
			execve(self, child_arguments, child_environment);
			_exit(44);
		}
		TRUTH_CHECK(waitpid(pid, &status, 0) == pid);
		TRUTH_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 40);
	}
	truth("20 children of vfork");
}

static void spawn_calls(void)
{
	extern char **environ;
	char *shell[] = { (char[]){ "sh" }, (char[]){ "-c" }, (char[]){ "exit 40" }, NULL };
	char line[64];
	int status = 0;
	FILE *stream;
	pid_t pid;

	SAY(posix_spawn(&pid, self, NULL, NULL, child_arguments, environ));
	TRUTH_CHECK(waitpid(pid, &status, 0) == pid);
	say_status("posix_spawn", status);
	truth("expect jdk.ProcessStart count=1 pid=%d", pid);
	SAY(posix_spawnp(&pid, "sh", NULL, NULL, shell, environ));
	TRUTH_CHECK(waitpid(pid, &status, 0) == pid);
	say_status("posix_spawnp", status);
	truth("expect jdk.ProcessStart count=1 pid=%d", pid);
	SAY(posix_spawn(&pid, "/nonexistent", NULL, NULL, child_arguments, environ));
	SAY(WEXITSTATUS(system("exit 6")));
	stream = popen("echo from a pipe", "r");
	TRUTH_CHECK(stream != NULL && fgets(line, sizeof(line), stream) != NULL);
	truth("popen: %s", strtok(line, "\n"));
	SAY(pclose(stream));
}

static void end_child(int how)
{
	switch (how) {
	case 0:
		exit(50);
	case 1:
		_exit(51);
	case 2:
		_Exit(52);
	case 3:
		quick_exit(53);
	default:
		signal(SIGABRT, SIG_DFL);
		abort();
	}
}

static void wait_calls(void)
{
	struct rusage usage;
	siginfo_t info;
	int status = 0;
	pid_t pid[5];

	for (int how = 0; how < 5; how++) {
		pid[how] = fork();
		if (pid[how] == 0)
			end_child(how);
		switch (how) {
		case 0:
			TRUTH_CHECK(wait(&status) == pid[how]);
			break;
		case 1:
			TRUTH_CHECK(wait3(&status, 0, &usage) == pid[how]);
			break;
		case 2:
			TRUTH_CHECK(wait4(pid[how], &status, 0, &usage) == pid[how]);
			break;
		case 3:
			TRUTH_CHECK(waitid(P_PID, (id_t)pid[how], &info, WEXITED) == 0);
			truth("waitid: %d %d", info.si_code == CLD_EXITED, info.si_status);
			continue;
		default:
			TRUTH_CHECK(waitpid(pid[how], &status, 0) == pid[how]);
		}
		say_status("child", status);
	}
	SAY(wait(&status));
	SAY(waitpid(-1, &status, WNOHANG));
	SAY(wait3(&status, 0, NULL));
	SAY(wait4(-1, &status, 0, NULL));
	SAY(waitid(P_ALL, 0, &info, WEXITED));
}

static void library_calls(void)
{
	void *library, *again;

	SAY((library = dlopen("libanl.so.1", RTLD_NOW)) != NULL);
	SAY((again = dlopen("libanl.so.1", RTLD_NOW)) == library);
	SAY(dlclose(again));
	SAY(dlclose(library));
	SAY((library = dlmopen(LM_ID_NEWLM, "libanl.so.1", RTLD_NOW)) != NULL);
	SAY(dlclose(library));
	SAY(dlopen("libnowhere.so.9", RTLD_NOW) == NULL);
	truth("error %d", dlerror() != NULL);
	SAY(dlopen(NULL, RTLD_NOW) != NULL);
}

static volatile sig_atomic_t got_signal;

static void on_signal(int number)
{
	got_signal = number;
}

/* The trigger signal included: a program sees what it would see without the recorder. */
static void signal_calls(void)
{
	struct sigaction new = { .sa_handler = on_signal, .sa_flags = SA_RESTART }, old;

	SAY(sigaction(SIGUSR2, NULL, &old));
	truth("default %d", old.sa_handler == SIG_DFL && old.sa_flags == 0);
	SAY(sigaction(SIGUSR2, &new, &old));
	truth("default %d", old.sa_handler == SIG_DFL);
	raise(SIGUSR2);
	SAY(got_signal);
	SAY(signal(SIGUSR2, SIG_IGN) == on_signal);
	SAY(signal(SIGUSR2, SIG_DFL) == SIG_IGN);
	SAY(signal(SIGUSR1, on_signal) == SIG_DFL);
	raise(SIGUSR1);
	SAY(got_signal);
	SAY(sigaction(SIGKILL, &new, NULL));
	SAY(signal(1000, on_signal) == SIG_ERR);
}

/* Without any change, so that it can be said of every user. */
static void identity_calls(void)
{
	SAY(setuid(getuid()));
	SAY(seteuid(geteuid()));
	SAY(setreuid((uid_t)-1, (uid_t)-1));
	SAY(setresuid((uid_t)-1, (uid_t)-1, (uid_t)-1));
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "child") == 0)
		return 40;
	exec_calls();
	vfork_calls();
	spawn_calls();
	wait_calls();
	library_calls();
	signal_calls();
	identity_calls();
	truth("expect holter.ProcessFork count>=14 process=%d", getpid());
	truth("expect jdk.ProcessStart count>=6");
	truth("expect holter.ProcessExit count>=4 status=40");
	truth("expect holter.LibraryLoad count>=4 call=dlopen");
	truth_flush();
	return 0;
}
