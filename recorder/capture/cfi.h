/*
 * Unwinding rules by code location: a cache of one 64-bit word per location, filled from .eh_frame.
 *
 * In: return addresses from the walker (stackwalk.c). Out: a rule that says where the caller's
 * frame is. A rule is one word, loaded and stored whole: readers and writers of any number meet in
 * it without a lock and none ever sees half a rule. Never here: a read of stack memory, an
 * allocation.
 *
 *   word   63..29 tag: rest of the location's hash (the set's number is the other part of it, and
 * the hash is a bijection, so that equal tags in a set mean equal locations) | 28..0 rule
 *   rule   1..0 form: 1 CFA = rsp + offset, 2 CFA = rbp + offset, 3 special; 0 is no rule
 *          form 1, 2   28..12 offset / 8 | 11..7 rbx is at CFA - 8 * n, 0: not saved | 6..2 rbp,
 * alike form 3      28..5 row of the table of uncommon rules | 4..2 enum rec_cfi_special
 */
#ifndef HOLTER_CAPTURE_CFI_H
#define HOLTER_CAPTURE_CFI_H

#include "recorder/capture/cfi_parse.h"

#define REC_CFI_SETS_LOG2 12
#define REC_CFI_WAYS 4
#define REC_CFI_RULE_BITS 29
#define REC_CFI_RULE_MASK ((1ull << REC_CFI_RULE_BITS) - 1)
#define REC_CFI_LOCATION_BITS 47 /* user addresses */

#define REC_CFI_FORM(rule) ((rule)&3)
#define REC_CFI_FORM_RSP 1u
#define REC_CFI_FORM_RBP 2u
#define REC_CFI_FORM_SPECIAL 3u
#define REC_CFI_RBP_SLOT(rule) ((uint64_t)((rule) >> 2 & 31) * 8)
#define REC_CFI_RBX_SLOT(rule) ((uint64_t)((rule) >> 7 & 31) * 8)
#define REC_CFI_CFA_OFFSET(rule) ((uint64_t)((rule) >> 12) * 8)
#define REC_CFI_SPECIAL(rule) ((rule) >> 2 & 7)

enum rec_cfi_special {
	REC_CFI_STOP,	/* not known how to go on */
	REC_CFI_END,	/* outermost frame */
	REC_CFI_SIGNAL, /* return of a signal handler: a ucontext is at rsp */
	REC_CFI_FRAME,	/* code without rules: perhaps it keeps frame pointers */
	REC_CFI_WIDE,	/* in the table of uncommon rules */
};

/* How the walker came by a location. */
#define REC_CFI_EXACT 1u    /* it is an interrupted instruction, not a return address - 1 */
#define REC_CFI_DOUBTFUL 2u /* after a guess: it may be any number */

/* Written by rec_cfi_fill() and the invalidating functions only; zero = free. */
extern uint64_t rec_cfi_cache[1 << REC_CFI_SETS_LOG2][REC_CFI_WAYS]
	__attribute__((aligned(CACHE_LINE), visibility("hidden")));

/* Bijective on 47 bits: an odd factor. */
static inline uint64_t rec_cfi_hash(uint64_t location)
{
	return location * 0x9e3779b97f4a7c15ull & ((1ull << REC_CFI_LOCATION_BITS) - 1);
}

/*
 * rec_cfi_lookup() - the cached rule of a location.
 * @location: below 2^47.
 *
 * Return: the rule, 0 when it is not cached.
 * Context: any thread, any number at once; wait-free; async-signal-safe.
 */
static inline __attribute__((always_inline)) uint32_t rec_cfi_lookup(uint64_t location)
{
	uint64_t hash = rec_cfi_hash(location);
	const uint64_t *set = rec_cfi_cache[hash >> (REC_CFI_LOCATION_BITS - REC_CFI_SETS_LOG2)];
	uint64_t tag = hash << REC_CFI_RULE_BITS;

	for (int way = 0; way < REC_CFI_WAYS; way++) {
		/* Relaxed: the word is all there is, nothing else is published by it. */
		uint64_t rule = __atomic_load_n(&set[way], __ATOMIC_RELAXED) ^ tag;

		if (likely(rule <= REC_CFI_RULE_MASK))
			return (uint32_t)rule;
	}
	return 0;
}

/**
 * rec_cfi_fill() - finds the rule of a location and caches it.
 * @location: below 2^47.
 * @how: REC_CFI_* bits.
 *
 * Return: the rule, never 0; REC_CFI_STOP where nothing can be known.
 * Context: any thread, any number at once; lock-free; async-signal-safe; about 600 bytes of stack;
 * a few system calls for doubtful locations.
 */
uint32_t rec_cfi_fill(uint64_t location, uint32_t how);

/**
 * rec_cfi_expand() - a rule as a row of call frame information.
 * @rule: of form 1 or 2, or REC_CFI_WIDE.
 * @row: out.
 *
 * Return: false when it is none of these.
 * Context: any; async-signal-safe.
 */
bool rec_cfi_expand(uint32_t rule, struct rec_cfi_row *row);

/**
 * rec_cfi_invalidate() - forgets all rules; to be called when dlclose has returned.
 *
 * Return: nothing. A rule that another thread is reading meanwhile is not kept.
 * Context: any thread; some microseconds; no lock.
 */
void rec_cfi_invalidate(void);

/**
 * rec_cfi_refresh() - learns of objects loaded since; to be called when dlopen has returned, and,
 * for C libraries without _dl_find_object (before 2.35), at start and before rec_cfi_invalidate().
 *
 * Return: nothing. Forgets what was said of addresses where there was no object.
 * Context: any thread, not from a signal handler (it takes the dynamic linker's list lock there).
 */
void rec_cfi_refresh(void);

/**
 * rec_cfi_generation() - raised by each rec_cfi_invalidate().
 *
 * Return: the number. Context: any; async-signal-safe.
 */
uint32_t rec_cfi_generation(void);

/**
 * rec_cfi_object() - the mapping of the loaded object that holds an address.
 * @low, @high: out.
 *
 * Return: false when there is none.
 * Context: any thread; lock-free; async-signal-safe.
 */
bool rec_cfi_object(uint64_t address, uint64_t *low, uint64_t *high);

/**
 * rec_cfi_use_snapshot() - finds objects in the snapshot of rec_cfi_refresh() even where the C
 * library has _dl_find_object; for tests.
 *
 * Return: nothing. Context: one thread, while nobody walks.
 */
void rec_cfi_use_snapshot(bool use);

#endif
