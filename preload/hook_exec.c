/*
 * Hooks of exec: the process becomes another program.
 *
 * In: the program's calls. Out: the real calls, with everything as the program gave it; before them
 * ProcessStart and the mark that the next image of this process is expected. A vfork child goes
 * straight through. Never here: allocation; the environment is not looked at.
 */
#include <stdarg.h>
#include <unistd.h>

#include "preload/program_start.h"
#include "recorder/region/tables.h"
#include "recorder/sys/raw.h"

enum look { LOOK_PATH, LOOK_SEARCH, LOOK_NOT };

/*
 * Before exec: marks this process's entry and emits ProcessStart, if there is something to execute:
 * a program that tries one folder after the other starts one program. Returns the entry, or NULL.
 */
static struct rec_process *before(const char *file, enum look look, char *const argv[])
{
	const struct rec_own *own = rec_process_own();
	struct rec_process *entry;
	uint64_t now;

	if (pre_is_mute() || !rec_family.base)
		return NULL;
	if (own->pid == 0)
		rec_process_forked();
	/* Another pid: a child by a raw clone that shares our memory. */
	if (own->silent || own->pid != (uint32_t)raw_getpid())
		return NULL;
	entry = rec_process_at(&rec_family, own->process);
	if (entry)
		__atomic_fetch_or(&entry->flags, REC_PROCESS_EXECING, __ATOMIC_RELEASE);
	if (pre_gate_any(PRE_GATE(PROCESS)) && rec_enabled(EV_ProcessStart) &&
	    (look == LOOK_NOT || pre_program_exists(file, look == LOOK_SEARCH))) {
		now = rec_clock_now();
		pre_program_start(now, now, own->pid, argv);
	}
	return entry;
}

/* exec came back: it failed. */
static int failed(struct rec_process *entry, int result, int fd)
{
	if (entry)
		__atomic_fetch_and(&entry->flags, ~(uint32_t)REC_PROCESS_EXECING, __ATOMIC_RELEASE);
	pre_failed(fd < 0 ? EV_NAME_execve : EV_NAME_fexecve, fd);
	return result;
}

PRE_HOOK int execve(const char *path, char *const argv[], char *const envp[])
{
	struct rec_process *entry = before(path, LOOK_PATH, argv);

	return failed(entry, pre_real.execve(path, argv, envp), -1);
}

PRE_HOOK int execv(const char *path, char *const argv[])
{
	struct rec_process *entry = before(path, LOOK_PATH, argv);

	return failed(entry, pre_real.execv(path, argv), -1);
}

PRE_HOOK int execvp(const char *file, char *const argv[])
{
	struct rec_process *entry = before(file, LOOK_SEARCH, argv);

	return failed(entry, pre_real.execvp(file, argv), -1);
}

PRE_HOOK int execvpe(const char *file, char *const argv[], char *const envp[])
{
	struct rec_process *entry = before(file, LOOK_SEARCH, argv);

	return failed(entry, pre_real.execvpe(file, argv, envp), -1);
}

PRE_HOOK int fexecve(int fd, char *const argv[], char *const envp[])
{
	struct rec_process *entry = before(NULL, LOOK_NOT, argv);

	return failed(entry, pre_real.fexecve(fd, argv, envp), fd);
}

/* How many arguments a variadic exec has, the first included, NULL not. */
static size_t count_arguments(const char *first, va_list list)
{
	size_t count = 0;

	for (const char *next = first; next; next = va_arg(list, const char *))
		count++;
	return count;
}

/* Puts them into `argv`, NULL-ended; the list then stands behind the NULL. */
static void gather(char **argv, size_t count, const char *first, va_list *list)
{
	argv[0] = (char *)(uintptr_t)first;
	for (size_t i = 1; i <= count; i++)
		argv[i] = va_arg(*list, char *);
}

PRE_HOOK int execl(const char *path, const char *argument, ...)
{
	va_list list;
	size_t count;

	va_start(list, argument);
	count = count_arguments(argument, list);
	va_end(list);
	char **argv = __builtin_alloca((count + 1) * sizeof(*argv));

	va_start(list, argument);
	gather(argv, count, argument, &list);
	va_end(list);
	return execve(path, argv, environ);
}

PRE_HOOK int execlp(const char *file, const char *argument, ...)
{
	va_list list;
	size_t count;

	va_start(list, argument);
	count = count_arguments(argument, list);
	va_end(list);
	char **argv = __builtin_alloca((count + 1) * sizeof(*argv));

	va_start(list, argument);
	gather(argv, count, argument, &list);
	va_end(list);
	return execvpe(file, argv, environ);
}

/* The environment stands behind the NULL that ends the arguments. */
PRE_HOOK int execle(const char *path, const char *argument, ...)
{
	va_list list;
	size_t count;
	char *const *envp;

	va_start(list, argument);
	count = count_arguments(argument, list);
	va_end(list);
	char **argv = __builtin_alloca((count + 1) * sizeof(*argv));

	va_start(list, argument);
	gather(argv, count, argument, &list);
	envp = va_arg(list, char *const *);
	va_end(list);
	return execve(path, argv, envp);
}
