/*
 * The table of waiters' marks (lock_mark.h).
 *
 * In: addresses of locks, ticks. Out: ticks. A mark's word changes by compare-and-swap only; its
 * ticks are a hint and may be 0 for a moment. Never here: clocks, events.
 */
#include "preload/lock_mark.h"

#include "preload/wipe.h"
#include "recorder/base/hash.h"

#define ADDRESS_MASK 0xffffffffffffull
#define ONE_WAITER (1ull << 48)

struct pre_marks pre_marks __attribute__((aligned(PAGE_BYTES)));
static uint32_t marks_wiped;

static struct pre_mark *mark_at(uint64_t address, uint32_t probe)
{
	return &pre_marks.mark[(hash_mix(address) + probe) % PRE_MARKS];
}

/* Counts the calling thread in a mark that is free or stands for this lock. */
static bool join(struct pre_mark *mark, uint64_t address)
{
	uint64_t old = __atomic_load_n(&mark->word, __ATOMIC_RELAXED);

	while (old == 0 || (old & ADDRESS_MASK) == address) {
		uint64_t new = old == 0 ? address | ONE_WAITER : old + ONE_WAITER;

		if (old >> 48 == 0xffff)
			return false;
		if (__atomic_compare_exchange_n(&mark->word, &old, new, true, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			return true;
	}
	return false;
}

struct pre_mark *pre_mark_wait(const void *lock, uint64_t now)
{
	uint64_t address = (uintptr_t)lock & ADDRESS_MASK;

	pre_wipe_on_fork(&pre_marks, sizeof(pre_marks), &marks_wiped);
	for (uint32_t probe = 0; probe < PRE_MARK_PROBES; probe++) {
		struct pre_mark *mark = mark_at(address, probe);
		uint64_t unknown = 0;

		if (!join(mark, address))
			continue;
		/* Only the first waiter's time counts: the next find it set. */
		__atomic_compare_exchange_n(&mark->ticks, &unknown, now, false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED);
		__atomic_fetch_add(&pre_marks.waiting, 1, __ATOMIC_RELEASE);
		return mark;
	}
	return NULL;
}

void pre_mark_done(struct pre_mark *mark)
{
	uint64_t old;

	if (!mark)
		return;
	old = __atomic_load_n(&mark->word, __ATOMIC_RELAXED);
	while (old != 0) {
		uint64_t new = old - ONE_WAITER;

		if (new >> 48 == 0) {
			/* A waiter that joins just now may lose its time by this: one event less.
			 */
			__atomic_store_n(&mark->ticks, 0, __ATOMIC_RELAXED);
			new = 0;
		}
		if (__atomic_compare_exchange_n(&mark->word, &old, new, true, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED)) {
			__atomic_fetch_sub(&pre_marks.waiting, 1, __ATOMIC_RELEASE);
			return;
		}
	}
	/* Wiped: a child of fork inside a wait. Its count was wiped as well. */
}

uint64_t pre_mark_release(const void *lock, uint64_t now)
{
	uint64_t address = (uintptr_t)lock & ADDRESS_MASK;

	if (!pre_mark_any())
		return 0;
	for (uint32_t probe = 0; probe < PRE_MARK_PROBES; probe++) {
		struct pre_mark *mark = mark_at(address, probe);
		uint64_t word = __atomic_load_n(&mark->word, __ATOMIC_ACQUIRE);
		uint64_t since;

		if ((word & ADDRESS_MASK) != address)
			continue;
		since = __atomic_load_n(&mark->ticks, __ATOMIC_ACQUIRE);
		/* Fails when the waiters left meanwhile: then nothing is to be moved on. */
		if (since != 0)
			__atomic_compare_exchange_n(&mark->ticks, &since, now, false,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		return since;
	}
	return 0;
}
