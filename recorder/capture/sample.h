/*
 * Sampling of allocations by bytes: a Poisson process over the stream of allocated bytes.
 *
 * In: the mean distance between two samples, a generator's state. Out: how many bytes until the
 * next sample, and how many bytes a sample stands for. Pure arithmetic, without libm (the injected
 * object needs nothing but libc). Never here: what is done with a sample.
 *
 * Why it is unbiased: a block of `size` bytes is hit with probability p = 1 - exp(-size /
 * interval), however its bytes lie in the stream, since the process has no memory. A block that is
 * hit counts size / p bytes, so on average every block counts `size`.
 */
#ifndef HOLTER_CAPTURE_SAMPLE_H
#define HOLTER_CAPTURE_SAMPLE_H

#include <stdint.h>

#include "recorder/base/hash.h"

#define SAMPLE_LN2 0.693147180559945309417
#define SAMPLE_LOG2E 1.44269504088896340736

/* One step of xorshift64*; the state must not be 0. */
static inline uint64_t sample_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dull;
}

/* A seed that differs between threads and runs; never 0. */
static inline uint64_t sample_seed(uint64_t ticks, uint64_t thread)
{
	return hash_mix(ticks ^ thread << 32 ^ thread) | 1;
}

static inline double sample_from_bits(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Natural logarithm of a normal number in (0, 2); relative error below 1e-9. */
static inline double sample_log(double x)
{
	uint64_t bits;
	int64_t exponent;

	memcpy(&bits, &x, sizeof(bits));
	exponent = (int64_t)(bits >> 52) - 1023;
	/* Mantissa in [1, 2), moved to [sqrt(1/2), sqrt(2)), where the series is short. */
	double m = sample_from_bits((bits & 0xfffffffffffffull) | 1023ull << 52);

	if (m > 1.41421356237309505) {
		m *= 0.5;
		exponent++;
	}
	double s = (m - 1) / (m + 1);
	double q = s * s;
	double series = 1 + q * (1.0 / 3 + q * (1.0 / 5 + q * (1.0 / 7 + q * (1.0 / 9 + q / 11))));

	return (double)exponent * SAMPLE_LN2 + 2 * s * series;
}

/* exp(-x) for 0 <= x <= 700; relative error below 1e-8. */
static inline double sample_exp_minus(double x)
{
	double power = -x * SAMPLE_LOG2E;
	int64_t whole = (int64_t)power - 1;
	double r = (power - (double)whole) * SAMPLE_LN2; /* (0, ln 2] */

	/* Half of it, squared at the end: the series is short below 0.35. */
	r *= 0.5;
	double e = 1 + r * (1 + r * (1.0 / 2 +
				     r * (1.0 / 6 +
					  r * (1.0 / 24 +
					       r * (1.0 / 120 +
						    r * (1.0 / 720 +
							 r * (1.0 / 5040 + r * (1.0 / 40320))))))));

	return e * e * sample_from_bits((uint64_t)(whole + 1023) << 52);
}

/**
 * sample_next() - draws the distance to the next sample.
 * @state: of the generator, not 0. @interval: mean distance in bytes; 0 counts as 1.
 *
 * Return: bytes, exponentially distributed, below 2^62; a block is sampled when its bytes reach
 * beyond. Context: any; async-signal-safe.
 */
static inline uint64_t sample_next(uint64_t *state, uint64_t interval)
{
	/* 53 bits, in (0, 1]: the logarithm is finite, at most 36.7 intervals. */
	double u = (double)((sample_random(state) >> 11) + 1) * 0x1p-53;
	double distance = -sample_log(u) * (double)(interval ? interval : 1);

	return distance < 0x1p62 ? (uint64_t)(distance > 0 ? distance : 0) : 1ull << 62;
}

/**
 * sample_weight() - how many bytes a sampled block stands for.
 * @size: of the block, @interval: of the sampling when it was hit; bytes.
 *
 * Return: size / (1 - exp(-size / interval)), rounded; never less than size.
 * Context: any; async-signal-safe.
 */
static inline uint64_t sample_weight(uint64_t size, uint64_t interval)
{
	double mean = (double)(interval ? interval : 1);
	double x = (double)size / mean;
	double weight;

	if (x > 40)
		return size;
	if (x < 0.5) /* x / (1 - exp(-x)) by its series: no cancellation */
		weight = mean *
			 (1 + x * (0.5 + x * (1.0 / 12 - x * x * (1.0 / 720 - x * x / 30240))));
	else
		weight = (double)size / (1 - sample_exp_minus(x));
	return (uint64_t)(weight + 0.5) > size ? (uint64_t)(weight + 0.5) : size;
}

#endif
