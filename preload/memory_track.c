/*
 * Records allocations and frees that did not pass the quick tests of memory_track.h.
 *
 * In: blocks from hook_memory.c. Out: events, the live table, the process's totals. A sampled block
 * is in the live table before its address is known to the program, and is taken out before the real
 * free. Never here: the real functions, locks.
 */
#include "preload/memory_track.h"

#include "preload/wipe.h"
#include "recorder/capture/sample.h"

#define SATURATED 255u
#define MALLOC_BARE_BYTES offsetof(struct ev_Malloc, weight) /* the weight is the size */
#define NEVER INT64_MAX

struct pre_filter pre_filter __attribute__((aligned(PAGE_BYTES)));
static uint32_t filter_wiped;

static void filter_enter(const void *pointer)
{
	uint8_t *count = &pre_filter.count[pre_filter_slot(pointer)];
	uint8_t old = __atomic_load_n(count, __ATOMIC_RELAXED);

	pre_wipe_on_fork(&pre_filter, sizeof(pre_filter), &filter_wiped);
	while (old != SATURATED &&
	       !__atomic_compare_exchange_n(count, &old, (uint8_t)(old + 1), true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED)) {
	}
}

static void filter_leave(const void *pointer)
{
	uint8_t *count = &pre_filter.count[pre_filter_slot(pointer)];
	uint8_t old = __atomic_load_n(count, __ATOMIC_RELAXED);

	while (old != SATURATED && old != 0 &&
	       !__atomic_compare_exchange_n(count, &old, (uint8_t)(old - 1), true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED)) {
	}
}

static void count_allocated(uint32_t index, uint64_t bytes)
{
	struct rec_process *process = rec_process_at(&rec_family, index);

	if (process)
		__atomic_fetch_add(&process->allocated_bytes, bytes, __ATOMIC_RELAXED);
}

/* Takes a block out of the live table of this process, if it is there. */
static bool forget(const void *pointer, struct rec_live *removed)
{
	const struct rec_own *own = rec_process_own();

	if (!pre_filter_hit(pointer) || !rec_family.base || own->pid == 0 ||
	    !rec_live_remove(&rec_family, own->process, (uintptr_t)pointer, removed))
		return false;
	filter_leave(pointer);
	return true;
}

static void count_lost(struct rec_thread *thread)
{
	uint64_t *loss = thread->cold.loss ? &thread->cold.loss[REC_LOSS_LIVE_FULL] : NULL;

	if (loss)
		__atomic_store_n(loss, *loss + 1, __ATOMIC_RELAXED);
}

/* Puts a sampled block into the live table. */
static void remember(struct rec_thread *thread, const void *pointer, const struct rec_live *entry)
{
	const struct rec_own *own = rec_process_own();
	struct rec_live stale;

	/* Freed while nobody looked: before a stop and start, or by a call that is not hooked. */
	forget(pointer, &stale);
	if (!rec_live_add(&rec_family, own->process, (uintptr_t)pointer, entry->size, entry->weight,
			  entry->stack, entry->tid, entry->ticks)) {
		count_lost(thread);
		return;
	}
	filter_enter(pointer);
}

static struct ev_Malloc malloc_event(const void *pointer, uint64_t size)
{
	/* Sizes have 48 bits: the upper 16 stand above the address (kinds.def). */
	struct ev_Malloc event = {
		.size = (uint32_t)size,
		.address = ((uint64_t)(uintptr_t)pointer & 0xffffffffffffull) |
			   (size >> 32 & 0xffff) << 48,
	};

	return event;
}

/* Does a sample fall into this block? Draws the thread's next distance if so. */
static bool draw(struct rec_thread *thread, uint64_t size, uint64_t now)
{
	uint64_t interval = __atomic_load_n(&rec_live.alloc_interval, __ATOMIC_RELAXED);

	if (unlikely(thread->alloc_random == 0)) {
		thread->alloc_random = sample_seed(now, thread->tid);
		thread->alloc_left = (int64_t)sample_next(&thread->alloc_random, interval);
	}
	if (pre_memory_spend(thread, size))
		return false;
	/* The process has no memory: behind the block it begins anew. */
	thread->alloc_left = (int64_t)sample_next(&thread->alloc_random, interval);
	return true;
}

static void sampled(struct rec_thread *thread, void *pointer, uint64_t size, uint32_t stack,
		    uint64_t now)
{
	uint64_t interval = __atomic_load_n(&rec_live.alloc_interval, __ATOMIC_RELAXED);
	struct rec_live entry = {
		.size = size,
		.weight = sample_weight(size, interval),
		.stack = stack,
		.tid = thread->tid,
		.ticks = now,
	};

	count_allocated(thread->process, entry.weight);
	remember(thread, pointer, &entry);
}

static __attribute__((noinline)) void allocated_sampled(struct rec_thread *thread, void *pointer,
							uint64_t size)
{
	uint64_t now = rec_clock_now();
	struct ev_Malloc event;

	if (!draw(thread, size, now))
		return;
	event = malloc_event(pointer, size);
	event.stack = rec_stack(thread, EV_Malloc);
	event.weight =
		sample_weight(size, __atomic_load_n(&rec_live.alloc_interval, __ATOMIC_RELAXED));
	if (rec_enabled(EV_Malloc) && rec_sampled(thread, EV_Malloc))
		rec_emit_Malloc(thread, now, &event);
	sampled(thread, pointer, size, event.stack, now);
}

static __attribute__((noinline)) void also_sampled(struct rec_thread *thread, void *pointer,
						   uint64_t size, uint32_t stack, uint64_t now)
{
	if (draw(thread, size, now))
		sampled(thread, pointer, size, stack, now);
}

/* Every allocation is an event; the sampled ones go on besides, for the live table. */
static void allocated_all(struct rec_thread *thread, void *pointer, uint64_t size)
{
	struct ev_Malloc event = malloc_event(pointer, size);

	event.stack = rec_stack(thread, EV_Malloc);
	uint64_t now = rec_clock_now();

	if (rec_enabled(EV_Malloc) && rec_sampled(thread, EV_Malloc))
		rec_emit(thread, EV_Malloc, 0, now, &event, MALLOC_BARE_BYTES);
	if (!pre_memory_spend(thread, size))
		also_sampled(thread, pointer, size, event.stack, now);
}

void pre_memory_allocated(void *pointer, uint64_t size)
{
	struct rec_thread *thread = rec_thread_self();

	if (unlikely(thread->tid == 0)) {
		thread = rec_thread_attach();
		if (thread == &rec_thread_mute) {
			/* Nothing can be recorded: let such a thread pass from now on. */
			rec_thread_mute.alloc_left = NEVER;
			return;
		}
	}
	if (pre_memory_mode() == REC_MEMORY_ALL)
		allocated_all(thread, pointer, size);
	else
		allocated_sampled(thread, pointer, size);
}

static void emit_free(const void *pointer, uint64_t now)
{
	struct rec_thread *thread = rec_thread_self();
	struct ev_Free event = { .address = (uintptr_t)pointer };

	if (rec_enabled(EV_Free) && rec_sampled(thread, EV_Free))
		rec_emit_Free(thread, now, &event);
}

void pre_memory_freeing(void *pointer)
{
	struct rec_live removed;
	bool is_sampled = pre_filter_hit(pointer) && forget(pointer, &removed);
	uint32_t mode = pre_memory_mode();

	if (mode == REC_MEMORY_ALL || (is_sampled && mode != REC_MEMORY_OFF))
		emit_free(pointer, rec_clock_now());
}

void pre_memory_forget(void *pointer, struct pre_forgotten *forgotten)
{
	forgotten->address = (uintptr_t)pointer;
	forgotten->ticks = rec_clock_now();
	forgotten->was_sampled = pre_filter_hit(pointer) && forget(pointer, &forgotten->entry);
}

void pre_memory_freed(const struct pre_forgotten *forgotten)
{
	uint32_t mode = pre_memory_mode();

	if (mode == REC_MEMORY_ALL || (forgotten->was_sampled && mode != REC_MEMORY_OFF))
		emit_free((const void *)(uintptr_t)forgotten->address, forgotten->ticks);
}

void pre_memory_restore(const struct pre_forgotten *forgotten)
{
	if (forgotten->was_sampled)
		remember(rec_thread_self(), (const void *)(uintptr_t)forgotten->address,
			 &forgotten->entry);
}
