/*
 * LZ4 frames by hand, and their checksum XXH32 (Yann Collet's algorithm; constants are its own).
 *
 * In: content. Out: frame bytes. Never here: allocation, files.
 */
#define LZ4_STATIC_LINKING_ONLY
#include "recorder/dump/lz4_encode.h"

#include <lz4.h>

#include "recorder/format/jfr.h"

#define PRIME1 2654435761u
#define PRIME2 2246822519u
#define PRIME3 3266489917u
#define PRIME4 668265263u
#define PRIME5 374761393u

#define FLG_VERSION 0x40u
#define FLG_INDEPENDENT 0x20u
#define FLG_CONTENT_SIZE 0x08u
#define FLG_CONTENT_CHECKSUM 0x04u
#define BD_1_MIB 0x60u

static uint32_t rotate(uint32_t value, int bits)
{
	return value << bits | value >> (32 - bits);
}

static uint32_t load32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, 4);
	return value;
}

void rec_xxh32_begin(struct rec_xxh32 *state)
{
	*state = (struct rec_xxh32){
		.lane = { PRIME1 + PRIME2, PRIME2, 0, 0u - PRIME1 },
	};
}

static const uint8_t *stripes(uint32_t *lane, const uint8_t *at, uint64_t count)
{
	uint32_t a = lane[0], b = lane[1], c = lane[2], d = lane[3];

	for (; count > 0; count--, at += 16) {
		a = rotate(a + load32(at) * PRIME2, 13) * PRIME1;
		b = rotate(b + load32(at + 4) * PRIME2, 13) * PRIME1;
		c = rotate(c + load32(at + 8) * PRIME2, 13) * PRIME1;
		d = rotate(d + load32(at + 12) * PRIME2, 13) * PRIME1;
	}
	lane[0] = a;
	lane[1] = b;
	lane[2] = c;
	lane[3] = d;
	return at;
}

void rec_xxh32_add(struct rec_xxh32 *state, const void *bytes, uint64_t count)
{
	const uint8_t *at = bytes;

	state->total += count;
	if (state->pending_bytes) {
		uint32_t take = (uint32_t)min_u64(16 - state->pending_bytes, count);

		memcpy(state->pending + state->pending_bytes, at, take);
		state->pending_bytes += take;
		at += take;
		count -= take;
		if (state->pending_bytes < 16)
			return;
		stripes(state->lane, state->pending, 1);
		state->pending_bytes = 0;
	}
	at = stripes(state->lane, at, count / 16);
	state->pending_bytes = (uint32_t)(count % 16);
	if (state->pending_bytes)
		memcpy(state->pending, at, state->pending_bytes);
}

uint32_t rec_xxh32_end(const struct rec_xxh32 *state)
{
	const uint8_t *at = state->pending;
	uint32_t left = state->pending_bytes;
	uint32_t hash = PRIME5;

	if (state->total >= 16)
		hash = rotate(state->lane[0], 1) + rotate(state->lane[1], 7) +
		       rotate(state->lane[2], 12) + rotate(state->lane[3], 18);
	hash += (uint32_t)state->total;
	for (; left >= 4; left -= 4, at += 4)
		hash = rotate(hash + load32(at) * PRIME3, 17) * PRIME4;
	for (; left > 0; left--, at++)
		hash = rotate(hash + *at * PRIME5, 11) * PRIME1;
	hash = (hash ^ hash >> 15) * PRIME2;
	hash = (hash ^ hash >> 13) * PRIME3;
	return hash ^ hash >> 16;
}

static void store32(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, 4); /* x86-64 is little-endian, as the frame */
}

void rec_lz4_header(uint8_t *out, uint64_t content_bytes)
{
	struct rec_xxh32 hash;

	store32(out, JFR_LZ4_MAGIC);
	out[4] = FLG_VERSION | FLG_INDEPENDENT | FLG_CONTENT_SIZE | FLG_CONTENT_CHECKSUM;
	out[5] = BD_1_MIB;
	memcpy(out + 6, &content_bytes, 8);
	rec_xxh32_begin(&hash);
	rec_xxh32_add(&hash, out + 4, 10);
	out[14] = (uint8_t)(rec_xxh32_end(&hash) >> 8);
}

uint64_t rec_lz4_state_bytes(void)
{
	return (uint64_t)LZ4_sizeofState();
}

uint32_t rec_lz4_block(void *state, const void *content, uint32_t bytes, uint8_t *out)
{
	int packed = LZ4_compress_fast_extState(state, content, (char *)out + 4, (int)bytes,
						(int)REC_LZ4_BOUND, 1);

	if (packed <= 0 || (uint32_t)packed >= bytes) {
		memcpy(out + 4, content, bytes);
		store32(out, bytes | JFR_LZ4_STORED);
		return 4 + bytes;
	}
	store32(out, (uint32_t)packed);
	return 4 + (uint32_t)packed;
}
