/*
 * Blocks of 1 MiB between the encoders and the sink.
 *
 * In: encoded bytes. Out: the same, or LZ4 blocks of them. Never here: a second copy of the
 * content.
 */
#include "recorder/dump/dump_stream.h"

#define PACKED_BYTES (4 + REC_LZ4_BOUND)

/* The JFR header is a frame of its own, so that it can be patched when the rest is known. */
#define HEAD_BLOCK (REC_LZ4_HEADER + 4)
#define HEAD_FRAME (HEAD_BLOCK + JFR_HEADER_BYTES + 8)

static void make_head(uint8_t frame[HEAD_FRAME], const uint8_t *header)
{
	uint32_t word = JFR_HEADER_BYTES | JFR_LZ4_STORED;
	struct rec_xxh32 hash;

	memset(frame, 0, HEAD_FRAME);
	rec_lz4_header(frame, JFR_HEADER_BYTES);
	memcpy(frame + REC_LZ4_HEADER, &word, 4);
	memcpy(frame + HEAD_BLOCK, header, JFR_HEADER_BYTES);
	rec_xxh32_begin(&hash);
	rec_xxh32_add(&hash, header, JFR_HEADER_BYTES);
	word = rec_xxh32_end(&hash);
	memcpy(frame + HEAD_FRAME - 4, &word, 4);
}

int rec_stream_begin(struct rec_stream *stream, struct rec_sink *sink, int is_compressed)
{
	static const uint8_t zeros[JFR_HEADER_BYTES];
	uint8_t frame[HEAD_FRAME];

	memset(stream, 0, sizeof(*stream));
	stream->sink = sink;
	stream->is_compressed = is_compressed;
	if (!rec_vec_grow(&stream->memory,
			  REC_LZ4_BLOCK + align_up(PACKED_BYTES, 16) + rec_lz4_state_bytes()))
		return HOLTER_E_NOMEM;
	stream->block = stream->at = stream->memory.data;
	stream->packed = stream->block + REC_LZ4_BLOCK;
	stream->state = stream->packed + align_up(PACKED_BYTES, 16);
	stream->limit = stream->block + REC_LZ4_BLOCK - REC_STREAM_EVENT;
	if (is_compressed) {
		make_head(frame, zeros);
		rec_sink_write(sink, frame, HEAD_FRAME);
		rec_lz4_header(frame, 0);
		rec_sink_write(sink, frame, REC_LZ4_HEADER);
	} else {
		rec_sink_write(sink, zeros, sizeof(zeros));
	}
	rec_xxh32_begin(&stream->sum);
	stream->flushed = JFR_HEADER_BYTES;
	return sink->code;
}

void rec_stream_flush(struct rec_stream *stream)
{
	uint32_t bytes = (uint32_t)(stream->at - stream->block);

	if (bytes == 0)
		return;
	if (stream->is_compressed) {
		uint32_t packed =
			rec_lz4_block(stream->state, stream->block, bytes, stream->packed);

		rec_xxh32_add(&stream->sum, stream->block, bytes);
		rec_sink_write(stream->sink, stream->packed, packed);
	} else {
		rec_sink_write(stream->sink, stream->block, bytes);
	}
	stream->flushed += bytes;
	stream->at = stream->block;
}

void rec_stream_put(struct rec_stream *stream, const void *bytes, uint64_t count)
{
	const uint8_t *from = bytes;

	while (count > 0 && !stream->sink->code) {
		uint64_t room = REC_LZ4_BLOCK - (uint64_t)(stream->at - stream->block);
		uint64_t piece = min_u64(room, count);

		if (piece == 0) {
			rec_stream_flush(stream);
			continue;
		}
		memcpy(stream->at, from, piece);
		stream->at += piece;
		from += piece;
		count -= piece;
	}
}

int rec_stream_end(struct rec_stream *stream, const uint8_t *header)
{
	struct rec_sink *sink = stream->sink;
	uint8_t frame[HEAD_FRAME];
	uint8_t tail[8] = { 0 };
	uint32_t sum;

	rec_stream_flush(stream);
	if (!stream->is_compressed)
		return rec_sink_patch(sink, 0, header, JFR_HEADER_BYTES);
	sum = rec_xxh32_end(&stream->sum);
	memcpy(tail + 4, &sum, 4);
	rec_sink_write(sink, tail, sizeof(tail));
	make_head(frame, header);
	rec_sink_patch(sink, 0, frame, HEAD_FRAME);
	rec_lz4_header(frame, stream->flushed - JFR_HEADER_BYTES);
	return rec_sink_patch(sink, HEAD_FRAME, frame, REC_LZ4_HEADER);
}

void rec_stream_free(struct rec_stream *stream)
{
	rec_vec_free(&stream->memory);
}
