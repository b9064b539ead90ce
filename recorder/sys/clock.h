/*
 * The clock of a region: the TSC where it is invariant, else CLOCK_MONOTONIC_RAW in nanoseconds.
 *
 * In: nothing. Out: ticks for records, and their conversion to nanoseconds since the epoch. One
 * linear mapping holds for a whole file (jfr-format 7).
 */
#ifndef HOLTER_SYS_CLOCK_H
#define HOLTER_SYS_CLOCK_H

#include <stdint.h>
#include <time.h>

struct rec_clock {
	uint32_t is_tsc;
	uint32_t reserved;
	uint64_t ticks_per_second;
	uint64_t base_ticks;	/* at the same instant as the two below */
	uint64_t base_mono_ns;	/* CLOCK_MONOTONIC */
	uint64_t base_epoch_ns; /* CLOCK_REALTIME */
};

/* 1 when ticks are the TSC; set once by rec_clock_init() or rec_clock_adopt(). */
extern uint32_t rec_clock_is_tsc;
/* Not 0: rec_clock_stop() was called, and this is the time for good. */
extern uint64_t rec_clock_stopped;

static inline uint64_t rec_clock_now(void)
{
	struct timespec now;

	if (__builtin_expect(rec_clock_is_tsc, 1))
		return __builtin_ia32_rdtsc();
	if (__builtin_expect(rec_clock_stopped != 0, 0))
		return rec_clock_stopped;
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/**
 * rec_clock_init() - chooses the clock source and reads all clocks at one instant.
 * @clock: out.
 *
 * The TSC is used when the CPU says it is invariant and the kernel uses it as its clock source; its
 * frequency is measured for 50 us, which is good for about 400 ppm; rec_clock_refine() improves it
 * later. (CPUID would tell it on some machines, but traps in virtual ones: 8 us a leaf.)
 *
 * Return: nothing. Context: any thread; async-signal-safe.
 */
void rec_clock_init(struct rec_clock *clock);

/**
 * rec_clock_begin() / rec_clock_finish() - rec_clock_init() in two halves, for callers that have
 * work to do while the measurement runs. Between the two `clock` is incomplete.
 *
 * Return: nothing. Context: as rec_clock_init().
 */
void rec_clock_begin(struct rec_clock *clock);
void rec_clock_finish(struct rec_clock *clock);

/**
 * rec_clock_adopt() - makes this process use the source of an existing region.
 *
 * Return: nothing. Context: start-up.
 */
void rec_clock_adopt(const struct rec_clock *clock);

/**
 * rec_clock_stop() - the program forbids itself to read the TSC, which is what libc's clocks do
 * too: from now on no clock is read.
 *
 * Return: nothing. Context: any thread.
 */
void rec_clock_stop(void);

/**
 * rec_clock_refine() - measures ticks per second again over the whole time since rec_clock_init().
 * @clock: out: a copy with the better frequency; @from: as stored in the region.
 *
 * Return: nothing. Context: any thread; async-signal-safe.
 */
void rec_clock_refine(const struct rec_clock *from, struct rec_clock *clock);

/**
 * rec_clock_epoch_ns() - nanoseconds since the epoch at `ticks` (may lie before the base).
 * rec_clock_span_ns() - length of a span of ticks in nanoseconds.
 * rec_clock_span_ticks() - the reverse, saturating.
 *
 * Return: see above. Context: any; async-signal-safe.
 */
uint64_t rec_clock_epoch_ns(const struct rec_clock *clock, uint64_t ticks);
uint64_t rec_clock_span_ns(const struct rec_clock *clock, uint64_t ticks);
uint64_t rec_clock_span_ticks(const struct rec_clock *clock, uint64_t ns);

#endif
