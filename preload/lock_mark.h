/*
 * Marks of waiters: which locks of this process are waited for, and since when.
 *
 * In: threads that begin and end to wait for a lock. Out: to its owner, at unlock, when the first
 * of them began. A small table without locks in private memory, wiped in a forked child. Where it
 * is full or two threads race, a mark is missing and with it one LockHeld event; nothing is ever
 * wrong for the lock. Never here: the lock's own memory, which may be gone after the unlock.
 */
#ifndef HOLTER_PRELOAD_LOCK_MARK_H
#define HOLTER_PRELOAD_LOCK_MARK_H

#include <stdint.h>

#include "recorder/base/util.h"

#define PRE_MARKS 1024u
#define PRE_MARK_PROBES 4u

struct pre_mark {
	uint64_t word;	/* waiters 16 | address 48; 0 = free */
	uint64_t ticks; /* since when they wait for the present owner; 0 = not yet known */
};

struct pre_marks {
	struct pre_mark mark[PRE_MARKS];
	uint32_t waiting; /* marks in use, so that an unlock without waiters costs one load */
	uint8_t rest[PAGE_BYTES - 4];
};

extern struct pre_marks pre_marks __attribute__((aligned(PAGE_BYTES), visibility("hidden")));

static inline bool pre_mark_any(void)
{
	return __atomic_load_n(&pre_marks.waiting, __ATOMIC_RELAXED) != 0;
}

/**
 * pre_mark_wait() - the calling thread begins to wait for a lock.
 * @lock: its address. @now: the region's clock.
 *
 * Return: the mark, for pre_mark_done(); NULL where there is no room.
 * Context: any thread; lock-free, many at once; async-signal-safe.
 */
struct pre_mark *pre_mark_wait(const void *lock, uint64_t now);

/* The wait is over. `mark` may be NULL. Return: nothing. Context: the same thread. */
void pre_mark_done(struct pre_mark *mark);

/**
 * pre_mark_release() - the owner of a lock is about to release it.
 * @lock: its address. @now: from then on those who still wait count as waiting for the next owner.
 *
 * Return: ticks when the first of the waiters began to wait; 0 where nobody is marked.
 * Context: the owner; lock-free; async-signal-safe.
 */
uint64_t pre_mark_release(const void *lock, uint64_t now);

#endif
