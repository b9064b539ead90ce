/*
 * The bytes of a chunk, for commands that copy recordings: events, metadata, constants as they
 * stand in the file; and a chunk built of such pieces.
 *
 * In: the chunk a reader is in (not trusted: every length is bounded). Out: pieces of it; a chunk
 * in memory. Never here: what an event or a constant means.
 */
#ifndef HOLTER_TOOLS_CHUNK_RAW_H
#define HOLTER_TOOLS_CHUNK_RAW_H

#include "reader/holter_reader.h"
#include "tools/out.h"

/* An event, metadata and checkpoints too. */
struct cli_raw_event {
	const uint8_t *at;   /* NULL: none */
	const uint8_t *body; /* behind size and type */
	const uint8_t *end;
	uint64_t type_id;
};

struct cli_raw_chunk {
	struct holter_reader *reader;
	const uint8_t *bytes;
	size_t size;
	uint64_t offset; /* of its first byte in the file */
	struct cli_raw_event metadata;
	struct cli_raw_event *checkpoints; /* in the order of the file */
	size_t checkpoint_count;
};

/* Constants of one type in one checkpoint. */
struct cli_raw_pool {
	const struct holter_type *type;
	uint64_t count;
	const uint8_t *start; /* of the pool: its type id */
	const uint8_t *entries;
	const uint8_t *end;
};

/* A place among the pools of a checkpoint. */
struct cli_raw_pools {
	const struct cli_raw_chunk *chunk;
	const uint8_t *at;
	const uint8_t *end;
	uint64_t left;
};

/**
 * cli_raw_enter() - finds the pieces of the chunk the reader is in. cli_raw_fini() - gives back.
 * @raw: zeroed before the first use; may be used for one chunk after the other.
 *
 * Return: false when the chunk has no metadata to copy. Context: the reader's thread, as
 * everything here.
 */
bool cli_raw_enter(struct cli_raw_chunk *raw, struct holter_reader *reader);
void cli_raw_fini(struct cli_raw_chunk *raw);

/* Frames the event at `at`; false when none fits before `end`. */
bool cli_raw_event_at(const uint8_t *at, const uint8_t *end, struct cli_raw_event *event);

/**
 * cli_raw_pools_begin() - the pools of a checkpoint. cli_raw_pools_next() - the next of them.
 *
 * Return: begin: false when the checkpoint is damaged. next: 1 with a pool, 0 at the end, -1 when
 * the rest cannot be told apart. Context: see above.
 */
bool cli_raw_pools_begin(const struct cli_raw_chunk *raw, const struct cli_raw_event *checkpoint,
			 struct cli_raw_pools *pools);
int cli_raw_pools_next(struct cli_raw_pools *pools, struct cli_raw_pool *pool);

/**
 * cli_raw_skip() - steps over a value of a type. cli_raw_skip_field() - over a field's value.
 *
 * Return: the first byte behind it; NULL when it does not fit or its length is unknown.
 * Context: see above.
 */
const uint8_t *cli_raw_skip(const struct holter_type *type, const uint8_t *at, const uint8_t *end,
			    int depth);
const uint8_t *cli_raw_skip_field(const struct holter_field *field, const uint8_t *at,
				  const uint8_t *end, int depth);

/* A chunk in the making: header and metadata first, then events and checkpoints. */
struct cli_chunk_out {
	struct cli_out out; /* in memory */
	uint64_t metadata_at;
	uint64_t checkpoint_at; /* of the last one; 0 = none yet */
	uint64_t event_count;
};

/**
 * cli_chunk_begin() - header and metadata of `raw`. cli_chunk_event() - an event as it is.
 * cli_chunk_checkpoint() - a checkpoint, chained to the one before. cli_chunk_pools() - a
 * checkpoint of pools that were put together. cli_chunk_end() - completes the header.
 * @chunk: begin: zeroed before the first use; its memory is kept from chunk to chunk.
 *
 * Return: nothing. Context: see above.
 */
void cli_chunk_begin(struct cli_chunk_out *chunk, const struct cli_raw_chunk *raw);
void cli_chunk_event(struct cli_chunk_out *chunk, const uint8_t *bytes, size_t count);
void cli_chunk_checkpoint(struct cli_chunk_out *chunk, const struct cli_raw_event *checkpoint);
void cli_chunk_pools(struct cli_chunk_out *chunk, const struct cli_raw_event *like,
		     uint64_t pool_count, const char *bytes, size_t count);
void cli_chunk_end(struct cli_chunk_out *chunk);

/* A varint, a string in UTF-8, as JFR writes them. */
void cli_out_varint(struct cli_out *out, uint64_t value);
void cli_out_jfr_string(struct cli_out *out, const char *text);

#endif
