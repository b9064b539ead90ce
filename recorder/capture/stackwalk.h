/*
 * The stack walker inside the recorded process; rec_stack_capture() itself is in thread.h.
 *
 * In: the calling thread's registers and stack. Out: return addresses, leaf first. Every read is
 * bounded by what is known to be readable. Never here: locks, allocation, a change of errno.
 */
#ifndef HOLTER_CAPTURE_STACKWALK_H
#define HOLTER_CAPTURE_STACKWALK_H

#include "recorder/base/util.h"

#define REC_STACK_DEPTH_DEFAULT 64u
#define REC_STACK_DEPTH_MAX 200u

/**
 * rec_stack_walk() - the return addresses of the calling thread, without memo and depot.
 * @pcs: out, leaf first; the frames of this recorder's own code at the leaf are left out.
 * @max: room in @pcs, and the depth cap.
 * @truncated: out: 1 when the stack goes on, or may go on, behind the last one.
 *
 * Return: how many.
 * Context: any thread, handlers too; async-signal-safe; errno untouched.
 */
uint32_t rec_stack_walk(uint64_t *pcs, uint32_t max, uint32_t *truncated);

/**
 * rec_stack_own_code() - says which code is the recorder's own; by default the object it is linked
 * in.
 * @low, @high: addresses; an empty range for tests, whose code shares an object with the walker.
 *
 * Return: nothing. Context: before the first walk.
 */
void rec_stack_own_code(uint64_t low, uint64_t high);

#endif
