/*
 * The variable-length integer of JFR: little-endian base 128, low 7 bits first, at most 9 bytes;
 * the ninth byte carries 8 bits and no continuation mark (jfr-format 2, holter-format(5)).
 *
 * Writers hand in a buffer with room; readers hand in an end that is never passed.
 */
#ifndef HOLTER_BASE_LEB128_H
#define HOLTER_BASE_LEB128_H

#include <stddef.h>
#include <stdint.h>

#define LEB128_MAX_BYTES 9
#define LEB128_PADDED4_MAX ((1u << 28) - 1)

/*
 * leb128_put() - writes the shortest form of `value` at `at`, at most LEB128_MAX_BYTES bytes.
 *
 * Return: the first byte behind what was written.
 * Context: any; async-signal-safe.
 */
static inline uint8_t *leb128_put(uint8_t *at, uint64_t value)
{
	for (int i = 0; i < 8; i++) {
		if (value < 0x80) {
			*at++ = (uint8_t)value;
			return at;
		}
		*at++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

/*
 * leb128_put_padded4() - writes `value` (at most LEB128_PADDED4_MAX) in exactly four bytes, so
 * that a length can be patched in after its content is known.
 *
 * Return: the first byte behind what was written.
 * Context: any; async-signal-safe.
 */
static inline uint8_t *leb128_put_padded4(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value | 0x80);
	at[1] = (uint8_t)(value >> 7 | 0x80);
	at[2] = (uint8_t)(value >> 14 | 0x80);
	at[3] = (uint8_t)(value >> 21 & 0x7f);
	return at + 4;
}

/*
 * leb128_get() - reads one integer from [at, end).
 *
 * Return: the first byte behind it, with the value in *value; NULL when it is cut off, *value
 * untouched.
 * Context: any; async-signal-safe.
 */
static inline const uint8_t *leb128_get(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
	uint64_t result = 0;

	for (int i = 0; i < 8; i++) {
		if (at >= end)
			return NULL;
		uint8_t byte = *at++;
		result |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (byte < 0x80) {
			*value = result;
			return at;
		}
	}
	if (at >= end)
		return NULL;
	*value = result | (uint64_t)*at++ << 56;
	return at;
}

/*
 * leb128_size() - how many bytes leb128_put() writes for `value`.
 *
 * Return: 1 to LEB128_MAX_BYTES.
 * Context: any; async-signal-safe.
 */
static inline unsigned leb128_size(uint64_t value)
{
	unsigned bits = 64 - (unsigned)__builtin_clzll(value | 1);

	return bits > 56 ? 9 : (bits + 6) / 7;
}

#endif
