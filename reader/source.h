/*
 * Bytes of a recording, whatever they come from: a mapped file, memory, a pipe; plain, LZ4, gzip.
 *
 * The rest of the reader sees one window that starts at the current position and can be made
 * longer; plain files and memory are one window from the start. Never here: anything about JFR
 * except the four bytes by which the container is told.
 */
#ifndef HOLTER_READER_SOURCE_H
#define HOLTER_READER_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/holter_reader.h"

#define RDR_INPUT_BYTES (256u << 10) /* read at once from a pipe */
#define RDR_RELEASE_BYTES (1u << 20)
#define RDR_CHUNK_BYTES_DEFAULT (1ull << 30)

struct rdr_decoder;

struct rdr_source {
	/* the window */
	const uint8_t *base;
	uint64_t size;
	uint64_t position; /* of base[0], in the decoded bytes */
	bool is_whole;	   /* the window reaches the end: it cannot grow */
	int error;	   /* why the bytes end where they do: 0, HOLTER_E_READ, _LZ4, ... */
	enum holter_container container;
	uint64_t limit_bytes; /* the window is not grown above; windows in place have none */
	/* what feeds it */
	int fd; /* -1 when the input is in memory */
	bool owns_fd;
	const uint8_t *map; /* ours, to be unmapped */
	size_t map_size;
	const uint8_t *released; /* start of what was not given back of the map */
	const uint8_t *input;	 /* raw bytes that were not decoded yet */
	size_t input_size;
	const uint8_t *memory; /* whole raw input, NULL for a pipe */
	size_t memory_size;
	bool is_input_end;
	uint8_t *input_buffer; /* of RDR_INPUT_BYTES */
	struct rdr_decoder *decoder;
	/* decoded or piped bytes: window = buffer + start */
	uint8_t *buffer;
	size_t buffer_size;
	size_t buffer_start;
	size_t buffer_used;
};

/*
 * Opens `fd` or, with fd -1, [memory, memory + memory_size); finds the container. On failure the
 * source is closed (an owned fd too). Returns 0 or a negative code.
 */
int rdr_source_open(struct rdr_source *source, int fd, bool owns_fd, const void *memory,
		    size_t memory_size, uint64_t limit_bytes);
void rdr_source_close(struct rdr_source *source);

/*
 * Makes the window at least `wanted` bytes long, or as long as there are bytes (limit_bytes at
 * most). Pointers into the old window are dead. Returns 0 or HOLTER_E_NOMEM; that the bytes ended
 * early shows in `size` and `error`.
 */
int rdr_source_fill(struct rdr_source *source, uint64_t wanted);

/* Moves the window forward by `bytes`, at most its size; its pointers stay alive until a fill. */
void rdr_source_skip(struct rdr_source *source, uint64_t bytes);

/* After an error in compressed data: looks for the next frame and goes on there. True if found. */
bool rdr_source_resume(struct rdr_source *source);

/* Back to the first byte. Returns 0, HOLTER_E_ARGUMENT for a pipe, HOLTER_E_NOMEM. */
int rdr_source_rewind(struct rdr_source *source);

#endif
