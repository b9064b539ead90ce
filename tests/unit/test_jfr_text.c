/*
 * Spans, times, amounts and numbers in the words of `jfr`: each expected text was printed by a
 * JDK 17 for that value.
 */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/java_number.h"
#include "tools/jfr_text.h"

#define SECOND 1000000000ll

static struct cli_out out;

static void setup(void)
{
	cli_out_init(&out, -1, 0);
}

static void teardown(void)
{
	cli_out_free(&out);
}

/* What was written since the last call. */
static const char *text(void)
{
	cli_out_char(&out, 0);
	out.used = 0;
	return out.data;
}

static const struct {
	int64_t ns;
	const char *text;
	const char *iso;
} spans[] = {
	{ 0, "0 s", "PT0S" },
	{ 1, "0.000001 ms", "PT0.000000001S" },
	{ 902, "0.000902 ms", "PT0.000000902S" },
	{ 1000, "0.00100 ms", "PT0.000001S" },
	{ 3926, "0.00393 ms", "PT0.000003926S" },
	{ 82112, "0.0821 ms", "PT0.000082112S" },
	{ 640533, "0.641 ms", "PT0.000640533S" },
	{ 999999, "1.00 ms", "PT0.000999999S" },
	{ 25252336, "25.3 ms", "PT0.025252336S" },
	{ 999949999, "1.00 s", "PT0.999949999S" },
	{ 1 * SECOND, "1.00 s", "PT1S" },
	{ 1234567890, "1.23 s", "PT1.23456789S" },
	{ 9995 * SECOND / 1000, "10.0 s", "PT9.995S" },
	{ 59 * SECOND + 940000000, "59.9 s", "PT59.94S" },
	{ 60 * SECOND, "1 m 0 s", "PT1M" },
	{ 125 * SECOND + 600000000, "2 m 6 s", "PT2M5.6S" },
	{ 3600 * SECOND, "1 h 0 m", "PT1H" },
	{ 7230 * SECOND, "2 h 1 m", "PT2H30S" },
	{ 90000 * SECOND, "1 d 1 h", "PT25H" },
	{ -1500000, "-1.50 ms", "PT-0.0015S" },
	{ -1500000000, "-1.50 s", "PT-1.5S" },
	{ -90 * SECOND, "-1 m 30 s", "PT-1M-30S" },
};

START_TEST(spans_have_three_digits_that_matter)
{
	cli_text_span(&out, cli_span_of(spans[_i].ns, SECOND));
	ck_assert_str_eq(text(), spans[_i].text);
	cli_iso_span(&out, cli_span_of(spans[_i].ns, SECOND));
	ck_assert_str_eq(text(), spans[_i].iso);
}
END_TEST

START_TEST(spans_may_be_longer_than_64_bits_of_nanoseconds)
{
	cli_iso_span(&out, (struct cli_span){ INT64_MIN, 0 });
	ck_assert_str_eq(text(), "PT-2562047788015215H-30M-8S");
	cli_iso_span(&out, cli_span_of(INT64_MAX, 1000));
	ck_assert_str_eq(text(), "PT2562047788015H12M55.807S");
	cli_text_span(&out, cli_span_of(INT64_MAX, 1));
	ck_assert_str_eq(text(), "106751991167300 d 16 h");
}
END_TEST

static const struct {
	int64_t ns;
	int32_t zone_s;
	const char *clock;
	const char *iso;
} moments[] = {
	{ 0, 0, "00:00:00.000", "1970-01-01T00:00Z" },
	{ 1700000000 * SECOND, 0, "22:13:20.000", "2023-11-14T22:13:20Z" },
	{ 1700000000 * SECOND + 500, 0, "22:13:20.000", "2023-11-14T22:13:20.000000500Z" },
	{ 1700000000 * SECOND + 300000, 0, "22:13:20.000", "2023-11-14T22:13:20.000300Z" },
	{ 1700000000 * SECOND + 120000000, 7200, "00:13:20.120", "2023-11-15T00:13:20.120+02:00" },
	{ 1709164800 * SECOND, -19800, "18:30:00.000", "2024-02-28T18:30-05:30" },
	{ 1709164800 * SECOND, 0, "00:00:00.000", "2024-02-29T00:00Z" },
	{ -1, 0, "23:59:59.999", "1969-12-31T23:59:59.999999999Z" },
};

START_TEST(moments_follow_the_offset_of_the_file)
{
	struct cli_span moment = cli_span_of(moments[_i].ns, SECOND);

	cli_text_time(&out, moment, moments[_i].zone_s);
	ck_assert_str_eq(text(), moments[_i].clock);
	cli_iso_time(&out, moment, moments[_i].zone_s);
	ck_assert_str_eq(text(), moments[_i].iso);
}
END_TEST

START_TEST(years_far_away_have_a_sign)
{
	cli_iso_time(&out, (struct cli_span){ 253402300800, 0 }, 0);
	ck_assert_str_eq(text(), "+10000-01-01T00:00Z");
	cli_iso_time(&out, (struct cli_span){ -62198755200, 0 }, 0);
	ck_assert_str_eq(text(), "-0001-01-01T00:00Z");
	cli_text_date(&out, (struct cli_span){ 1700000000, 0 });
	ck_assert_str_eq(text(), "2023-11-14 22:13:20");
}
END_TEST

static const struct {
	int64_t amount;
	bool is_bits, is_rate;
	const char *text;
} amounts[] = {
	{ 0, false, false, "0 bytes" },	       { 1, false, false, "1 byte" },
	{ -1, false, false, "-1 byte" },       { 1023, false, false, "1023 bytes" },
	{ 1024, false, false, "1.0 kB" },      { 7465, false, false, "7.3 kB" },
	{ 1 << 20, false, false, "1.0 MB" },   { -2048, false, false, "-2.0 kB" },
	{ INT64_MAX, false, false, "8.0 EB" }, { INT64_MIN, false, false, "N/A" },
	{ 1, true, false, "1 bit" },	       { 8, true, false, "8 bits" },
	{ 1536, true, false, "1.5 kbit" },     { 1, false, true, "1 byte/s" },
	{ 2048, false, true, "2.0 kB/s" },     { 1000, true, true, "1000 bps" },
	{ 15938355, true, true, "15.2 Mbps" },
};

START_TEST(amounts_are_powers_of_1024)
{
	cli_text_amount(&out, amounts[_i].amount, amounts[_i].is_bits, amounts[_i].is_rate);
	ck_assert_str_eq(text(), amounts[_i].text);
}
END_TEST

START_TEST(percentages_and_addresses)
{
	cli_text_percent(&out, (double)0.0123f);
	ck_assert_str_eq(text(), "1.23%");
	cli_text_percent(&out, 1);
	ck_assert_str_eq(text(), "100.00%");
	cli_text_percent(&out, 0.00125); /* a half goes up */
	ck_assert_str_eq(text(), "0.13%");
	cli_text_address(&out, 0x7fda0018a620);
	ck_assert_str_eq(text(), "0x7FDA0018A620");
	cli_text_address(&out, 0);
	ck_assert_str_eq(text(), "0x00000000");
	cli_text_address(&out, UINT64_MAX);
	ck_assert_str_eq(text(), "0xFFFFFFFFFFFFFFFF");
}
END_TEST

static const struct {
	double value;
	const char *text;
} doubles[] = {
	{ 0.0, "0.0" },
	{ -0.0, "-0.0" },
	{ 1.0, "1.0" },
	{ 0.001, "0.001" },
	{ 1e-4, "1.0E-4" },
	{ 1234567.0, "1234567.0" },
	{ 12345678.0, "1.2345678E7" },
	{ 0.1, "0.1" },
	{ 1.0 / 3, "0.3333333333333333" },
	{ 2e23, "1.9999999999999998E23" },		     /* not the shortest: JDK 17 */
	{ 5.684341886080802e-14, "5.6843418860808015E-14" }, /* one digit too many, as in JDK 17 */
	{ DBL_MAX, "1.7976931348623157E308" },
	{ DBL_MIN, "2.2250738585072014E-308" },
	{ 4.9406564584124654e-324, "4.9E-324" },
	{ (double)INFINITY, "Infinity" },
	{ -(double)INFINITY, "-Infinity" },
	{ (double)NAN, "NaN" },
};

START_TEST(doubles_are_those_of_a_jdk)
{
	char buffer[CLI_NUMBER_BYTES];
	size_t length = cli_java_double(buffer, doubles[_i].value);

	ck_assert_str_eq(buffer, doubles[_i].text);
	ck_assert_uint_eq(length, strlen(buffer));
}
END_TEST

START_TEST(floats_have_their_own_digits)
{
	char buffer[CLI_NUMBER_BYTES];

	cli_java_float(buffer, 0.1f);
	ck_assert_str_eq(buffer, "0.1");
	cli_java_float(buffer, 300.5f);
	ck_assert_str_eq(buffer, "300.5");
	cli_java_float(buffer, FLT_MAX);
	ck_assert_str_eq(buffer, "3.4028235E38");
	cli_java_float(buffer, 1.4e-45f);
	ck_assert_str_eq(buffer, "1.4E-45");
	cli_java_float(buffer, 1.6777216e7f);
	ck_assert_str_eq(buffer, "1.6777216E7");
}
END_TEST

START_TEST(every_double_reads_back)
{
	char buffer[CLI_NUMBER_BYTES];
	uint64_t state = 1;

	for (int i = 0; i < 20000; i++) {
		double value, again;

		state = state * 6364136223846793005u + 1442695040888963407u;
		memcpy(&value, &state, sizeof(value));
		if (!isfinite(value))
			continue;
		cli_java_double(buffer, value);
		again = strtod(buffer, NULL);
		ck_assert_msg(memcmp(&again, &value, sizeof(value)) == 0, "%.17g as %s", value,
			      buffer);
	}
}
END_TEST

START_TEST(fixed_rounds_halves_up)
{
	char buffer[CLI_FIXED_BYTES];

	cli_java_fixed(buffer, 0.125, 2);
	ck_assert_str_eq(buffer, "0.13");
	cli_java_fixed(buffer, 1.005, 2);
	ck_assert_str_eq(buffer, "1.01");
	cli_java_fixed(buffer, 9.995, 2);
	ck_assert_str_eq(buffer, "10.00");
	cli_java_fixed(buffer, -0.001, 2);
	ck_assert_str_eq(buffer, "-0.00");
	cli_java_fixed(buffer, 0.05, 1);
	ck_assert_str_eq(buffer, "0.1");
	cli_java_fixed(buffer, 0.04, 1);
	ck_assert_str_eq(buffer, "0.0");
	cli_java_fixed(buffer, 1e22, 0);
	ck_assert_str_eq(buffer, "10000000000000000000000");
	ck_assert_uint_eq(cli_java_fixed(buffer, DBL_MAX, 9), 309 + 10);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("jfr_text");
	TCase *tests = tcase_create("jfr_text");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_loop_test(tests, spans_have_three_digits_that_matter, 0, ARRAY_LEN(spans));
	tcase_add_test(tests, spans_may_be_longer_than_64_bits_of_nanoseconds);
	tcase_add_loop_test(tests, moments_follow_the_offset_of_the_file, 0, ARRAY_LEN(moments));
	tcase_add_test(tests, years_far_away_have_a_sign);
	tcase_add_loop_test(tests, amounts_are_powers_of_1024, 0, ARRAY_LEN(amounts));
	tcase_add_test(tests, percentages_and_addresses);
	tcase_add_loop_test(tests, doubles_are_those_of_a_jdk, 0, ARRAY_LEN(doubles));
	tcase_add_test(tests, floats_have_their_own_digits);
	tcase_add_test(tests, every_double_reads_back);
	tcase_add_test(tests, fixed_rounds_halves_up);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
