/*
 * Bounded reads from bytes of a file. The first error sticks: later reads give zero, and one check
 * of `is_bad` at the end tells.
 *
 * The two hot primitives, rdr_varint() and rdr_skip_varint(), work on bare pointers.
 */
#ifndef HOLTER_READER_CURSOR_H
#define HOLTER_READER_CURSOR_H

#include "recorder/base/leb128.h"
#include "recorder/base/util.h"

struct rdr_cursor {
	const uint8_t *at;
	const uint8_t *end;
	bool is_bad;
};

static inline uint16_t rdr_be16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return __builtin_bswap16(value);
}

static inline uint32_t rdr_be32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return __builtin_bswap32(value);
}

static inline uint64_t rdr_be64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return __builtin_bswap64(value);
}

/*
 * Reads an integer; returns the byte behind it, or NULL when it is cut off. Byte by byte on
 * purpose: the width of a field seldom changes, so the branches are foreseen and the next field
 * need not wait for this one's bytes, as it would with a count of leading zeros.
 */
static inline const uint8_t *rdr_varint(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
	if (likely(at < end && *at < 0x80)) {
		*value = *at;
		return at + 1;
	}
	if (likely(end - at >= 2 && at[1] < 0x80)) {
		*value = (uint64_t)(at[0] & 0x7f) | (uint64_t)at[1] << 7;
		return at + 2;
	}
	if (likely(end - at >= 9)) {
		uint64_t result = (uint64_t)(at[0] & 0x7f) | (uint64_t)(at[1] & 0x7f) << 7;

#pragma GCC unroll 6
		for (int i = 2; i < 8; i++) {
			result |= (uint64_t)(at[i] & 0x7f) << (7 * i);
			if (at[i] < 0x80) {
				*value = result;
				return at + i + 1;
			}
		}
		*value = result | (uint64_t)at[8] << 56;
		return at + 9;
	}
	return leb128_get(at, end, value);
}

/* Skips an integer; returns the byte behind it, or NULL when it is cut off. */
static inline const uint8_t *rdr_skip_varint(const uint8_t *at, const uint8_t *end)
{
	const uint8_t *last = end - at > 8 ? at + 8 : end;

	while (at < last)
		if (*at++ < 0x80)
			return at;
	return at < end ? at + 1 : NULL;
}

static inline uint64_t rdr_get_varint(struct rdr_cursor *cursor)
{
	uint64_t value = 0;
	const uint8_t *next = NULL;

	if (!cursor->is_bad)
		next = rdr_varint(cursor->at, cursor->end, &value);
	if (!next) {
		cursor->is_bad = true;
		return 0;
	}
	cursor->at = next;
	return value;
}

static inline uint8_t rdr_get_byte(struct rdr_cursor *cursor)
{
	if (cursor->is_bad || cursor->at >= cursor->end) {
		cursor->is_bad = true;
		return 0;
	}
	return *cursor->at++;
}

static inline uint64_t rdr_left(const struct rdr_cursor *cursor)
{
	return cursor->is_bad ? 0 : (uint64_t)(cursor->end - cursor->at);
}

/* A count of things of at least `least` bytes each; bad when so many cannot follow. */
static inline uint64_t rdr_get_count(struct rdr_cursor *cursor, unsigned least)
{
	uint64_t count = rdr_get_varint(cursor);

	if (count > rdr_left(cursor) / least) {
		cursor->is_bad = true;
		return 0;
	}
	return count;
}

#endif
