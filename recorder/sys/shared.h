/*
 * Filling memory that another process reads at the same time under a sequence number: words are
 * stored in order, each with release, so that whoever sees one of them sees what was stored before.
 *
 * On x86-64 that is what plain stores do, so the fast forms are memset and memcpy between compiler
 * fences; under ThreadSanitizer each word is an atomic of its own. Never here: anything that waits.
 */
#ifndef HOLTER_SYS_SHARED_H
#define HOLTER_SYS_SHARED_H

#include "recorder/base/util.h"

#ifdef __SANITIZE_THREAD__
#define SHARED_BY_WORD 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SHARED_BY_WORD 1
#endif
#endif
#ifndef SHARED_BY_WORD
#define SHARED_BY_WORD 0
#endif

/*
 * Word by word in any case: a memcpy of what was just stored in words becomes a 16-byte load, which
 * has to wait until those stores have left the store buffer (3 ns of a record's 8).
 */
static inline __attribute__((always_inline)) void shared_store(uint64_t *to, const void *from,
							       uint32_t bytes)
{
#pragma GCC unroll 16
	for (uint32_t i = 0; i < bytes / 8; i++) {
		uint64_t word;

		memcpy(&word, (const uint8_t *)from + 8ul * i, 8);
		__atomic_store_n(&to[i], word, __ATOMIC_RELEASE);
	}
}

static inline void shared_zero(uint64_t *to, uint32_t bytes)
{
	if (!SHARED_BY_WORD) {
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		memset(to, 0, bytes);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		return;
	}
	for (uint32_t i = 0; i < bytes / 8; i++)
		__atomic_store_n(&to[i], 0, __ATOMIC_RELEASE);
}

#endif
