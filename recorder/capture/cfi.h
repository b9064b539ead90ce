/*
 * Unwinding rules by code location: a cache of one 64-bit word per location, filled from .eh_frame.
 *
 * In: return addresses from the walker (stackwalk.c). Out: a rule that says where the caller's
 * frame is. A rule is one word, loaded and stored whole: readers and writers of any number meet in
 * it without a lock and none ever sees half a rule. Never here: a read of stack memory, an
 * allocation.
 *
 *   word   63..35 rule | 34..0 tag: the address without its low 12 bits, which are the set's
 * number, so that an equal tag in a set is the same address rule   1..0 form: 1 CFA = rsp + offset,
 * 2 CFA = rbp + offset, 3 special; 0 is no rule form 1, 2   28..12 offset / 8 | 11..7 rbx is at CFA
 * - 8 * n, 0: not saved | 6..2 rbp, alike form 3      28..5 row of the table of uncommon rules
 * | 4..2 enum rec_cfi_special
 *
 * Addresses are return addresses: the rule is that of the instruction before. For an interrupted
 * instruction, ask for its address + 1.
 */
#ifndef HOLTER_CAPTURE_CFI_H
#define HOLTER_CAPTURE_CFI_H

#include "recorder/capture/cfi_parse.h"

#define REC_CFI_SETS 4096u
#define REC_CFI_WAYS 4u
/* Ways lie apart, and not by a power of two, which would put a set's words into one set of L1. */
#define REC_CFI_WAY_WORDS (REC_CFI_SETS + 40u)
#define REC_CFI_ADDRESS_BITS 47 /* of user addresses */
#define REC_CFI_TAG_BITS (REC_CFI_ADDRESS_BITS - 12)
#define REC_CFI_TAG_MASK ((1ull << REC_CFI_TAG_BITS) - 1)

#define REC_CFI_FORM(rule) ((rule)&3)
#define REC_CFI_FORM_RSP 1u
#define REC_CFI_FORM_RBP 2u
#define REC_CFI_FORM_SPECIAL 3u
#define REC_CFI_RBP_SLOT(rule) ((uint64_t)((rule) >> 2 & 31) * 8)
#define REC_CFI_RBX_SLOT(rule) ((uint64_t)((rule) >> 7 & 31) * 8)
#define REC_CFI_CFA_OFFSET(rule) ((uint64_t)((rule) >> 12) * 8)
#define REC_CFI_SPECIAL(rule) ((rule) >> 2 & 7)
#define REC_CFI_RULE(word) ((uint32_t)((word) >> REC_CFI_TAG_BITS))
/* The same as REC_CFI_CFA_OFFSET(REC_CFI_RULE(word)) with one shift less to wait for. */
#define REC_CFI_WORD_CFA_OFFSET(word) (((word) >> (REC_CFI_TAG_BITS + 12)) * 8)

enum rec_cfi_special {
	REC_CFI_STOP,	/* not known how to go on */
	REC_CFI_END,	/* outermost frame */
	REC_CFI_SIGNAL, /* return of a signal handler: a ucontext is at rsp */
	REC_CFI_FRAME,	/* code without rules: perhaps it keeps frame pointers */
	REC_CFI_WIDE,	/* in the table of uncommon rules */
};

/* How the walker came by a location. */
#define REC_CFI_EXACT 1u    /* it is behind the first byte of an interrupted instruction */
#define REC_CFI_DOUBTFUL 2u /* after a guess: it may be any number */

/* Written by rec_cfi_fill() and the invalidating functions only; zero = free. */
extern uint64_t rec_cfi_cache[REC_CFI_WAYS][REC_CFI_WAY_WORDS]
	__attribute__((aligned(CACHE_LINE), visibility("hidden")));

/*
 * Told the start of each object that a rule is looked up in (with _dl_find_object only): preload
 * enters those that no hook saw being loaded. NULL: nobody asks. Called from wherever a stack is
 * walked.
 */
extern void (*rec_cfi_object_met)(const void *low) __attribute__((visibility("hidden")));

static inline bool rec_cfi_is_tagged(uint64_t word, uint64_t address)
{
	return (word & REC_CFI_TAG_MASK) == address >> 12;
}

/*
 * rec_cfi_lookup() - the cached rule of an address.
 * @address: below 2^47.
 *
 * The low bits of return addresses are spread as evenly as any hash of them, and cost one
 * instruction: a walk waits for each in turn.
 *
 * Return: its word, 0 when it is not cached.
 * Context: any thread, any number at once; wait-free; async-signal-safe.
 */
static inline __attribute__((always_inline)) uint64_t rec_cfi_lookup(uint64_t address)
{
	const uint64_t *set = &rec_cfi_cache[0][address % REC_CFI_SETS];
	/* Relaxed: the word is all there is, nothing else is published by it. */
	uint64_t word = __atomic_load_n(set, __ATOMIC_RELAXED);

	if (likely(rec_cfi_is_tagged(word, address)))
		return word;
	for (uint32_t way = 1; way < REC_CFI_WAYS; way++) {
		word = __atomic_load_n(&set[way * REC_CFI_WAY_WORDS], __ATOMIC_RELAXED);
		if (likely(rec_cfi_is_tagged(word, address)))
			return word;
	}
	return 0;
}

/**
 * rec_cfi_fill() - finds the rule of an address and caches it.
 * @address: from 1 to 2^47 - 1.
 * @how: REC_CFI_* bits.
 *
 * Return: the rule, never 0; REC_CFI_STOP where nothing can be known.
 * Context: any thread, any number at once; lock-free; async-signal-safe; about 600 bytes of stack;
 * a few system calls for doubtful locations.
 */
uint32_t rec_cfi_fill(uint64_t address, uint32_t how);

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
 * rec_cfi_invalidate() - forgets all rules; to be called when dlclose has unloaded something.
 * Called before as well, it leaves no moment in which another thread's dlopen may reuse the
 * addresses unseen.
 *
 * Return: nothing. A rule that another thread is reading meanwhile is not kept.
 * Context: any thread; some microseconds; no lock.
 */
void rec_cfi_invalidate(void);

/**
 * rec_cfi_refresh() - learns of objects loaded since; to be called when dlopen has returned, and,
 * for C libraries without _dl_find_object (before 2.35), at start and before rec_cfi_invalidate().
 *
 * Return: nothing. Forgets what was said of addresses where there was no object; everything, when
 * objects were unloaded since the last time.
 * Context: any thread, not from a signal handler (it takes the dynamic linker's list lock).
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
