/*
 * Comparing bytes that another thread may be overwriting, where the caller checks the outcome by
 * other means (a hash, a generation).
 *
 * In C this is a data race whatever the machine makes of it, so ThreadSanitizer builds get a loop
 * of relaxed atomic loads; all others get libc's vector code, which is three times as fast.
 */
#ifndef HOLTER_SYS_RACY_H
#define HOLTER_SYS_RACY_H

#include "recorder/base/util.h"

/* True when `bytes` at `mine` (private, any alignment) and `shared` (8-aligned) are equal. */
static inline bool racy_equal(const uint8_t *mine, const uint64_t *shared, uint32_t bytes)
{
#if defined(__SANITIZE_THREAD__)
	uint64_t differs = 0;

	for (uint32_t done = 0; done < bytes; done += 8) {
		uint32_t part = bytes - done < 8 ? bytes - done : 8;
		uint64_t theirs = __atomic_load_n(&shared[done / 8], __ATOMIC_RELAXED);
		uint64_t word = 0;

		memcpy(&word, mine + done, part);
		if (part < 8)
			theirs &= (1ull << (8 * part)) - 1;
		differs |= word ^ theirs;
	}
	return differs == 0;
#else
	return memcmp(mine, shared, bytes) == 0;
#endif
}

#endif
