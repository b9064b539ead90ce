/*
 * The bytes of a JFR chunk on their way into a file, plain or in two LZ4 frames: one of the chunk's
 * header, which is known last and patched, one of all the rest.
 *
 * In: events as they are encoded, put straight into the current block. Out: blocks to the sink. The
 * chunk header is written first as zeros and patched when everything is known. Never here: what the
 * events mean.
 */
#ifndef HOLTER_DUMP_STREAM_H
#define HOLTER_DUMP_STREAM_H

#include "recorder/dump/lz4_encode.h"
#include "recorder/dump/sink.h"
#include "recorder/dump/vec.h"
#include "recorder/format/jfr.h"

#define REC_STREAM_EVENT 1024u /* bytes that rec_stream_room() promises */

struct rec_stream {
	struct rec_sink *sink;
	struct rec_vec memory; /* block, packed block, state */
	uint8_t *block;
	uint8_t *at;	/* next free byte of the block */
	uint8_t *limit; /* flush when `at` is beyond */
	uint8_t *packed;
	void *state;
	uint64_t flushed;     /* content bytes before the block */
	struct rec_xxh32 sum; /* of those behind the chunk's header */
	int is_compressed;
};

/**
 * rec_stream_begin() - starts the content with an empty chunk header.
 * @sink: open.
 *
 * Return: 0, HOLTER_E_NOMEM, or the sink's error. Context: one thread; blocks on the sink.
 */
int rec_stream_begin(struct rec_stream *stream, struct rec_sink *sink, int is_compressed);

/**
 * rec_stream_flush() - hands the current block to the sink.
 *
 * Return: nothing; the sink keeps the error. Context: as rec_stream_begin().
 */
void rec_stream_flush(struct rec_stream *stream);

/**
 * rec_stream_put() - appends bytes of any number.
 *
 * Return: nothing; the sink keeps the error. Context: as rec_stream_begin().
 */
void rec_stream_put(struct rec_stream *stream, const void *bytes, uint64_t count);

/**
 * rec_stream_end() - writes what is left, the chunk header and the ends of the frames.
 * @header: JFR_HEADER_BYTES bytes.
 *
 * Return: 0, or the sink's error. Context: as rec_stream_begin().
 */
int rec_stream_end(struct rec_stream *stream, const uint8_t *header);

/**
 * rec_stream_free() - gives the memory back.
 *
 * Return: nothing. Context: as rec_stream_begin().
 */
void rec_stream_free(struct rec_stream *stream);

/* Where the next byte will stand in the content, from the first byte of the chunk. */
static inline uint64_t rec_stream_offset(const struct rec_stream *stream)
{
	return stream->flushed + (uint64_t)(stream->at - stream->block);
}

/* Room for one event of at most REC_STREAM_EVENT bytes; the caller moves stream->at. */
static inline uint8_t *rec_stream_room(struct rec_stream *stream)
{
	if (unlikely(stream->at > stream->limit))
		rec_stream_flush(stream);
	return stream->at;
}

#endif
