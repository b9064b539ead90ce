/*
 * The parts of an LZ4 frame: header, independent blocks, checksum. Mirrors reader/lz4_decode.
 *
 * In: blocks of at most 1 MiB. Out: their bytes in a frame that any LZ4 tool reads. Framing is done
 * here because it must not allocate, and content sizes are patched when they are known, which
 * liblz4's frame functions cannot. Never here: files.
 *
 * Frame: magic 4 | FLG 1 | BD 1 | content size 8 | HC 1 | blocks: size 4, bytes | 0 in 4 | XXH32 4
 */
#ifndef HOLTER_DUMP_LZ4_ENCODE_H
#define HOLTER_DUMP_LZ4_ENCODE_H

#include "recorder/base/util.h"

#define REC_LZ4_BLOCK (1u << 20)
#define REC_LZ4_BOUND (REC_LZ4_BLOCK + REC_LZ4_BLOCK / 255 + 16)
#define REC_LZ4_HEADER 15u

/* XXH32 over a stream. */
struct rec_xxh32 {
	uint32_t lane[4];
	uint64_t total;
	uint8_t pending[16];
	uint32_t pending_bytes;
};

/**
 * rec_lz4_header() - header of a frame: independent blocks, content size, content checksum.
 * @out: REC_LZ4_HEADER bytes.
 * @content_bytes: of the whole content.
 *
 * Return: nothing. Context: any; async-signal-safe.
 */
void rec_lz4_header(uint8_t *out, uint64_t content_bytes);

/**
 * rec_lz4_state_bytes() - memory that rec_lz4_block() needs, aligned to 8.
 * Return: bytes. Context: any.
 */
uint64_t rec_lz4_state_bytes(void);

/**
 * rec_lz4_block() - one block, its size in front.
 * @state: rec_lz4_state_bytes() bytes, reusable.
 * @bytes: at most REC_LZ4_BLOCK.
 * @out: 4 + REC_LZ4_BOUND bytes.
 *
 * Return: bytes written. Context: any; no allocation.
 */
uint32_t rec_lz4_block(void *state, const void *content, uint32_t bytes, uint8_t *out);

/**
 * rec_xxh32_begin() / rec_xxh32_add() / rec_xxh32_end() - checksum of a stream with seed 0.
 *
 * Return: `end` the checksum. Context: any; async-signal-safe.
 */
void rec_xxh32_begin(struct rec_xxh32 *state);
void rec_xxh32_add(struct rec_xxh32 *state, const void *bytes, uint64_t count);
uint32_t rec_xxh32_end(const struct rec_xxh32 *state);

#endif
