/*
 * Which allocations are recorded, and the sampled ones that live.
 *
 * In: allocations and frees from hook_memory.c. Out: Malloc and Free events, entries of the
 * region's live table, the process's totals. The inline part decides in a few instructions that a
 * call is not recorded; a filter says of most blocks that they are not in the live table. Never
 * here: the real functions.
 */
#ifndef HOLTER_PRELOAD_MEMORY_TRACK_H
#define HOLTER_PRELOAD_MEMORY_TRACK_H

#include "recorder/capture/capture.h"

#define PRE_FILTER_BITS 14

/*
 * How many sampled blocks of this process live, by a hash of their address; 255 is never left
 * again. A free of any other block costs one multiply and one load of this. Wiped in a forked
 * child, whose frees of inherited blocks concern nobody's live table.
 */
struct pre_filter {
	uint8_t count[1u << PRE_FILTER_BITS];
};

extern struct pre_filter pre_filter __attribute__((aligned(PAGE_BYTES), visibility("hidden")));

static inline uint32_t pre_filter_slot(const void *pointer)
{
	/* Allocators align to 16; the multiplier is that of Knuth's golden ratio hash. */
	return (uint32_t)((uintptr_t)pointer >> 4) * 0x9e3779b1u >> (32 - PRE_FILTER_BITS);
}

static inline bool pre_filter_hit(const void *pointer)
{
	return __atomic_load_n(&pre_filter.count[pre_filter_slot(pointer)], __ATOMIC_RELAXED) != 0;
}

static inline uint32_t pre_memory_mode(void)
{
	return __atomic_load_n(&rec_live.memory_mode, __ATOMIC_RELAXED);
}

/* Takes `size` bytes from what is left until the thread's next sample; false: they reach it. */
static inline bool pre_memory_spend(struct rec_thread *thread, uint64_t size)
{
	uint64_t left = (uint64_t)thread->alloc_left;

	/* Unsigned, and stored only when it suffices: a thread without state has 0 and keeps it. */
	if (unlikely(size > left))
		return false;
	thread->alloc_left = (int64_t)(left - size);
	return true;
}

/* May an allocation of `size` go straight to the real function? Counts its bytes if so. */
static inline bool pre_memory_passes(uint64_t size)
{
	uint32_t mode = pre_memory_mode();

	if (likely(mode == REC_MEMORY_SAMPLE))
		return pre_memory_spend(rec_thread_self(), size);
	return mode == REC_MEMORY_OFF;
}

/*
 * May a free of this block go straight to the real function? Sampled blocks are looked at even
 * while recording is off, so that the live table stays true.
 */
static inline bool pre_memory_free_passes(const void *pointer)
{
	return likely(pre_memory_mode() != REC_MEMORY_ALL) && likely(!pre_filter_hit(pointer));
}

/**
 * pre_memory_allocated() - an allocation that did not pass was made.
 * @pointer, @size: of it, not NULL.
 *
 * Return: nothing. Context: any thread, handlers; async-signal-safe; errno untouched.
 */
void pre_memory_allocated(void *pointer, uint64_t size);

/**
 * pre_memory_freeing() - a block is about to be freed; before the real call, since another thread
 * may be given the same address at once.
 * @pointer: not NULL.
 *
 * Return: nothing. Context: as above.
 */
void pre_memory_freeing(void *pointer);

/* What pre_memory_forget() took away. */
struct pre_forgotten {
	struct rec_live entry;
	uint64_t address;
	uint64_t ticks; /* when */
	bool was_sampled;
};

/**
 * pre_memory_forget() - as pre_memory_freeing(), for a call that may fail: no event yet.
 * pre_memory_freed() - it did not fail: the event. pre_memory_restore() - it failed: the block
 * lives.
 *
 * Return: nothing. Context: as above.
 */
void pre_memory_forget(void *pointer, struct pre_forgotten *forgotten);
void pre_memory_freed(const struct pre_forgotten *forgotten);
void pre_memory_restore(const struct pre_forgotten *forgotten);

#endif
