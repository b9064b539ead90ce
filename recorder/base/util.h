/*
 * Small helpers that every layer uses: branch hints, sizes, alignment, minimum and maximum.
 *
 * Pure: no allocation, no system call, no state. Nothing that belongs to one layer comes here.
 */
#ifndef HOLTER_BASE_UTIL_H
#define HOLTER_BASE_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define CACHE_LINE 64
#define PAGE_BYTES 4096ul

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Rounds up to a power of two `align`; wraps to a small number near UINT64_MAX, so bound first. */
static inline uint64_t align_up(uint64_t value, uint64_t align)
{
	return (value + align - 1) & ~(align - 1);
}

static inline uint64_t align_down(uint64_t value, uint64_t align)
{
	return value & ~(align - 1);
}

#endif
