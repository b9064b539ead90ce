/*
 * holter.CallFailed: a hooked call returned an error.
 *
 * In: the call's name and errno, from the hooks. Out: one event, where it is enabled. errno itself
 * is read, never changed.
 */
#ifndef HOLTER_PRELOAD_CALL_FAILED_H
#define HOLTER_PRELOAD_CALL_FAILED_H

#include <errno.h>

#include "preload/hook.h"

/**
 * pre_call_failed() - emits a CallFailed event if it is enabled and sampled.
 * @thread: of the caller; need not be attached.
 * @call: its name.
 * @error: errno value, > 0.
 * @fd: descriptor it was about, -1 = none.
 *
 * Return: nothing. Context: any thread, signal handlers, vfork children (nothing is emitted there).
 */
void pre_call_failed(struct rec_thread *thread, enum ev_name call, int error, int fd);

/*
 * The same with errno, for hooks that see a call fail: EAGAIN is frequent, so the first look is at
 * the gate, which lies beside the one that the hook has just read.
 */
static inline void pre_failed(enum ev_name call, int fd)
{
	if (unlikely(pre_gate_any(PRE_GATE(ERROR))))
		pre_call_failed(rec_thread_self(), call, errno, fd);
}

#endif
