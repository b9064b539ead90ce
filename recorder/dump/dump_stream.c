/*
 * Blocks of 1 MiB between the encoders and the sink.
 *
 * In: encoded bytes. Out: the same, or LZ4 blocks of them. Never here: a second copy of the
 * content.
 */
#include "recorder/dump/dump_stream.h"

#define PACKED_BYTES (4 + REC_LZ4_BOUND)

int rec_stream_begin(struct rec_stream *stream, struct rec_sink *sink, int is_compressed)
{
	static const uint8_t zeros[JFR_HEADER_BYTES];
	uint8_t frame[REC_LZ4_HEADER];

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
		rec_lz4_header(frame, 0);
		rec_sink_write(sink, frame, sizeof(frame));
	}
	rec_stream_put(stream, zeros, sizeof(zeros));
	rec_stream_flush(stream); /* a block of its own, that can be patched */
	return sink->code;
}

void rec_stream_flush(struct rec_stream *stream)
{
	uint32_t bytes = (uint32_t)(stream->at - stream->block);
	int is_header = stream->flushed == 0;

	if (bytes == 0)
		return;
	if (stream->is_compressed) {
		uint32_t packed = rec_lz4_block(stream->state, stream->block, bytes, stream->packed,
						is_header);

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

/* Reads all blocks back and sums their content up. */
static int sum_blocks(struct rec_stream *stream, struct rec_xxh32 *hash)
{
	struct rec_sink *sink = stream->sink;
	uint64_t offset = REC_LZ4_HEADER;
	uint64_t content = 0;

	while (offset < sink->bytes) {
		uint32_t word, bytes;

		if (rec_sink_read(sink, offset, &word, 4))
			return sink->code;
		bytes = word & ~JFR_LZ4_STORED;
		if (bytes > REC_LZ4_BLOCK || rec_sink_read(sink, offset + 4, stream->packed, bytes))
			return sink->code ? sink->code : HOLTER_E_LZ4;
		offset += 4 + bytes;
		if (word & JFR_LZ4_STORED) {
			rec_xxh32_add(hash, stream->packed, bytes);
			content += bytes;
			continue;
		}
		int plain = rec_lz4_unblock(stream->packed, bytes, stream->block);
		if (plain < 0)
			return HOLTER_E_LZ4;
		rec_xxh32_add(hash, stream->block, (uint64_t)plain);
		content += (uint64_t)plain;
	}
	return content == stream->flushed ? 0 : HOLTER_E_LZ4;
}

int rec_stream_end(struct rec_stream *stream, const uint8_t *header)
{
	struct rec_sink *sink = stream->sink;
	uint8_t frame[REC_LZ4_HEADER];
	uint8_t tail[8] = { 0 };
	struct rec_xxh32 hash;
	uint32_t sum;
	int code;

	rec_stream_flush(stream);
	if (!stream->is_compressed)
		return rec_sink_patch(sink, 0, header, JFR_HEADER_BYTES);
	rec_lz4_header(frame, stream->flushed);
	rec_sink_patch(sink, 0, frame, sizeof(frame));
	rec_sink_patch(sink, REC_LZ4_HEADER + 4, header, JFR_HEADER_BYTES);
	if (sink->code)
		return sink->code;
	rec_xxh32_begin(&hash);
	code = sum_blocks(stream, &hash);
	if (code)
		return code;
	sum = rec_xxh32_end(&hash);
	memcpy(tail + 4, &sum, 4);
	return rec_sink_write(sink, tail, sizeof(tail));
}

void rec_stream_free(struct rec_stream *stream)
{
	rec_vec_free(&stream->memory);
}
