/*
 * Hooks of a process's beginning and end: fork, wait family, exit family.
 *
 * In: the program's calls. Out: the real results, ProcessFork, ProcessExit, Shutdown; a forked
 * child joins the family at once. vfork is not here (vfork.S), starting programs neither
 * (hook_exec.c).
 */
#include "preload/hook_process.h"

#include <stdlib.h>
#include <unistd.h>

#include "preload/call_failed.h"
#include "preload/preload.h"
#include "recorder/sys/raw.h"

#define PRE_GATE_PROCESS (PRE_GATE(PROCESS) | PRE_GATE(ERROR))

/* Mutable global: pid of the process whose end was recorded; a forked child's differs. */
static uint32_t ended_pid;

static void emit_fork(uint64_t start, pid_t child)
{
	uint64_t end = rec_clock_now();
	struct rec_thread *thread;

	if (!rec_wanted(EV_ProcessFork, end - start))
		return;
	thread = pre_thread();
	if (thread == &rec_thread_mute || !rec_sampled(thread, EV_ProcessFork))
		return;
	struct ev_ProcessFork event = {
		.stack = rec_stack(thread, EV_ProcessFork),
		.child = (uint32_t)child,
		.process = rec_process_own()->pid,
	};

	rec_emit_ProcessFork(thread, start, end, &event);
}

PRE_SLOW pid_t slow_fork(void)
{
	uint64_t start = rec_clock_now();
	pid_t child = pre_real.fork();

	if (child == 0) {
		/* A vfork child's child has memory of its own and may record again. */
		if (pre_is_mute())
			rec_thread_current = &rec_thread_none;
		rec_process_forked();
	} else if (child > 0) {
		emit_fork(start, child);
	} else {
		pre_failed(EV_NAME_fork, -1);
	}
	return child;
}

PRE_HOOK pid_t fork(void)
{
	if (likely(!pre_gate_any(PRE_GATE_PROCESS)))
		return pre_real.fork();
	return slow_fork();
}

static void emit_exit(struct rec_thread *thread, uint32_t pid, int status, int number,
		      enum ev_name how)
{
	struct ev_ProcessExit event = {
		.stack = rec_stack(thread, EV_ProcessExit),
		.pid = pid,
		.status = (uint32_t)status,
		.signal = (uint32_t)number,
		.how = how,
	};

	rec_emit_ProcessExit(thread, rec_clock_now(), &event);
}

/* A child was waited for: `told` is valid if pid > 0. Returns the pid. */
static __attribute__((noinline)) pid_t waited(pid_t pid, const int *told, enum ev_name call)
{
	struct rec_thread *thread;
	int status;

	if (pid < 0)
		pre_failed(call, -1);
	if (pid <= 0)
		return pid;
	status = *told;
	if (!(WIFEXITED(status) || WIFSIGNALED(status)) || !rec_enabled(EV_ProcessExit))
		return pid;
	thread = pre_thread();
	if (thread != &rec_thread_mute && rec_sampled(thread, EV_ProcessExit))
		emit_exit(thread, (uint32_t)pid, WIFEXITED(status) ? WEXITSTATUS(status) : 0,
			  WIFSIGNALED(status) ? WTERMSIG(status) : 0, EV_NAME_waited);
	return pid;
}

PRE_SLOW pid_t slow_wait(int *status)
{
	int own = 0;
	int *told = status ? status : &own;
	pid_t pid = pre_real.wait(told);

	return waited(pid, told, EV_NAME_wait);
}

PRE_HOOK pid_t wait(int *status)
{
	if (likely(!pre_gate_any(PRE_GATE_PROCESS)))
		return pre_real.wait(status);
	return slow_wait(status);
}

PRE_SLOW pid_t slow_waitpid(pid_t pid, int *status, int options)
{
	int own = 0;
	int *told = status ? status : &own;
	pid_t found = pre_real.waitpid(pid, told, options);

	return waited(found, told, EV_NAME_waitpid);
}

PRE_HOOK pid_t waitpid(pid_t pid, int *status, int options)
{
	if (likely(!pre_gate_any(PRE_GATE_PROCESS)))
		return pre_real.waitpid(pid, status, options);
	return slow_waitpid(pid, status, options);
}

PRE_SLOW pid_t slow_wait3(int *status, int options, struct rusage *usage)
{
	int own = 0;
	int *told = status ? status : &own;
	pid_t found = pre_real.wait3(told, options, usage);

	return waited(found, told, EV_NAME_wait3);
}

PRE_HOOK pid_t wait3(int *status, int options, struct rusage *usage)
{
	if (likely(!pre_gate_any(PRE_GATE_PROCESS)))
		return pre_real.wait3(status, options, usage);
	return slow_wait3(status, options, usage);
}

PRE_SLOW pid_t slow_wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	int own = 0;
	int *told = status ? status : &own;
	pid_t found = pre_real.wait4(pid, told, options, usage);

	return waited(found, told, EV_NAME_wait4);
}

PRE_HOOK pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	if (likely(!pre_gate_any(PRE_GATE_PROCESS)))
		return pre_real.wait4(pid, status, options, usage);
	return slow_wait4(pid, status, options, usage);
}

/* siginfo of waitid as a wait status; others than an end give a stop, which is no event. */
static int status_of(const siginfo_t *info)
{
	switch (info->si_code) {
	case CLD_EXITED:
		return (info->si_status & 0xff) << 8;
	case CLD_KILLED:
	case CLD_DUMPED:
		return info->si_status & 0x7f;
	default:
		return 0x7f;
	}
}

PRE_SLOW int slow_waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	siginfo_t own;
	siginfo_t *told = info ? info : &own;
	int status;
	int result;

	own.si_pid = 0;
	result = pre_real.waitid(type, id, told, options);
	if (result != 0) {
		pre_failed(EV_NAME_waitid, -1);
	} else if (!(options & WNOWAIT) && told->si_pid != 0) {
		status = status_of(told);
		waited(told->si_pid, &status, EV_NAME_waitid);
	}
	return result;
}

PRE_HOOK int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	if (likely(!pre_gate_any(PRE_GATE_PROCESS)))
		return pre_real.waitid(type, id, info, options);
	return slow_waitid(type, id, info, options);
}

static void emit_shutdown(struct rec_thread *thread, enum ev_name how)
{
	struct ev_Shutdown event = { .reason = how };

	if (!rec_enabled(EV_Shutdown) || rec_process_own()->pid != rec_family.header->root_pid)
		return;
	event.stack = rec_stack(thread, EV_Shutdown);
	rec_emit_Shutdown(thread, rec_clock_now(), &event);
}

void pre_process_exit_events(enum ev_name how, int status)
{
	struct rec_thread *thread;
	uint32_t self;

	if (pre_is_mute() || !pre_gate_any(PRE_GATE(PROCESS)))
		return;
	thread = pre_thread();
	self = rec_process_own()->pid;
	/* Another pid: a child by a raw clone that shares our memory. */
	if (thread == &rec_thread_mute || (!raw_refused() && self != (uint32_t)raw_getpid()) ||
	    __atomic_exchange_n(&ended_pid, self, __ATOMIC_RELAXED) == self)
		return;
	if (how != EV_NAME_abort && rec_enabled(EV_ProcessExit))
		emit_exit(thread, self, status & 0xff, 0, how);
	emit_shutdown(thread, how);
}

PRE_HOOK void exit(int status)
{
	pre_process_exit_events(EV_NAME_exit, status);
	pre_process_ending(EV_NAME_exit, status);
	pre_real.exit(status);
	__builtin_unreachable();
}

PRE_HOOK void _exit(int status)
{
	pre_process_exit_events(EV_NAME__exit, status);
	pre_process_ending(EV_NAME__exit, status);
	pre_real._exit(status);
	__builtin_unreachable();
}

PRE_HOOK void _Exit(int status)
{
	pre_process_exit_events(EV_NAME__exit, status);
	pre_process_ending(EV_NAME__exit, status);
	pre_real._Exit(status);
	__builtin_unreachable();
}

PRE_HOOK void quick_exit(int status)
{
	pre_process_exit_events(EV_NAME_quick_exit, status);
	pre_process_ending(EV_NAME_quick_exit, status);
	pre_real.quick_exit(status);
	__builtin_unreachable();
}

/* The signal that follows is hook_signal.c's matter. */
PRE_HOOK void abort(void)
{
	pre_process_exit_events(EV_NAME_abort, 0);
	pre_real.abort();
	__builtin_unreachable();
}
