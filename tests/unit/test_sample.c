/*
 * Unit tests of recorder/capture/sample.h: the arithmetic against libm, the distances against the
 * exponential distribution, and that the weights of a sampled stream add up to what was allocated.
 * Seeds are fixed, so a result is the same on every run.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "recorder/capture/sample.h"

#define INTERVAL 524288.0

START_TEST(test_log_is_libms)
{
	uint64_t state = 12345;

	for (int i = 0; i < 1000000; i++) {
		double u = (double)((sample_random(&state) >> 11) + 1) * 0x1p-53;

		if (i % 4 == 1)
			u *= 0x1p-40;
		ck_assert_double_eq_tol(sample_log(u), log(u), 1e-9 * fabs(log(u)) + 1e-15);
	}
	ck_assert_double_eq(sample_log(1), 0);
	ck_assert_double_eq_tol(sample_log(0x1p-53), log(0x1p-53), 1e-9);
}
END_TEST

START_TEST(test_exp_is_libms)
{
	for (double x = 0; x < 700; x += 0.00173)
		ck_assert_double_eq_tol(sample_exp_minus(x), exp(-x), 1e-8 * exp(-x));
}
END_TEST

START_TEST(test_weight_is_the_formula)
{
	for (double size = 1; size < 1e9; size *= 1.07) {
		uint64_t bytes = (uint64_t)size;
		double wanted = (double)bytes / -expm1(-(double)bytes / INTERVAL);

		ck_assert_double_eq_tol((double)sample_weight(bytes, 524288), wanted,
					1e-6 * wanted + 1);
	}
}
END_TEST

START_TEST(test_weight_at_the_ends)
{
	ck_assert_uint_eq(sample_weight(1, 1), 2); /* 1 / (1 - 1/e) = 1.58 */
	ck_assert_uint_eq(sample_weight(100, 0), 100);
	ck_assert_uint_eq(sample_weight(1ull << 47, 524288), 1ull << 47);
	ck_assert_uint_ge(sample_weight(UINT64_MAX, 524288), 1ull << 63);
	ck_assert_uint_eq(sample_weight(16, 1ull << 40), (1ull << 40) + 8);
}
END_TEST

START_TEST(test_distances_are_exponential)
{
	const int count = 1000000;
	uint64_t state = sample_seed(7, 4711);
	double sum = 0, squares = 0;
	int beyond[4] = { 0 };

	for (int i = 0; i < count; i++) {
		double d = (double)sample_next(&state, 524288) / INTERVAL;

		sum += d;
		squares += d * d;
		for (int k = 0; k < 4; k++)
			beyond[k] += d > k + 0.5;
	}
	/* Mean 1 with standard error 0.001, mean square 2 with 0.0045: five of each. */
	ck_assert_double_eq_tol(sum / count, 1, 0.005);
	ck_assert_double_eq_tol(squares / count, 2, 0.0225);
	for (int k = 0; k < 4; k++) {
		double p = exp(-(k + 0.5));

		ck_assert_double_eq_tol((double)beyond[k] / count, p,
					5 * sqrt(p * (1 - p) / count));
	}
}
END_TEST

START_TEST(test_distance_is_bounded)
{
	uint64_t state = 1;

	for (int i = 0; i < 100000; i++) {
		ck_assert_uint_le(sample_next(&state, UINT64_MAX), 1ull << 62);
		ck_assert_uint_le(sample_next(&state, 0), 37);
	}
}
END_TEST

/* A stream of blocks as the hooks see it: bytes are spent, a block beyond what is left is a sample.
 */
static double estimate(uint64_t (*size_of)(uint64_t *), uint64_t blocks, uint64_t interval,
		       uint64_t seed, double *truth)
{
	uint64_t state = seed, sizes = seed * 977 + 1;
	uint64_t left = sample_next(&state, interval);
	double sum = 0;

	*truth = 0;
	for (uint64_t i = 0; i < blocks; i++) {
		uint64_t size = size_of(&sizes);

		*truth += (double)size;
		if (size <= left) {
			left -= size;
			continue;
		}
		sum += (double)sample_weight(size, interval);
		left = sample_next(&state, interval);
	}
	return sum;
}

static uint64_t small_sizes(uint64_t *state)
{
	return 16 + sample_random(state) % 500;
}

static uint64_t mixed_sizes(uint64_t *state)
{
	uint64_t r = sample_random(state);

	return r % 100 == 0 ? 1 + (r >> 32) % 3000000 : 1 + (r >> 32) % 2000;
}

static uint64_t huge_sizes(uint64_t *state)
{
	return 200000 + sample_random(state) % 4000000;
}

/* Over 200 seeds the mean of the estimates must lie within five standard errors of the truth. */
static void check_unbiased(uint64_t (*size_of)(uint64_t *), uint64_t blocks)
{
	double sum = 0, squares = 0, mean, error;

	for (uint64_t seed = 1; seed <= 200; seed++) {
		double truth;
		double ratio = estimate(size_of, blocks, 524288, seed, &truth) / truth;

		sum += ratio;
		squares += ratio * ratio;
	}
	mean = sum / 200;
	error = sqrt((squares / 200 - mean * mean) / 200);
	ck_assert_double_gt(error, 0);
	ck_assert_double_lt(error, 0.01);
	ck_assert_double_eq_tol(mean, 1, 5 * error);
}

START_TEST(test_weights_are_unbiased)
{
	check_unbiased(small_sizes, 500000);
	check_unbiased(mixed_sizes, 20000);
	check_unbiased(huge_sizes, 2000);
}
END_TEST

/* The estimate must also be right for one kind of block among others (a call site's share). */
START_TEST(test_share_of_a_size_is_unbiased)
{
	const uint64_t interval = 4096;
	double sum = 0, squares = 0, truth = 0;

	for (uint64_t seed = 1; seed <= 200; seed++) {
		uint64_t state = seed, left = sample_next(&state, interval);
		double large = 0;

		truth = 0;
		for (int i = 0; i < 20000; i++) {
			uint64_t size = i % 10 == 0 ? 5000 : 100;

			if (size == 5000)
				truth += 5000;
			if (size <= left) {
				left -= size;
				continue;
			}
			large += size == 5000 ? (double)sample_weight(size, interval) : 0;
			left = sample_next(&state, interval);
		}
		sum += large;
		squares += large * large;
	}
	double mean = sum / 200, error = sqrt((squares / 200 - mean * mean) / 200);

	ck_assert_double_eq_tol(mean, truth, 5 * error);
	ck_assert_double_lt(error, truth / 100);
}
END_TEST

START_TEST(test_seeds_differ_and_are_not_zero)
{
	for (uint64_t i = 0; i < 1000; i++) {
		ck_assert_uint_ne(sample_seed(i, i * 3), 0);
		ck_assert_uint_ne(sample_seed(1000, i), sample_seed(1000, i + 1));
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sample");
	TCase *group = tcase_create("sample");
	SRunner *runner;
	int failed;

	tcase_set_timeout(group, 60);
	tcase_add_test(group, test_log_is_libms);
	tcase_add_test(group, test_exp_is_libms);
	tcase_add_test(group, test_weight_is_the_formula);
	tcase_add_test(group, test_weight_at_the_ends);
	tcase_add_test(group, test_distances_are_exponential);
	tcase_add_test(group, test_distance_is_bounded);
	tcase_add_test(group, test_weights_are_unbiased);
	tcase_add_test(group, test_share_of_a_size_is_unbiased);
	tcase_add_test(group, test_seeds_differ_and_are_not_zero);
	suite_add_tcase(suite, group);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
