/*
 * Hashes for tables in memory: a 64-bit mixer, words and bytes. Not for anything that must hold
 * against an attacker, and never stored in a file.
 *
 * The mixer is the finalizer of MurmurHash3 (Austin Appleby, public domain constants).
 */
#ifndef HOLTER_BASE_HASH_H
#define HOLTER_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t hash_mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ull;
	x ^= x >> 33;
	return x;
}

/* One multiply a word, in the way of FNV-1a with a wide constant; mixed once at the end. */
static inline uint64_t hash_words(const uint64_t *words, size_t count, uint64_t seed)
{
	uint64_t h = seed ^ 0x9e3779b97f4a7c15ull;

	for (size_t i = 0; i < count; i++)
		h = (h ^ words[i]) * 0x9fb21c651e98df25ull ^ h >> 29;
	return hash_mix(h);
}

static inline uint64_t hash_bytes(const void *bytes, size_t count, uint64_t seed)
{
	const uint8_t *at = bytes;
	uint64_t h = seed ^ count;
	uint64_t word;

	for (; count >= 8; count -= 8, at += 8) {
		memcpy(&word, at, 8);
		h = (h ^ word) * 0x9fb21c651e98df25ull ^ h >> 29;
	}
	word = 0;
	memcpy(&word, at, count);
	return hash_mix((h ^ word) * 0x9fb21c651e98df25ull);
}

#endif
