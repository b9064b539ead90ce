/*
 * Hooks of thread creation and thread names.
 *
 * In: calls of the program. Out: ThreadStart (emitted by the new thread, with the creator's stack),
 * ThreadEnd, names of threads. The new thread begins in a function of ours that hands over by a
 * jump: no frame of ours stays on its stack, so its end by pthread_exit or cancellation unwinds
 * through nothing of ours, and its backtraces look as they do without us. Never here: the program's
 * allocator.
 */
#include "preload/hook_thread.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "preload/call_failed.h"
#include "preload/hook_seccomp.h"
#include "preload/preload.h"
#include "preload/thread_start.h"

/* libc declares it variadic; the arguments lie in the same registers. */
PRE_HOOK int pre_prctl(int option, unsigned long a, unsigned long b, unsigned long c,
		       unsigned long d) __asm__("prctl");

static __attribute__((noinline)) void emit_start(uint32_t stack, uint32_t parent)
{
	struct rec_thread *thread = pre_thread();

	if (thread == &rec_thread_mute || !rec_gate(EV_GATE_THREAD) ||
	    !rec_enabled(EV_ThreadStart) || !rec_sampled(thread, EV_ThreadStart))
		return;
	struct ev_ThreadStart event = {
		.stack = stack,
		.thread = thread->tid,
		.parentThread = parent,
	};

	rec_emit_ThreadStart(thread, rec_clock_now(), &event);
}

/* Where a new thread begins. The block is given back before the program's code runs. */
static void *begin_posix(void *block)
{
	const struct pre_start *start = block;
	void *(*routine)(void *) = start->routine;
	void *argument = start->argument;
	uint32_t stack = start->stack, parent = start->parent;

	pre_start_free(block);
	emit_start(stack, parent);
	return routine(argument);
}

static int begin_c11(void *block)
{
	const struct pre_start *start = block;
	thrd_start_t routine = (thrd_start_t)(void *)start->routine;
	void *argument = start->argument;
	uint32_t stack = start->stack, parent = start->parent;

	pre_start_free(block);
	emit_start(stack, parent);
	return routine(argument);
}

/* What the new thread needs to know; NULL where it shall begin without us. */
static struct pre_start *prepare(void *(*routine)(void *), void *argument)
{
	struct rec_thread *thread = pre_thread();
	struct pre_start *start;

	if (thread == &rec_thread_mute)
		return NULL;
	start = pre_start_new();
	if (!start)
		return NULL;
	start->routine = routine;
	start->argument = argument;
	start->parent = thread->tid;
	start->stack = rec_enabled(EV_ThreadStart) ? rec_stack(thread, EV_ThreadStart) : 0;
	return start;
}

PRE_SLOW int create_recorded(pthread_t *thread, const pthread_attr_t *attr,
			     void *(*routine)(void *), void *argument)
{
	struct pre_start *start = prepare(routine, argument);
	int error;

	if (!start)
		return pre_real.pthread_create(thread, attr, routine, argument);
	error = pre_real.pthread_create(thread, attr, begin_posix, start);
	if (error != 0) {
		pre_start_free(start);
		if (rec_gate(EV_GATE_ERROR))
			pre_call_failed(rec_thread_self(), EV_NAME_pthread_create, error, -1);
	}
	return error;
}

PRE_HOOK int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*routine)(void *),
			    void *argument)
{
	if (!rec_gate(EV_GATE_THREAD))
		return pre_real.pthread_create(thread, attr, routine, argument);
	return create_recorded(thread, attr, routine, argument);
}

PRE_SLOW int thrd_create_recorded(thrd_t *thread, thrd_start_t routine, void *argument)
{
	struct pre_start *start = prepare((void *(*)(void *))(void *)routine, argument);
	int error;

	if (!start)
		return pre_real.thrd_create(thread, routine, argument);
	error = pre_real.thrd_create(thread, begin_c11, start);
	if (error != thrd_success) {
		pre_start_free(start);
		if (rec_gate(EV_GATE_ERROR))
			pre_call_failed(rec_thread_self(), EV_NAME_pthread_create,
					error == thrd_nomem ? ENOMEM : EAGAIN, -1);
	}
	return error;
}

PRE_HOOK int thrd_create(thrd_t *thread, thrd_start_t routine, void *argument)
{
	if (!rec_gate(EV_GATE_THREAD))
		return pre_real.thrd_create(thread, routine, argument);
	return thrd_create_recorded(thread, routine, argument);
}

void pre_thread_ending(void)
{
	struct rec_thread *thread = rec_thread_self();

	if (thread->tid == 0 || !rec_gate(EV_GATE_THREAD) || !rec_enabled(EV_ThreadEnd) ||
	    !rec_sampled(thread, EV_ThreadEnd))
		return;
	struct ev_ThreadEnd event = { .thread = thread->tid };

	rec_emit_ThreadEnd(thread, rec_clock_now(), &event);
}

/* --- names --------------------------------------------------------------------------------------
 */

/*
 * The kernel's number of another thread of this process, which libc tells only in disguise: its CPU
 * clock is named after it (MAKE_THREAD_CPUCLOCK of the kernel: ~tid << 3 | 6). 0 = unknown.
 */
static uint32_t tid_of(pthread_t thread)
{
	clockid_t clock;

	if (pthread_getcpuclockid(thread, &clock) != 0 || (clock & 7) != 6)
		return 0;
	return (uint32_t) ~(clock >> 3);
}

/* Renames the entry of another thread; dumps take the name from there, its chunks keep the old one.
 */
static void rename_other(uint32_t tid, const char *name)
{
	const struct rec_own *own = rec_process_own();
	uint32_t count = (uint32_t)min_u64(
		__atomic_load_n(&rec_family.header->thread_count, __ATOMIC_ACQUIRE),
		REC_THREAD_MAX);
	char copy[16] = { 0 };

	for (size_t i = 0; i + 1 < sizeof(copy) && name[i]; i++)
		copy[i] = name[i];
	for (uint32_t i = 0; tid != 0 && own->pid != 0 && i < count; i++) {
		struct rec_thread_entry *entry = rec_thread_at(&rec_family, i);

		if (entry && entry->tid == tid && entry->pid == own->pid)
			memcpy(entry->name, copy, sizeof(copy));
	}
}

PRE_HOOK int pthread_setname_np(pthread_t thread, const char *name)
{
	int result = pre_real.pthread_setname_np(thread, name);

	if (result != 0 || !rec_family.base)
		return result;
	if (pthread_equal(thread, pthread_self()))
		rec_thread_rename(name);
	else
		rename_other(tid_of(thread), name);
	return result;
}

PRE_SLOW int set_name(unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	int result = pre_real.prctl(PR_SET_NAME, a, b, c, d);

	/* The kernel has read the name, so it can be read. */
	if (result == 0)
		rec_thread_rename((const char *)(uintptr_t)a);
	return result;
}

PRE_SLOW int set_filter(unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	bool before;
	int result;

	if (a == SECCOMP_MODE_STRICT)
		pre_seccomp_strict();
	before = pre_seccomp_begin();
	result = pre_real.prctl(PR_SET_SECCOMP, a, b, c, d);

	pre_seccomp_end(before, result == 0);
	return result;
}

/* Without the TSC no clock can be read, so it is as behind a filter. */
PRE_SLOW int forbid_clock(unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	bool before;
	int result;

	pre_seccomp_strict();
	before = pre_seccomp_begin();
	result = pre_real.prctl(PR_SET_TSC, a, b, c, d);
	pre_seccomp_end(before, result == 0);
	return result;
}

/* A leader started later would become the program's child, to be met by its wait(). */
PRE_SLOW int become_subreaper(unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	if (!pre_leader_alive())
		pre_leader_start();
	return pre_real.prctl(PR_SET_CHILD_SUBREAPER, a, b, c, d);
}

PRE_HOOK int pre_prctl(int option, unsigned long a, unsigned long b, unsigned long c,
		       unsigned long d)
{
	if (unlikely(option == PR_SET_SECCOMP))
		return set_filter(a, b, c, d);
	if (unlikely(option == PR_SET_TSC && a == PR_TSC_SIGSEGV))
		return forbid_clock(a, b, c, d);
	if (!rec_family.base)
		return pre_real.prctl(option, a, b, c, d);
	if (option == PR_SET_NAME)
		return set_name(a, b, c, d);
	if (option == PR_SET_CHILD_SUBREAPER && a != 0)
		return become_subreaper(a, b, c, d);
	return pre_real.prctl(option, a, b, c, d);
}
