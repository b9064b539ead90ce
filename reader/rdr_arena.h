/*
 * Bump allocation for what lives as long as one chunk or one event: no free, one reset.
 *
 * Blocks are kept over a reset, so that reading goes on without malloc; a block above
 * RDR_ARENA_KEEP_BYTES is given back. Allocation may fail and says so with NULL.
 */
#ifndef HOLTER_READER_RDR_ARENA_H
#define HOLTER_READER_RDR_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "recorder/base/util.h"

#define RDR_ARENA_BLOCK_BYTES (64u << 10)
#define RDR_ARENA_KEEP_BYTES (4u << 20)

struct rdr_block {
	struct rdr_block *next;
	size_t size;
	size_t used;
	uint8_t bytes[] __attribute__((aligned(16)));
};

struct rdr_arena {
	struct rdr_block *first;
	struct rdr_block *current;
};

/* The slow path of rdr_arena_alloc(): finds or makes a block with room. */
void *rdr_arena_more(struct rdr_arena *arena, size_t size);
/* Forgets all that was allocated. */
void rdr_arena_reset(struct rdr_arena *arena);
/* Gives all memory back; the arena is as new. */
void rdr_arena_fini(struct rdr_arena *arena);

/* Memory for `size` bytes, aligned to 8, not cleared; NULL when there is none. */
static inline void *rdr_arena_alloc(struct rdr_arena *arena, size_t size)
{
	struct rdr_block *block = arena->current;

	if (likely(block && size <= block->size - block->used)) {
		void *result = block->bytes + block->used;

		block->used += min_u64(align_up(size, 8), block->size - block->used);
		return result;
	}
	return rdr_arena_more(arena, size);
}

static inline bool rdr_arena_is_used(const struct rdr_arena *arena)
{
	return arena->current != arena->first || (arena->first && arena->first->used);
}

/* An array of cleared elements; NULL when there is no memory or the size overflows. */
void *rdr_arena_array(struct rdr_arena *arena, size_t count, size_t element_size);

#endif
