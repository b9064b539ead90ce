/*
 * Hook of clone(): children that share our memory and the caller's thread-local storage.
 *
 * In: the program's calls. Out: the real results. Such a child finds the caller's struct rec_thread
 * and would append to its chunk, at the same time: so both are mute from then on. A child with
 * storage of its own (CLONE_SETTLS) is a thread, one with memory of its own a forked child. Never
 * here: events.
 */
#include "preload/hook.h"

/* libc declares it variadic; the arguments lie where they do here. */
PRE_HOOK int pre_clone(int (*run)(void *), void *stack, int flags, void *argument, void *parent_tid,
		       void *tls, void *child_tid) __asm__("clone");

PRE_SLOW int clone_sharing(int (*run)(void *), void *stack, int flags, void *argument,
			   void *parent_tid, void *tls, void *child_tid)
{
	struct rec_thread *self = rec_thread_current;
	int child;

	rec_thread_current = &rec_thread_mute;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	child = pre_real.clone(run, stack, flags, argument, parent_tid, tls, child_tid);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	/* With CLONE_VFORK the child is over, or another program, when the call returns. */
	if (child < 0 || (flags & CLONE_VFORK))
		rec_thread_current = self;
	return child;
}

PRE_HOOK int pre_clone(int (*run)(void *), void *stack, int flags, void *argument, void *parent_tid,
		       void *tls, void *child_tid)
{
	if (unlikely((flags & CLONE_VM) && !(flags & CLONE_SETTLS)))
		return clone_sharing(run, stack, flags, argument, parent_tid, tls, child_tid);
	return pre_real.clone(run, stack, flags, argument, parent_tid, tls, child_tid);
}
