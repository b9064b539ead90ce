/*
 * The bump arena of arena.h: blocks are anonymous private mappings, linked newest first.
 *
 * The arena's own struct lies at the start of the first block, which is therefore never unmapped
 * before the end. Never here: malloc, locks.
 */
#include "recorder/sys/arena.h"

#include <sys/mman.h>

#include "recorder/base/util.h"
#include "recorder/sys/raw.h"

#define ARENA_BLOCK_DEFAULT (1ul << 20)
#define ARENA_ALIGN_DEFAULT 16ul
#define ARENA_BYTES_MAX (1ul << 46) /* beyond any address space: an overflow, not a wish */

struct arena_block {
	struct arena_block *older;
	size_t bytes; /* mapped, this header included */
	size_t used;  /* from the block's start */
};

struct rec_arena {
	struct arena_block *newest;
	size_t block_bytes;
	size_t mapped_bytes;
};

static struct arena_block *block_map(size_t bytes, struct arena_block *older)
{
	struct arena_block *block =
		raw_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (raw_is_error(block))
		return NULL;
	block->older = older;
	block->bytes = bytes;
	block->used = sizeof(*block);
	return block;
}

/* The block that the arena itself lies in. */
static struct arena_block *block_first(const struct rec_arena *arena)
{
	return (struct arena_block *)align_down((uintptr_t)arena, PAGE_BYTES);
}

struct rec_arena *rec_arena_create(size_t block_bytes)
{
	struct arena_block *block;
	struct rec_arena *arena;

	if (block_bytes == 0)
		block_bytes = ARENA_BLOCK_DEFAULT;
	if (block_bytes > ARENA_BYTES_MAX)
		return NULL;
	block_bytes = align_up(block_bytes, PAGE_BYTES);
	block = block_map(block_bytes, NULL);
	if (block == NULL)
		return NULL;
	arena = (struct rec_arena *)((uint8_t *)block + block->used);
	block->used += sizeof(*arena);
	arena->newest = block;
	arena->block_bytes = block_bytes;
	arena->mapped_bytes = block_bytes;
	return arena;
}

void *rec_arena_alloc(struct rec_arena *arena, size_t bytes, size_t align)
{
	struct arena_block *block = arena->newest;
	size_t start, size;

	if (align == 0)
		align = ARENA_ALIGN_DEFAULT;
	if (bytes > ARENA_BYTES_MAX || align > PAGE_BYTES || (align & (align - 1)) != 0)
		return NULL;
	start = align_up(block->used, align);
	if (start > block->bytes || bytes > block->bytes - start) {
		size = align_up(sizeof(*block) + align + bytes, PAGE_BYTES);
		block = block_map(max_u64(size, arena->block_bytes), block);
		if (block == NULL)
			return NULL;
		arena->newest = block;
		arena->mapped_bytes += block->bytes;
		start = align_up(block->used, align);
	}
	block->used = start + bytes;
	return (uint8_t *)block + start;
}

void *rec_arena_zalloc(struct rec_arena *arena, size_t count, size_t size)
{
	size_t bytes;
	void *memory;

	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	memory = rec_arena_alloc(arena, bytes, ARENA_ALIGN_DEFAULT);
	if (memory != NULL)
		memset(memory, 0, bytes);
	return memory;
}

struct rec_arena_mark rec_arena_mark(const struct rec_arena *arena)
{
	return (struct rec_arena_mark){ .block = arena->newest, .used = arena->newest->used };
}

/* Unmaps the blocks newer than `keep`. */
static void blocks_drop(struct rec_arena *arena, const struct arena_block *keep)
{
	while (arena->newest != keep) {
		struct arena_block *block = arena->newest;

		arena->newest = block->older;
		arena->mapped_bytes -= block->bytes;
		raw_munmap(block, block->bytes);
	}
}

void rec_arena_release(struct rec_arena *arena, struct rec_arena_mark mark)
{
	blocks_drop(arena, mark.block);
	arena->newest->used = mark.used;
}

void rec_arena_reset(struct rec_arena *arena)
{
	blocks_drop(arena, block_first(arena));
	arena->newest->used = sizeof(struct arena_block) + sizeof(*arena);
}

size_t rec_arena_bytes(const struct rec_arena *arena)
{
	return arena->mapped_bytes;
}

void rec_arena_destroy(struct rec_arena *arena)
{
	struct arena_block *first;

	if (arena == NULL)
		return;
	first = block_first(arena);
	blocks_drop(arena, first);
	raw_munmap(first, first->bytes);
}
