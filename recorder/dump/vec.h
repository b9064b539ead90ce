/*
 * Growing memory of a dump: byte vectors on mmap, without malloc, so that a dump can run inside the
 * recorded program.
 *
 * In: sizes. Out: memory that moves when it grows: hold offsets, not pointers. Never here: shared
 * memory of the region.
 */
#ifndef HOLTER_DUMP_VEC_H
#define HOLTER_DUMP_VEC_H

#include "recorder/base/leb128.h"
#include "recorder/base/util.h"

#define REC_VEC_MAX                                                                                \
	(1ull << 33) /* bytes of one vector: a damaged region cannot make us ask more              \
		      */

struct rec_vec {
	uint8_t *data; /* NULL: nothing yet */
	uint64_t used;
	uint64_t size;
};

/**
 * rec_vec_grow() - makes room for `more` bytes behind `used`.
 *
 * Return: true; false when there is no memory, the vector untouched.
 * Context: one thread per vector; system calls only; async-signal-safe.
 */
bool rec_vec_grow(struct rec_vec *vec, uint64_t more);

/**
 * rec_vec_free() - gives all its memory back and empties it.
 *
 * Return: nothing. Context: as rec_vec_grow().
 */
void rec_vec_free(struct rec_vec *vec);

/**
 * rec_sort() - sorts in place, without memory of its own (heap sort; not stable).
 * @count, @bytes: elements and the size of one, at most 64.
 * @compare: < 0 when `a` comes first.
 *
 * Return: nothing. Context: any; no recursion.
 */
void rec_sort(void *base, uint64_t count, uint32_t bytes,
	      int (*compare)(const void *a, const void *b));

/* Room for `bytes` more, not yet counted as used; NULL without memory. */
static inline uint8_t *rec_vec_room(struct rec_vec *vec, uint64_t bytes)
{
	if (unlikely(bytes > vec->size - vec->used) && !rec_vec_grow(vec, bytes))
		return NULL;
	return vec->data + vec->used;
}

/* Appends bytes; false without memory. */
static inline bool rec_vec_put(struct rec_vec *vec, const void *bytes, uint64_t count)
{
	uint8_t *at = rec_vec_room(vec, count);

	if (!at)
		return false;
	if (count)
		memcpy(at, bytes, count);
	vec->used += count;
	return true;
}

/* Appends one varint; false without memory. */
static inline bool rec_vec_varint(struct rec_vec *vec, uint64_t value)
{
	uint8_t *at = rec_vec_room(vec, LEB128_MAX_BYTES);

	if (!at)
		return false;
	vec->used += (uint64_t)(leb128_put(at, value) - at);
	return true;
}

#endif
