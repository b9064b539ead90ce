/*
 * Writes recordings for tests of the reader, byte by byte from the format text and with nothing of
 * our own writer, so that reader and writer cannot be wrong in the same way.
 *
 * A chunk is: header, metadata, events, checkpoints in the order of the calls.
 */
#ifndef HOLTER_TESTS_READER_BUILD_H
#define HOLTER_TESTS_READER_BUILD_H

#include <stdlib.h>
#include <string.h>

#include "recorder/base/leb128.h"

struct build {
	uint8_t *bytes;
	size_t used;
	size_t room;
	size_t chunk;	   /* start of the current chunk */
	size_t checkpoint; /* of the newest, from the chunk's start */
	size_t metadata;
	size_t event; /* start of the event being written */
	uint64_t state;
};

static inline void build_bytes(struct build *build, const void *bytes, size_t size)
{
	if (build->used + size > build->room) {
		build->room = (build->used + size) * 2;
		build->bytes = realloc(build->bytes, build->room);
	}
	memcpy(build->bytes + build->used, bytes, size);
	build->used += size;
}

static inline void build_byte(struct build *build, uint8_t byte)
{
	build_bytes(build, &byte, 1);
}

static inline void build_int(struct build *build, uint64_t value)
{
	uint8_t bytes[LEB128_MAX_BYTES];

	build_bytes(build, bytes, (size_t)(leb128_put(bytes, value) - bytes));
}

static inline void build_big(struct build *build, uint64_t value, unsigned size)
{
	while (size--)
		build_byte(build, (uint8_t)(value >> (8 * size)));
}

/* A text in UTF-8, null, or empty. */
static inline void build_text(struct build *build, const char *text)
{
	if (!text || !*text) {
		build_byte(build, text ? 1 : 0);
		return;
	}
	build_byte(build, 3);
	build_int(build, strlen(text));
	build_bytes(build, text, strlen(text));
}

static inline void build_event_begin(struct build *build, uint64_t type)
{
	build->event = build->used;
	build_bytes(build, "\0\0\0", 4);
	build_int(build, type);
}

static inline void build_event_end(struct build *build)
{
	leb128_put_padded4(build->bytes + build->event, (uint32_t)(build->used - build->event));
}

static inline void build_chunk_begin(struct build *build)
{
	static const uint8_t header[68];

	build->chunk = build->used;
	build->checkpoint = 0;
	build->metadata = 0;
	build_bytes(build, header, sizeof(header));
}

/* Times: a tick is a ns, tick 1000 is second 1700000000. */
static inline void build_chunk_end(struct build *build)
{
	size_t size = build->used - build->chunk;
	size_t used = build->used;

	build->used = build->chunk;
	build_bytes(build, "FLR\0\0\2\0\1", 8);
	build_big(build, size, 8);
	build_big(build, build->checkpoint, 8);
	build_big(build, build->metadata, 8);
	build_big(build, 1700000000000000000u, 8);
	build_big(build, 1000000000, 8);
	build_big(build, 1000, 8);
	build_big(build, 1000000000, 8);
	build_big(build, build->state, 1);
	build_big(build, 0, 1);
	build_big(build, 1, 2);
	build->used = used;
}

/* Begins a checkpoint with `pool_count` pools, each a type number, a count, keys and values. */
static inline void build_checkpoint_begin(struct build *build, uint64_t pool_count)
{
	size_t at = build->used - build->chunk;

	build_event_begin(build, 1);
	build_int(build, 1000);
	build_int(build, 0);
	build_int(build, build->checkpoint ? build->checkpoint - at : 0);
	build_byte(build, 0);
	build_int(build, pool_count);
	build->checkpoint = at;
}

#endif
