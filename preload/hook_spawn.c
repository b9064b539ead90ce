/*
 * Hooks of starting another program beside this one: posix_spawn, system, popen.
 *
 * In: the program's calls. Out: the real results, ProcessStart with the command. What libc does
 * inside (fork, exec, wait) meets no hook.
 */
#include "preload/program_start.h"

#include <stdlib.h>

#define PRE_GATE_PROCESS (PRE_GATE(PROCESS) | PRE_GATE(ERROR))

/* Behind posix_spawn; returns its result. */
static int spawned(int result, uint64_t start, const pid_t *child, char *const argv[])
{
	if (result == 0)
		pre_program_start(start, rec_clock_now(), (uint32_t)*child, argv);
	else if (pre_gate_any(PRE_GATE(ERROR)))
		pre_call_failed(rec_thread_self(), EV_NAME_posix_spawn, result, -1);
	return result;
}

PRE_SLOW int slow_posix_spawn(pid_t *pid, const char *path,
			      const posix_spawn_file_actions_t *actions,
			      const posix_spawnattr_t *attributes, char *const argv[],
			      char *const envp[])
{
	pid_t own = 0;
	pid_t *told = pid ? pid : &own;
	uint64_t start = rec_clock_now();
	int result = pre_real.posix_spawn(told, path, actions, attributes, argv, envp);

	return spawned(result, start, told, argv);
}

PRE_HOOK int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
			 const posix_spawnattr_t *attributes, char *const argv[],
			 char *const envp[])
{
	if (likely(!pre_gate_any(PRE_GATE_PROCESS)))
		return pre_real.posix_spawn(pid, path, actions, attributes, argv, envp);
	return slow_posix_spawn(pid, path, actions, attributes, argv, envp);
}

PRE_SLOW int slow_posix_spawnp(pid_t *pid, const char *file,
			       const posix_spawn_file_actions_t *actions,
			       const posix_spawnattr_t *attributes, char *const argv[],
			       char *const envp[])
{
	pid_t own = 0;
	pid_t *told = pid ? pid : &own;
	uint64_t start = rec_clock_now();
	int result = pre_real.posix_spawnp(told, file, actions, attributes, argv, envp);

	return spawned(result, start, told, argv);
}

PRE_HOOK int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			  const posix_spawnattr_t *attributes, char *const argv[],
			  char *const envp[])
{
	if (likely(!pre_gate_any(PRE_GATE_PROCESS)))
		return pre_real.posix_spawnp(pid, file, actions, attributes, argv, envp);
	return slow_posix_spawnp(pid, file, actions, attributes, argv, envp);
}

/* As the shell is called. */
static void shell_started(uint64_t start, uint64_t end, const char *command)
{
	char *const argv[] = { (char *)"sh", (char *)"-c", (char *)(uintptr_t)command, NULL };

	pre_program_start(start, end, 0, argv);
}

/* Before the call, which lasts as long as the command: a dump meanwhile shows what is running. */
PRE_SLOW int slow_system(const char *command)
{
	uint64_t now = rec_clock_now();
	int result;

	if (command)
		shell_started(now, now, command);
	result = pre_real.system(command);
	if (result == -1)
		pre_failed(EV_NAME_system, -1);
	return result;
}

PRE_HOOK int system(const char *command)
{
	if (likely(!pre_gate_any(PRE_GATE_PROCESS)))
		return pre_real.system(command);
	return slow_system(command);
}

PRE_SLOW FILE *slow_popen(const char *command, const char *type)
{
	uint64_t start = rec_clock_now();
	FILE *stream = pre_real.popen(command, type);

	if (stream)
		shell_started(start, rec_clock_now(), command);
	else
		pre_failed(EV_NAME_popen, -1);
	return stream;
}

PRE_HOOK FILE *popen(const char *command, const char *type)
{
	if (likely(!pre_gate_any(PRE_GATE_PROCESS)))
		return pre_real.popen(command, type);
	return slow_popen(command, type);
}
