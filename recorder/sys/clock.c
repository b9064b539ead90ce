/*
 * The clock of a region (clock.h): which source, at what frequency, and conversions.
 *
 * In: the CPU, the kernel's choice of clock source, CLOCK_MONOTONIC. Out: struct rec_clock. Nothing
 * here is called per event but rec_clock_now(), which is in the header.
 */
#include "recorder/sys/clock.h"

#include <cpuid.h>

#include "recorder/base/util.h"
#include "recorder/sys/raw.h"

#define NS_PER_SECOND 1000000000ull
#define CLOCK_TRIES 5		   /* readings, of which the least disturbed one counts */
#define CLOCK_SPAN_NS 50000ull	   /* of the first measurement: good for about 400 ppm */
#define CLOCK_REFINE_NS 1000000ull /* a shorter span would not be better than the first one */
#define CLOCK_HZ_MIN 1000000ull
#define CLOCK_HZ_MAX 18000000000ull /* above, rest * 10^9 would overflow in span_ns() */
#define CPUID_POWER 0x80000007u
#define CPUID_INVARIANT_TSC (1u << 8)
#define CLOCK_SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

uint32_t rec_clock_is_tsc;
uint64_t rec_clock_stopped;

/* Ticks and CLOCK_MONOTONIC at one instant. */
struct clock_pair {
	uint64_t ticks, mono_ns;
};

static uint64_t clock_read(clockid_t id)
{
	struct timespec now = { 0, 0 };

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

static uint64_t ticks_read(uint32_t is_tsc)
{
	return is_tsc ? __builtin_ia32_rdtsc() : clock_read(CLOCK_MONOTONIC_RAW);
}

/*
 * The kernel trusts the TSC only while it is the same on all cores, so its choice is asked for.
 * CPUID traps in a virtual machine (8 us seen), so it is asked once and last. A process that
 * forbade itself the instruction (PR_SET_TSC) cannot call clock_gettime() either, so that is not
 * looked at.
 */
static uint32_t tsc_usable(void)
{
	unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
	char source[16];

	if (raw_read_file(CLOCK_SOURCE, source, sizeof(source)) < 4 ||
	    memcmp(source, "tsc\n", 4) != 0)
		return 0;
	__cpuid(CPUID_POWER, eax, ebx, ecx, edx);
	return (edx & CPUID_INVARIANT_TSC) != 0;
}

/* An interrupt between the readings widens them: the narrowest of some tries is taken. */
static void pair_read(uint32_t is_tsc, struct clock_pair *pair)
{
	uint64_t narrowest = UINT64_MAX;

	for (int i = 0; i < CLOCK_TRIES; i++) {
		uint64_t before = ticks_read(is_tsc);
		uint64_t mono_ns = clock_read(CLOCK_MONOTONIC);
		uint64_t after = ticks_read(is_tsc);

		if (after - before >= narrowest)
			continue;
		narrowest = after - before;
		pair->ticks = before + narrowest / 2;
		pair->mono_ns = mono_ns;
	}
}

/* Ticks per second between two instants; 0 where that makes no sense. */
static uint64_t pair_frequency(uint64_t ticks, uint64_t ns)
{
	__uint128_t hz;

	if (ns == 0)
		return 0;
	hz = (__uint128_t)ticks * NS_PER_SECOND / ns;
	return hz < CLOCK_HZ_MIN || hz > CLOCK_HZ_MAX ? 0 : (uint64_t)hz;
}

void rec_clock_begin(struct rec_clock *clock)
{
	struct clock_pair pair = { 0, 0 };
	uint64_t epoch_ns, mono_ns;

	memset(clock, 0, sizeof(*clock));
	clock->is_tsc = tsc_usable();
	pair_read(clock->is_tsc, &pair);
	mono_ns = clock_read(CLOCK_MONOTONIC);
	epoch_ns = clock_read(CLOCK_REALTIME);
	clock->base_ticks = pair.ticks;
	clock->base_mono_ns = pair.mono_ns;
	clock->base_epoch_ns = epoch_ns - (mono_ns - pair.mono_ns);
}

void rec_clock_finish(struct rec_clock *clock)
{
	struct clock_pair pair = { 0, 0 };

	clock->ticks_per_second = NS_PER_SECOND;
	while (clock->is_tsc) {
		pair_read(1, &pair);
		if (pair.mono_ns - clock->base_mono_ns >= CLOCK_SPAN_NS)
			break;
	}
	if (clock->is_tsc)
		clock->ticks_per_second = pair_frequency(pair.ticks - clock->base_ticks,
							 pair.mono_ns - clock->base_mono_ns);
	if (clock->ticks_per_second == 0) {
		/* A TSC that does not tick is none; the base must then be of the other source. */
		clock->is_tsc = 0;
		clock->ticks_per_second = NS_PER_SECOND;
		pair_read(0, &pair);
		clock->base_epoch_ns += pair.mono_ns - clock->base_mono_ns;
		clock->base_ticks = pair.ticks;
		clock->base_mono_ns = pair.mono_ns;
	}
	rec_clock_adopt(clock);
}

void rec_clock_init(struct rec_clock *clock)
{
	rec_clock_begin(clock);
	rec_clock_finish(clock);
}

void rec_clock_stop(void)
{
	if (rec_clock_stopped == 0)
		rec_clock_stopped = rec_clock_now() | 1;
	rec_clock_is_tsc = 0;
}

void rec_clock_adopt(const struct rec_clock *clock)
{
	__atomic_store_n(&rec_clock_is_tsc, clock->is_tsc != 0, __ATOMIC_RELAXED);
}

/* The region is not trusted: a frequency that would divide by zero or overflow becomes 1 GHz. */
static uint64_t frequency_of(const struct rec_clock *clock)
{
	uint64_t hz = clock->ticks_per_second;

	return hz < CLOCK_HZ_MIN || hz > CLOCK_HZ_MAX ? NS_PER_SECOND : hz;
}

void rec_clock_refine(const struct rec_clock *from, struct rec_clock *clock)
{
	struct clock_pair pair = { 0, 0 };
	struct rec_clock copy = *from;
	uint64_t old = frequency_of(&copy);
	uint64_t hz, slack = old / 100;

	copy.ticks_per_second = old;
	pair_read(copy.is_tsc, &pair);
	if (pair.mono_ns > copy.base_mono_ns + CLOCK_REFINE_NS && pair.ticks > copy.base_ticks) {
		hz = pair_frequency(pair.ticks - copy.base_ticks, pair.mono_ns - copy.base_mono_ns);
		/* Further away than any first measurement errs: the machine slept, or it is a lie.
		 */
		if (hz >= old - slack && hz <= old + slack)
			copy.ticks_per_second = hz;
	}
	*clock = copy;
}

/* value * to / from, without overflow in between for from, to <= CLOCK_HZ_MAX; saturating. */
static uint64_t scale(uint64_t value, uint64_t from, uint64_t to)
{
	uint64_t whole = value / from, rest = value % from;
	uint64_t result;

	if (__builtin_mul_overflow(whole, to, &result) ||
	    __builtin_add_overflow(result, (uint64_t)((__uint128_t)rest * to / from), &result))
		return UINT64_MAX;
	return result;
}

uint64_t rec_clock_epoch_ns(const struct rec_clock *clock, uint64_t ticks)
{
	if (ticks >= clock->base_ticks)
		return clock->base_epoch_ns + rec_clock_span_ns(clock, ticks - clock->base_ticks);
	return clock->base_epoch_ns - rec_clock_span_ns(clock, clock->base_ticks - ticks);
}

uint64_t rec_clock_span_ns(const struct rec_clock *clock, uint64_t ticks)
{
	return scale(ticks, frequency_of(clock), NS_PER_SECOND);
}

uint64_t rec_clock_span_ticks(const struct rec_clock *clock, uint64_t ns)
{
	return scale(ns, NS_PER_SECOND, frequency_of(clock));
}
