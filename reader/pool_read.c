/*
 * Reads the constants (jfr-format 5): first all checkpoints, values are only stepped over; they are
 * decoded when somebody asks (value_read.c, stack_read.c).
 *
 * In: the chain that starts at the header's checkpoint offset; where it is broken, whatever whole
 * checkpoints a walk over the events finds. Out: the pools of the types. The newest value of a key
 * counts, so newer checkpoints are read first.
 */
#include "reader/pool_read.h"

#include "reader/event_read.h"
#include "reader/skip.h"

#define CONSTANT_BYTES_LEAST 2 /* a key and a value */

static bool reserve(struct rdr_chunk *chunk, struct rdr_pool *pool, uint64_t more)
{
	uint64_t wanted = (uint64_t)pool->count + more;
	struct rdr_constant *constants;

	if (wanted <= pool->capacity)
		return true;
	wanted = max_u64(wanted, 2ull * pool->capacity);
	if (wanted > UINT32_MAX - 1)
		return false;
	constants = rdr_arena_alloc(&chunk->arena, wanted * sizeof(*constants));
	if (!constants)
		return false;
	if (pool->count)
		memcpy(constants, pool->constants, pool->count * sizeof(*constants));
	pool->constants = constants;
	pool->capacity = (uint32_t)wanted;
	return true;
}

/* One pool: its type, then `count` keys with values. */
static int read_pool(struct rdr_chunk *chunk, struct rdr_cursor *cursor, const char **why)
{
	const struct holter_type *type =
		rdr_index_find(&chunk->types_by_id, rdr_get_varint(cursor));
	uint64_t count = rdr_get_count(cursor, CONSTANT_BYTES_LEAST);
	struct rdr_pool *pool;

	*why = "constants end early";
	if (cursor->is_bad)
		return HOLTER_E_CORRUPT;
	*why = "constants of an unknown type";
	if (!type || type->op == RDR_OP_BAD)
		return HOLTER_E_CORRUPT;
	pool = (struct rdr_pool *)(uintptr_t)&type->pool;
	if (!reserve(chunk, pool, count))
		return HOLTER_E_NOMEM;
	*why = "a damaged constant";
	for (uint64_t i = 0; i < count; i++) {
		struct rdr_constant *constant = &pool->constants[pool->count];
		const uint8_t *at = rdr_varint(cursor->at, cursor->end, &constant->key);

		if (!at)
			return HOLTER_E_CORRUPT;
		constant->at = at;
		at = rdr_skip_type(type, at, cursor->end);
		if (!at)
			return HOLTER_E_CORRUPT;
		constant->end = at;
		constant->decoded = NULL;
		cursor->at = at;
		pool->count++;
	}
	chunk->info.constant_count += count;
	return 0;
}

/* Reads a checkpoint; what stands before damage is kept. `frame` is one of type 1. */
static int read_checkpoint(struct holter_reader *reader, const struct rdr_frame *frame,
			   int64_t *delta)
{
	struct rdr_cursor cursor = { frame->body, frame->end, false };
	const char *why = "a checkpoint ends early";
	uint64_t pool_count;
	int code = 0;

	rdr_get_varint(&cursor); /* start */
	rdr_get_varint(&cursor); /* duration */
	*delta = (int64_t)rdr_get_varint(&cursor);
	rdr_get_byte(&cursor); /* flags */
	pool_count = rdr_get_varint(&cursor);
	if (cursor.is_bad)
		code = HOLTER_E_CORRUPT;
	reader->chunk.info.checkpoint_count++;
	for (uint64_t i = 0; i < pool_count && !code; i++)
		code = read_pool(&reader->chunk, &cursor, &why);
	if (code != HOLTER_E_CORRUPT)
		return code;
	rdr_problem(reader, HOLTER_E_CORRUPT, HOLTER_DAMAGE, rdr_offset(reader, cursor.at),
		    (uint64_t)(frame->end - cursor.at), "%s: the rest of the checkpoint is lost",
		    why);
	return 0;
}

/*
 * Follows the chain. A loop is found by Brent's method; and since checkpoints do not overlap, the
 * sum of their sizes is bounded by the chunk, which also ends chains that overlap. *oldest is the
 * lowest address read. Returns 1 when the chain is whole, 0 when it is not, or a negative code.
 */
static int follow_chain(struct holter_reader *reader, const uint8_t **oldest)
{
	struct rdr_chunk *chunk = &reader->chunk;
	uint64_t size = (uint64_t)(chunk->end - chunk->base);
	uint64_t offset = chunk->info.checkpoint_offset;
	uint64_t read_bytes = 0;
	uint64_t mark = 0; /* an offset that was met; moved at steps that are powers of two */
	uint64_t steps = 0;
	struct rdr_frame frame;
	int64_t delta = 0;

	while (offset) {
		if (offset == mark)
			return 0;
		if ((steps & (steps - 1)) == 0)
			mark = offset;
		steps++;
		if (offset < RDR_HEADER_BYTES || offset >= size)
			return 0;
		if (!rdr_frame_read(chunk->base + offset, chunk->end, &frame) || frame.id != 1)
			return 0;
		read_bytes += (uint64_t)(frame.end - frame.at);
		if (read_bytes > size)
			return 0;
		int code = read_checkpoint(reader, &frame, &delta);
		if (code)
			return code;
		if (frame.at < *oldest)
			*oldest = frame.at;
		if (!delta)
			return 1;
		offset += (uint64_t)delta; /* wraps for negative ones; the range is checked above */
	}
	return 1;
}

/* Reads the checkpoints that a walk over the events finds below `oldest`, the newest first. */
static int read_stray(struct holter_reader *reader, const uint8_t *oldest)
{
	struct rdr_chunk *chunk = &reader->chunk;
	struct rdr_frame frame;
	const uint8_t **found;
	uint64_t room = 0;
	uint64_t count = 0;
	int64_t delta;
	int code = 0;

	for (const uint8_t *at = chunk->base + RDR_HEADER_BYTES;
	     at < oldest && rdr_frame_read(at, chunk->end, &frame); at = frame.end)
		room += frame.id == 1;
	found = rdr_arena_array(&chunk->arena, room, sizeof(*found));
	if (!found)
		return HOLTER_E_NOMEM;
	/* A mapped file may have changed since: what is found now is bounded by the room. */
	for (const uint8_t *at = chunk->base + RDR_HEADER_BYTES;
	     count < room && at < oldest && rdr_frame_read(at, chunk->end, &frame); at = frame.end)
		if (frame.id == 1)
			found[count++] = at;
	rdr_problem(reader, HOLTER_E_CORRUPT, HOLTER_DAMAGE, chunk->info.offset, 0,
		    "the chain of checkpoints is broken; %llu more were found by searching",
		    (unsigned long long)count);
	while (count-- && !code)
		if (rdr_frame_read(found[count], chunk->end, &frame))
			code = read_checkpoint(reader, &frame, &delta);
	return code;
}

int rdr_pools_read(struct holter_reader *reader)
{
	struct rdr_chunk *chunk = &reader->chunk;
	const uint8_t *oldest = chunk->end;
	int code = follow_chain(reader, &oldest);

	if (code == 0)
		code = read_stray(reader, oldest);
	if (code < 0)
		return code;
	for (uint32_t i = 0; i < chunk->type_count; i++) {
		struct rdr_pool *pool = &chunk->types[i].pool;
		uint64_t duplicates;

		if (!rdr_index_build(&pool->index, &chunk->arena, pool->constants, pool->count,
				     sizeof(*pool->constants), &duplicates))
			return HOLTER_E_NOMEM;
		chunk->info.duplicate_count += duplicates;
	}
	return 0;
}
