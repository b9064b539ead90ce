/*
 * The slow paths of rdr_arena.h.
 *
 * Blocks stand in a list; `current` is the one being filled, those behind it are empty and reused
 * before new memory is asked for. Nothing here may be called while pointers into a reset arena
 * live.
 */
#include "reader/rdr_arena.h"

#include <stdlib.h>

void *rdr_arena_more(struct rdr_arena *arena, size_t size)
{
	struct rdr_block *last = arena->current;
	size_t wanted = size > RDR_ARENA_BLOCK_BYTES ? size : RDR_ARENA_BLOCK_BYTES;

	if (size > SIZE_MAX / 2)
		return NULL;
	for (struct rdr_block *block = last ? last->next : arena->first; block;
	     block = block->next) {
		last = block;
		if (block->size < size)
			continue;
		arena->current = block;
		block->used = 0;
		return rdr_arena_alloc(arena, size);
	}
	wanted = align_up(wanted, 16);
	/* Blocks grow with the list, so that large chunks do not take thousands of them. */
	if (last && wanted < last->size * 2 && last->size < RDR_ARENA_KEEP_BYTES / 2)
		wanted = last->size * 2;
	struct rdr_block *block = malloc(sizeof(*block) + wanted);
	if (!block)
		return NULL;
	block->next = NULL;
	block->size = wanted;
	block->used = 0;
	if (last)
		last->next = block;
	else
		arena->first = block;
	arena->current = block;
	return rdr_arena_alloc(arena, size);
}

void rdr_arena_reset(struct rdr_arena *arena)
{
	struct rdr_block **link = &arena->first;

	while (*link) {
		struct rdr_block *block = *link;

		block->used = 0;
		if (block->size > RDR_ARENA_KEEP_BYTES) {
			*link = block->next;
			free(block);
		} else {
			link = &block->next;
		}
	}
	arena->current = arena->first;
}

void rdr_arena_fini(struct rdr_arena *arena)
{
	while (arena->first) {
		struct rdr_block *block = arena->first;

		arena->first = block->next;
		free(block);
	}
	arena->current = NULL;
}

void *rdr_arena_array(struct rdr_arena *arena, size_t count, size_t element_size)
{
	size_t size;
	void *result;

	if (__builtin_mul_overflow(count, element_size, &size))
		return NULL;
	result = rdr_arena_alloc(arena, size);
	if (result)
		memset(result, 0, size);
	return result;
}
