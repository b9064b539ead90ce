/*
 * A bump arena over anonymous mappings: memory for one piece of work, given back all at once.
 *
 * In: sizes, from dump and engine. Out: memory, from chained blocks that grow on demand. It never
 * calls malloc, since its users may run inside the recorded program (leader=thread). Nothing is
 * freed singly; one thread uses an arena at a time.
 */
#ifndef HOLTER_SYS_ARENA_H
#define HOLTER_SYS_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct rec_arena;

/* Where an arena stood; see rec_arena_mark(). */
struct rec_arena_mark {
	void *block;
	size_t used;
};

/**
 * rec_arena_create() - makes an empty arena.
 * @block_bytes: size of a block; larger requests get a block of their own. 0 = 1 MiB.
 *
 * Return: the arena, ours until rec_arena_destroy(); NULL when there is no memory.
 * Context: any thread; one system call; async-signal-safe.
 */
struct rec_arena *rec_arena_create(size_t block_bytes);

/**
 * rec_arena_alloc() - memory that lives until reset, release to an earlier mark, or destroy.
 * @bytes: 0 gives a valid pointer to nothing.
 * @align: a power of two up to a page; 0 = 16.
 *
 * The content is undefined: blocks are used again after a reset.
 *
 * Return: the memory; NULL when there is none or a size is absurd, the arena unchanged.
 * Context: one thread at a time; a system call only when a block is full.
 */
void *rec_arena_alloc(struct rec_arena *arena, size_t bytes, size_t align);

/**
 * rec_arena_zalloc() - as rec_arena_alloc() with alignment 16, for an array, filled with zeros.
 * @count, @size: of the array; their product is checked for overflow.
 *
 * Return: as rec_arena_alloc(). Context: as rec_arena_alloc().
 */
void *rec_arena_zalloc(struct rec_arena *arena, size_t count, size_t size);

/**
 * rec_arena_mark() - where the arena stands now, for rec_arena_release().
 *
 * Return: the mark. Context: as rec_arena_alloc().
 */
struct rec_arena_mark rec_arena_mark(const struct rec_arena *arena);

/**
 * rec_arena_release() - gives back all that was allocated since the mark; its later blocks are
 * unmapped.
 *
 * Return: nothing. Context: as rec_arena_alloc().
 */
void rec_arena_release(struct rec_arena *arena, struct rec_arena_mark mark);

/**
 * rec_arena_reset() - gives back everything; keeps the first block mapped for the next use.
 *
 * Return: nothing. Context: as rec_arena_alloc().
 */
void rec_arena_reset(struct rec_arena *arena);

/**
 * rec_arena_bytes() - bytes mapped now, for accounts of what the recorder itself uses.
 *
 * Return: see above. Context: as rec_arena_alloc().
 */
size_t rec_arena_bytes(const struct rec_arena *arena);

/**
 * rec_arena_destroy() - unmaps everything, the arena included; NULL is ignored.
 *
 * Return: nothing. Context: as rec_arena_alloc().
 */
void rec_arena_destroy(struct rec_arena *arena);

#endif
