/*
 * Clock of a region: source, frequency against the kernel's clock, conversions at their edges.
 */
#include <check.h>
#include <stdlib.h>
#include <unistd.h>

#include "recorder/sys/clock.h"

static uint64_t read_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

START_TEST(init_reads_all_clocks_at_one_instant)
{
	struct rec_clock clock;
	uint64_t mono = read_ns(CLOCK_MONOTONIC), epoch = read_ns(CLOCK_REALTIME);

	rec_clock_init(&clock);
	ck_assert_uint_ge(clock.base_mono_ns, mono);
	ck_assert_uint_le(clock.base_mono_ns, read_ns(CLOCK_MONOTONIC));
	ck_assert_uint_ge(clock.base_epoch_ns, epoch);
	ck_assert_uint_le(clock.base_epoch_ns, read_ns(CLOCK_REALTIME));
	ck_assert_uint_ge(rec_clock_now(), clock.base_ticks);
	ck_assert_uint_eq(rec_clock_is_tsc, clock.is_tsc);
}
END_TEST

START_TEST(frequency_agrees_with_the_kernel)
{
	struct rec_clock clock, refined;
	uint64_t ticks, ns;

	rec_clock_init(&clock);
	ticks = rec_clock_now();
	ns = read_ns(CLOCK_MONOTONIC);
	usleep(20000);
	ticks = rec_clock_now() - ticks;
	ns = read_ns(CLOCK_MONOTONIC) - ns;
	/* 5 %: this compares two clocks, it is no test of how long anything took. */
	ck_assert_uint_le(distance(rec_clock_span_ns(&clock, ticks), ns), ns / 20);
	rec_clock_refine(&clock, &refined);
	ck_assert_uint_eq(refined.base_ticks, clock.base_ticks);
	ck_assert_uint_le(distance(refined.ticks_per_second, clock.ticks_per_second),
			  clock.ticks_per_second / 100);
}
END_TEST

START_TEST(without_tsc_ticks_are_nanoseconds)
{
	struct rec_clock clock = { .is_tsc = 0, .ticks_per_second = 1000000000u };
	struct rec_clock refined;
	uint64_t before = read_ns(CLOCK_MONOTONIC_RAW);

	rec_clock_adopt(&clock);
	clock.base_ticks = rec_clock_now();
	clock.base_mono_ns = read_ns(CLOCK_MONOTONIC);
	ck_assert_uint_ge(clock.base_ticks, before);
	ck_assert_uint_le(clock.base_ticks, read_ns(CLOCK_MONOTONIC_RAW));
	usleep(2000);
	rec_clock_refine(&clock, &refined);
	ck_assert_uint_le(distance(refined.ticks_per_second, 1000000000u), 10000000u);
}
END_TEST

START_TEST(conversions_hold_at_their_edges)
{
	struct rec_clock clock = { .is_tsc = 1,
				   .ticks_per_second = 2500000000u,
				   .base_ticks = 1000000,
				   .base_epoch_ns = 1700000000000000000u };

	ck_assert_uint_eq(rec_clock_span_ns(&clock, 0), 0);
	ck_assert_uint_eq(rec_clock_span_ns(&clock, 25), 10);
	ck_assert_uint_eq(rec_clock_span_ticks(&clock, 10), 25);
	ck_assert_uint_eq(rec_clock_span_ns(&clock, 2500000000u * 86400ull), 86400000000000ull);
	ck_assert_uint_eq(rec_clock_span_ticks(&clock, UINT64_MAX), UINT64_MAX);
	ck_assert_uint_eq(rec_clock_span_ns(&clock, UINT64_MAX), UINT64_MAX / 5 * 2);
	ck_assert_uint_eq(rec_clock_epoch_ns(&clock, 1000025), 1700000000000000010u);
	ck_assert_uint_eq(rec_clock_epoch_ns(&clock, 999975), 1699999999999999990u);
}
END_TEST

START_TEST(a_forged_frequency_does_no_harm)
{
	const uint64_t forged[] = { 0, 1, UINT64_MAX };

	for (unsigned i = 0; i < 3; i++) {
		struct rec_clock clock = { .is_tsc = 0, .ticks_per_second = forged[i] };
		struct rec_clock refined;

		ck_assert_uint_eq(rec_clock_span_ns(&clock, 12345), 12345);
		ck_assert_uint_eq(rec_clock_span_ticks(&clock, 12345), 12345);
		rec_clock_refine(&clock, &refined);
		ck_assert_uint_gt(refined.ticks_per_second, 900000000u);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("clock");
	TCase *tests = tcase_create("clock");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, tests);
	tcase_add_test(tests, init_reads_all_clocks_at_one_instant);
	tcase_add_test(tests, frequency_agrees_with_the_kernel);
	tcase_add_test(tests, without_tsc_ticks_are_nanoseconds);
	tcase_add_test(tests, conversions_hold_at_their_edges);
	tcase_add_test(tests, a_forged_frequency_does_no_harm);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
