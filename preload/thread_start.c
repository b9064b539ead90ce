/*
 * Blocks for new threads (thread_start.h): a free list with a tag against its ABA problem.
 *
 * In: requests. Out: blocks of mapped slabs, which are never unmapped. A block of a thread that was
 * being started while another one forked is lost in the child: 40 bytes.
 */
#include "preload/thread_start.h"

#include <sys/mman.h>

#include "recorder/sys/raw.h"

#define SLAB_BYTES 16384u
#define ADDRESS_BITS 48
#define ADDRESS_MASK ((1ull << ADDRESS_BITS) - 1)

static uint64_t free_list; /* tag 16 | address 48 */

/* Puts a chain of blocks, linked by next_free from `first` to `last`, on the list. */
static void push(struct pre_start *first, struct pre_start *last)
{
	uint64_t old = __atomic_load_n(&free_list, __ATOMIC_RELAXED);
	uint64_t new;

	do {
		/* Atomic: a popping thread that is late may still read the link. */
		__atomic_store_n(&last->next_free, old & ADDRESS_MASK, __ATOMIC_RELAXED);
		new = ((old >> ADDRESS_BITS) + 1) << ADDRESS_BITS | (uint64_t)(uintptr_t)first;
		/* Release: pairs with the acquire in pop(), the links are there. */
	} while (!__atomic_compare_exchange_n(&free_list, &old, new, true, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

static struct pre_start *pop(void)
{
	uint64_t old = __atomic_load_n(&free_list, __ATOMIC_ACQUIRE);
	struct pre_start *first;
	uint64_t new;

	do {
		first = (struct pre_start *)(uintptr_t)(old & ADDRESS_MASK);
		if (!first)
			return NULL;
		new = ((old >> ADDRESS_BITS) + 1) << ADDRESS_BITS |
		      __atomic_load_n(&first->next_free, __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(&free_list, &old, new, true, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	return first;
}

struct pre_start *pre_start_new(void)
{
	struct pre_start *block = pop();
	const size_t count = SLAB_BYTES / sizeof(*block);

	if (likely(block != NULL))
		return block;
	block = raw_mmap(NULL, SLAB_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0);
	if (raw_is_error(block))
		return NULL;
	for (size_t i = 1; i + 1 < count; i++)
		block[i].next_free = (uintptr_t)&block[i + 1];
	push(&block[1], &block[count - 1]);
	return block;
}

void pre_start_free(struct pre_start *start)
{
	push(start, start);
}
