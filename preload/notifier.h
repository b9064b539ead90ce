/*
 * Who signalled a condition variable last.
 *
 * In: a signal or broadcast: one store. Out: to the thread that waited: the signaller's tid. A
 * small table by a hash of the address, wiped in a forked child; where two conditions share a place
 * the later one wins and the other's waiter learns nothing. Never here: the condition's own memory.
 */
#ifndef HOLTER_PRELOAD_NOTIFIER_H
#define HOLTER_PRELOAD_NOTIFIER_H

#include "recorder/base/hash.h"
#include "recorder/base/util.h"

#define PRE_NOTIFIERS 1024u

struct pre_notifiers {
	uint64_t entry[PRE_NOTIFIERS]; /* upper half of the hash 32 | tid 32 */
};

extern struct pre_notifiers pre_notifiers
	__attribute__((aligned(PAGE_BYTES), visibility("hidden")));

/* The calling thread signals a condition. Return: nothing. Context: any; async-signal-safe. */
static inline void pre_notifier_set(const void *cond, uint32_t tid)
{
	uint64_t hash = hash_mix((uintptr_t)cond);

	__atomic_store_n(&pre_notifiers.entry[hash % PRE_NOTIFIERS],
			 (hash & 0xffffffff00000000ull) | tid, __ATOMIC_RELAXED);
}

/* Return: tid of who signalled this condition last, 0 = unknown. Context: as above. */
static inline uint32_t pre_notifier_get(const void *cond)
{
	uint64_t hash = hash_mix((uintptr_t)cond);
	uint64_t entry =
		__atomic_load_n(&pre_notifiers.entry[hash % PRE_NOTIFIERS], __ATOMIC_RELAXED);

	return (entry ^ hash) >> 32 == 0 ? (uint32_t)entry : 0;
}

#endif
