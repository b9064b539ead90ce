/*
 * Writes the stacks of a chunk anew, with names where there were addresses.
 *
 * In: the constants of a chunk as bytes, names for addresses. Out: checkpoints in a chunk in the
 * making. What cannot be taken apart is copied as it is. Never here: looking up names.
 */
#ifndef HOLTER_TOOLS_STACK_REWRITE_H
#define HOLTER_TOOLS_STACK_REWRITE_H

#include "tools/chunk_raw.h"
#include "tools/symbol_names.h"

struct cli_rewrite {
	uint64_t chunk;	    /* number of the chunk at hand, from 1 */
	uint64_t addresses; /* frames that had no name, over all stacks */
	uint64_t named;	    /* and that have one now */
	/* of the chunk: where its constants are, sorted by key */
	struct cli_constants {
		struct cli_constant *at;
		size_t count;
		size_t capacity;
		const struct holter_type *type;
	} methods, classes, symbols, frame_types;
	uint64_t frame_keys[CLI_FRAME_KINDS]; /* of FrameType constants; 0 = not there */
	struct cli_out pools;		      /* of a checkpoint in the making */
	struct cli_out added[3];	      /* new methods, symbols, frame types of the chunk */
	uint64_t added_count[3];
};

/**
 * cli_rewrite_chunk() - writes all checkpoints of `raw` to `chunk`, and one with what is new.
 * @rewrite: zeroed before the first use.
 * @frame_type_key: first of three keys that no FrameType of the file has.
 *
 * Return: nothing. Context: the reader's thread, as everything here.
 */
void cli_rewrite_chunk(struct cli_rewrite *rewrite, struct cli_names *names,
		       const struct cli_raw_chunk *raw, struct cli_chunk_out *chunk,
		       uint64_t frame_type_key);

/* Gives the memory back. */
void cli_rewrite_fini(struct cli_rewrite *rewrite);

/* The highest key of the constants of a type in a chunk; 0 for none. */
uint64_t cli_rewrite_last_key(const struct cli_raw_chunk *raw, const char *type);

#endif
