/*
 * holter run: makes a region, starts its leader, becomes the program.
 *
 * In: options and a command. Out: the program under this pid, with LD_PRELOAD and nothing else
 * changed: same environment, descriptors, signal mask and dispositions, no child it could meet.
 * Everything that can be wrong is found before anything is started.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "recorder/engine/config.h"
#include "recorder/engine/lease.h"
#include "recorder/region/tables.h"
#include "recorder/sys/procfs.h"
#include "tools/cmd.h"
#include "tools/cmd_region.h"
#include "tools/program_check.h"

#define LEADER_WAIT_NS 1000000000ull

/* All that was said on the command line, as one configuration text. */
struct words {
	char *text;
	size_t used;
};

static void add_words(struct words *words, const char *key, const char *value)
{
	size_t room = strlen(key) + 2 * strlen(value) + 3;
	char *at;

	words->text = cli_realloc(words->text, words->used + room);
	at = words->text + words->used;
	if (words->used)
		*at++ = ',';
	at = stpcpy(at, key);
	/* A value of an option of its own is one value, whatever stands in it. */
	for (; *value; value++) {
		if (*key && (*value == ',' || *value == '\\'))
			*at++ = '\\';
		*at++ = *value;
	}
	*at = 0;
	words->used = (size_t)(at - words->text);
}

static int add_setting(const char *value, void *context)
{
	add_words(context, "", value);
	return 0;
}

static int add_preset(const char *value, void *context)
{
	add_words(context, "settings=", value);
	return 0;
}

static int add_folder(const char *value, void *context)
{
	add_words(context, "dir=", value);
	return 0;
}

/* The shared object beside the command, in ../lib, or where HOLTER_LIB says. */
static int find_shim(char path[CLI_PATH])
{
	static const char *const places[] = { "libholter.so", "../lib/libholter.so",
					      "../lib/holter/libholter.so",
					      "../lib/x86_64-linux-gnu/libholter.so" };
	const char *given = getenv("HOLTER_LIB");
	char self[CLI_PATH], candidate[CLI_PATH + 64];
	ssize_t length;

	if (given && *given) {
		if (!realpath(given, path))
			return cli_failed("HOLTER_LIB=%s: %s", given, strerror(errno));
		return 0;
	}
	length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	self[length > 0 ? length : 0] = 0;
	if (strrchr(self, '/'))
		*strrchr(self, '/') = 0;
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		snprintf(candidate, sizeof(candidate), "%s/%s", self, places[i]);
		if (realpath(candidate, path) && access(path, R_OK) == 0)
			return 0;
	}
	return cli_failed(
		"libholter.so is neither beside %s/holter nor in ../lib: set HOLTER_LIB to "
		"its path",
		self);
}

static int set_preload(const char *shim)
{
	const char *old = getenv("LD_PRELOAD");
	size_t room = strlen(shim) + (old ? strlen(old) : 0) + 2;
	char *value;

	if (strpbrk(shim, " :"))
		return cli_failed(
			"%s: LD_PRELOAD allows no blank or colon in a path: set HOLTER_LIB "
			"to a copy elsewhere",
			shim);
	if (old && strstr(old, shim))
		return 0;
	value = cli_alloc(room);
	snprintf(value, room, "%s%s%s", shim, old && *old ? ":" : "", old ? old : "");
	setenv("LD_PRELOAD", value, 1);
	free(value);
	return 0;
}

/* The grandchild: a session of its own, nothing of the program's, then `holter leader`. */
static void become_leader(const char *self, const char *region_path)
{
	static char name[] = "holter", command[] = "leader";
	char *arguments[] = { name, command, (char *)(uintptr_t)region_path, NULL };
	int null = open("/dev/null", O_RDWR);

	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	if (syscall(SYS_close_range, 3, ~0u, 0))
		for (int fd = 3; fd < 4096; fd++)
			close(fd);
	if (chdir("/"))
		_exit(1);
	unsetenv("LD_PRELOAD");
	execv(self, arguments);
	_exit(1);
}

/*
 * Double fork. The first child has no exit signal, so that not even a blocked SIGCHLD stays pending
 * over exec, and __WALL collects it.
 */
static void start_leader(const struct rec_region *region)
{
	const struct timespec nap = { 0, 300000 };
	uint64_t begin = cli_monotonic_ns();
	char self[CLI_PATH];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	long child;

	if (length <= 0)
		return;
	self[length] = 0;
	child = syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
	if (child == 0) {
		setsid();
		if (fork() == 0)
			become_leader(self, region->header->path);
		_exit(0);
	}
	if (child < 0)
		return;
	while (waitpid((pid_t)child, NULL, __WALL) < 0 && errno == EINTR)
		;
	/* So that a program that is killed at once is dumped all the same. */
	while (!rec_lease_is_held(&region->header->lease, cli_monotonic_ns(),
				  rec_lease_holder_lives) &&
	       cli_monotonic_ns() < begin + LEADER_WAIT_NS)
		nanosleep(&nap, NULL);
}

/* Orphans of pid 1 and of a subreaper come back to it: no leader process there. */
static int adopts_orphans(void)
{
	int is_subreaper = 0;

	prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper);
	return getpid() == 1 || is_subreaper;
}

static int prepare_region(struct rec_config *config, struct rec_config_report *report,
			  struct rec_region *region)
{
	uint32_t pid = (uint32_t)getpid();
	uint64_t start_time = 0;
	uint32_t ppid = 0, index;
	char text[REC_TEXT_BYTES];
	int error;

	rec_region_start_time(pid, &start_time, &ppid);
	if (config->leader == REC_LEADER_PROCESS && !(config->given & 1u << REC_CONFIG_leader) &&
	    adopts_orphans())
		config->leader = REC_LEADER_THREAD;
	error = rec_region_create(region, config->memory_bytes, pid, start_time);
	if (error)
		return cli_failed(
			"cannot make a region of %llu bytes in " CLI_SHM ": %s: free some "
			"of it, or give a smaller `-o memory=`",
			(unsigned long long)config->memory_bytes, holter_error_text(error));
	if (region->header->anonymous) {
		/* It would not survive exec: the program makes its own. */
		rec_region_unmap(region);
		rec_config_print(config, text, sizeof(text));
		setenv("HOLTER", text, 1);
		return 0;
	}
	rec_config_apply(config, region, report);
	index = rec_process_join(region, pid, start_time, ppid, 0);
	if (index == REC_NONE) {
		unlink(region->header->path);
		return cli_failed("cannot enter the program into its region");
	}
	/* The shim sets it: until then the leader knows that nothing is recorded. */
	__atomic_fetch_and(&rec_process_at(region, index)->flags, ~(uint32_t)REC_PROCESS_EXECUTED,
			   __ATOMIC_RELEASE);
	return 0;
}

/* Exec failed after all: nobody shall take that for a crash of the program. */
static int give_up(struct rec_region *region, const char *path, int error)
{
	if (region->base) {
		uint32_t index = rec_process_find(region, (uint32_t)getpid(), 0);

		if (index != REC_NONE)
			__atomic_fetch_or(&rec_process_at(region, index)->flags,
					  REC_PROCESS_EXITING, __ATOMIC_RELEASE);
		unlink(region->header->path);
	}
	return cli_failed("%s: %s", path, strerror(error));
}

static int execute(struct rec_region *region, const char *path, char **argv)
{
	int error;

	execv(path, argv);
	error = errno;
	if (error == ENOEXEC) {
		/* A script without "#!", as execvp() does it. */
		static char shell[] = "/bin/sh";
		size_t count = 0;
		char **arguments;

		while (argv[count])
			count++;
		arguments = cli_alloc((count + 2) * sizeof(*arguments));
		arguments[0] = shell;
		arguments[1] = (char *)(uintptr_t)path;
		memcpy(arguments + 2, argv + 1, count * sizeof(*arguments));
		execv(shell, arguments);
	}
	return give_up(region, path, error);
}

int cli_run(int argc, char **argv)
{
	struct words words = { NULL, 0 };
	const struct cli_option options[] = {
		{ "settings", 's', "NAME",
		  "preset default, profile or everything, or a file of lines", NULL, NULL,
		  add_preset, &words },
		{ "option", 'o', "KEY=VALUE", "a setting (see holter-settings(7)); may be repeated",
		  NULL, NULL, add_setting, &words },
		{ "dir", 'd', "DIR", "folder for dumps", NULL, NULL, add_folder, &words },
		CLI_OPTION_END,
	};
	static struct rec_config config;
	struct rec_config_report report = { 0 };
	struct rec_region region = { 0 };
	char path[CLI_PATH], shim[CLI_PATH], why[CLI_PATH + 256];
	const char *environment = getenv("HOLTER");
	int at, status;

	if (environment && *environment)
		add_words(&words, "", environment);
	at = cli_options(argc, argv, options, 1);
	if (at < 0)
		return -at;
	rec_config_defaults(&config);
	if (rec_config_parse(&config, words.text, REC_CONFIG_STRICT, &report))
		return cli_usage("%s", report.text);
	if (at == argc)
		return cli_usage("no command given");
	status = cli_program_find(argv[at], path);
	if (status)
		return status;
	if (cli_program_check(path, why, sizeof(why)))
		return cli_failed("%s", why);
	status = find_shim(shim);
	if (!status)
		status = set_preload(shim);
	if (!status)
		status = prepare_region(&config, &report, &region);
	if (status)
		return status;
	if (region.base && config.leader == REC_LEADER_PROCESS)
		start_leader(&region);
	return execute(&region, path, argv + at);
}
