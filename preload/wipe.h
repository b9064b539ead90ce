/*
 * Tables of the shim that a forked child must not inherit: addresses, thread ids and times in them
 * are the parent's.
 *
 * In: static, page-aligned memory of whole pages. Out: the kernel gives a child zeros there, by
 * whatever call it was made. Never here: mappings of the program.
 */
#ifndef HOLTER_PRELOAD_WIPE_H
#define HOLTER_PRELOAD_WIPE_H

#include <sys/mman.h>

#include "recorder/sys/raw.h"

/*
 * pre_wipe_on_fork() - asks for zeros in children; may be repeated, and by several threads at once.
 * @done: becomes 1, so that the call is made once; lies outside the memory, a child need not ask
 * again.
 *
 * Return: nothing: where the kernel refuses (before 4.14) a child sees stale entries, which its
 * look-ups do not find or take for very old. Context: any; async-signal-safe.
 */
static inline void pre_wipe_on_fork(void *memory, size_t bytes, uint32_t *done)
{
	if (likely(__atomic_load_n(done, __ATOMIC_RELAXED)))
		return;
	raw_madvise(memory, bytes, MADV_WIPEONFORK);
	__atomic_store_n(done, 1, __ATOMIC_RELAXED);
}

#endif
