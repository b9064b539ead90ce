/*
 * Ticks to nanoseconds, in double arithmetic and truncated exactly as a JDK does it (jfr-format 7).
 */
#ifndef HOLTER_READER_TIME_READ_H
#define HOLTER_READER_TIME_READ_H

#include "reader/model.h"

static inline int64_t rdr_saturate(double value)
{
	if (likely(value > -9.2e18 && value < 9.2e18))
		return (int64_t)value;
	if (value != value)
		return 0;
	return value < 0 ? INT64_MIN : INT64_MAX;
}

/* A span of ticks; Long.MIN means "none" and stays. */
static inline int64_t rdr_span_ns(const struct rdr_chunk *chunk, int64_t ticks)
{
	/* A tick of 1 ns: the division changes nothing as long as a double holds the number. */
	if (chunk->ticks_per_ns == 1.0 && ticks < (1ll << 53) && ticks > -(1ll << 53))
		return ticks;
	return rdr_saturate((double)ticks / chunk->ticks_per_ns);
}

/* A point in time, since the epoch. */
static inline int64_t rdr_time_ns(const struct rdr_chunk *chunk, int64_t ticks)
{
	int64_t since;
	int64_t result;

	if (__builtin_sub_overflow(ticks, chunk->info.start_ticks, &since))
		return ticks < 0 ? INT64_MIN : INT64_MAX;
	if (__builtin_add_overflow(chunk->info.start_ns, rdr_span_ns(chunk, since), &result))
		return since < 0 ? INT64_MIN : INT64_MAX;
	return result;
}

#endif
