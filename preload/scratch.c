/*
 * The buffers of scratch.h.
 */
#include "preload/scratch.h"

#include "recorder/capture/thread.h"

#define BUFFERS 16u

/* 40 KiB, touched as far as used at one time. */
static struct pre_scratch buffers[BUFFERS] __attribute__((aligned(CACHE_LINE)));

struct pre_scratch *pre_scratch_take(void)
{
	uint64_t self = rec_process_own()->pid;

	if (self == 0)
		self = 1; /* not joined yet: nobody else is in here but threads like this */
	for (uint32_t i = 0; i < BUFFERS; i++) {
		uint64_t owner = __atomic_load_n(&buffers[i].owner, __ATOMIC_RELAXED);

		/* Acquire pairs with the release in pre_scratch_give(). */
		if (owner != self &&
		    __atomic_compare_exchange_n(&buffers[i].owner, &owner, self, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return &buffers[i];
	}
	return NULL;
}

void pre_scratch_give(struct pre_scratch *scratch)
{
	if (scratch)
		__atomic_store_n(&scratch->owner, 0, __ATOMIC_RELEASE);
}
