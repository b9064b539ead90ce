/*
 * Paths of /proc and of region files put together without stdio.
 *
 * In: words and numbers. Out: a NUL-ended path in the caller's buffer, cut where it does not fit.
 * Pure; async-signal-safe. Nothing else belongs here.
 */
#ifndef HOLTER_REGION_PATH_H
#define HOLTER_REGION_PATH_H

#include "recorder/base/util.h"

/* Appends a word at `at`, leaving room for the NUL at `end` - 1. Returns the new end of the path.
 */
static inline char *path_word(char *at, const char *end, const char *word)
{
	while (*word != 0 && at + 1 < end)
		*at++ = *word++;
	*at = 0;
	return at;
}

/* Appends a number to base 10 or 16, whole or not at all. Returns the new end of the path. */
static inline char *path_number(char *at, const char *end, uint64_t value, uint64_t base)
{
	char digits[21];
	char *digit = digits + sizeof(digits) - 1;

	*digit = 0;
	do {
		*--digit = "0123456789abcdef"[value % base];
		value /= base;
	} while (value != 0);
	if (strlen(digit) + 1 > (size_t)(end - at))
		return at;
	return path_word(at, end, digit);
}

#endif
