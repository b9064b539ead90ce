/*
 * Choosing events: globs, categories, times, processes and threads, on a recording of the tree; and
 * the output buffer that the reading commands share.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/cmd.h"
#include "tools/event_filter.h"
#include "tools/out.h"

#define SECOND 1000000000ll
#define START (1700000000 * SECOND) /* 2023-11-14T22:13:20Z */

static const struct cli_command command = { "test", "", "", NULL, CLI_GROUP_INTERNAL };
static struct cli_filter filter;

static void setup(void)
{
	cli_current = &command;
	/* Messages are not looked at. */
	ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr));
}

static void teardown(void)
{
	cli_filter_fini(&filter);
}

static const struct {
	const char *text, *glob;
	bool is_match;
} globs[] = {
	{ "jdk.SocketRead", "jdk.SocketRead", true },
	{ "jdk.SocketRead", "jdk.*", true },
	{ "jdk.SocketRead", "*Read", true },
	{ "jdk.SocketRead", "*Socket*", true },
	{ "jdk.SocketRead", "jdk.?ocketRead", true },
	{ "jdk.SocketRead", "*", true },
	{ "jdk.SocketRead", "**", true },
	{ "jdk.SocketRead", "jdk", false },
	{ "jdk.SocketRead", "*Write", false },
	{ "jdk.SocketRead", "SocketRead", false },
	{ "jdk.SocketRead", "", false },
	{ "", "*", true },
	{ "", "?", false },
	{ "aab", "*ab", true },
	{ "abab", "*ab?", false },
	{ "aaaaaaaaaaaaaaaaaaab", "*a*a*a*a*c", false },
};

START_TEST(globs_match_whole_texts)
{
	ck_assert_int_eq(cli_glob_match(globs[_i].text, globs[_i].glob), globs[_i].is_match);
}
END_TEST

static void init(const struct cli_filter_options *options)
{
	ck_assert_int_eq(cli_filter_init(&filter, options, START, START + 60 * SECOND), 0);
}

START_TEST(names_match_with_and_without_package)
{
	struct cli_filter_options options = { .events = " SocketRead , shop.*,," };

	init(&options);
	ck_assert_uint_eq(filter.events.count, 2);
	ck_assert(cli_globs_match_name(&filter.events, "jdk.SocketRead"));
	ck_assert(cli_globs_match_name(&filter.events, "shop.Order"));
	ck_assert(!cli_globs_match_name(&filter.events, "jdk.SocketWrite"));
	ck_assert_uint_eq(filter.events.hits[0], 1);
	ck_assert_uint_eq(filter.events.hits[1], 1);
}
END_TEST

static const struct {
	const char *text;
	int64_t ns;
} times[] = {
	{ "10s", START + 10 * SECOND },
	{ "+10s", START + 10 * SECOND },
	{ "-10s", START + 50 * SECOND },
	{ "2023-11-14T22:13:30Z", START + 10 * SECOND },
	{ "2023-11-14T22:13:30", START + 10 * SECOND },
	{ "2023-11-14T23:13:30.5+01:00", START + 10 * SECOND + SECOND / 2 },
	{ "22:13:30", START + 10 * SECOND },
	{ "22:14", START + 40 * SECOND },
	{ "22:13:30.000001", START + 10 * SECOND + 1000 },
};

START_TEST(times_are_relative_or_of_the_clock)
{
	struct cli_filter_options options = { .begin = times[_i].text };

	init(&options);
	ck_assert_int_eq(filter.begin_ns, times[_i].ns);
	ck_assert_int_eq(filter.end_ns, INT64_MAX);
}
END_TEST

START_TEST(last_counts_from_the_end)
{
	struct cli_filter_options options = { .last = "30s" };

	init(&options);
	ck_assert_int_eq(filter.begin_ns, START + 30 * SECOND);
	ck_assert(cli_filter_needs_range(&options));
	options = (struct cli_filter_options){ .begin = "2023-11-14T22:13:30Z" };
	ck_assert(!cli_filter_needs_range(&options));
}
END_TEST

static const struct cli_filter_options wrong[] = {
	{ .begin = "yesterday" },
	{ .begin = "2023-11-14T22:13:30+1" },
	{ .begin = "22:13:30x" },
	{ .end = "10" },
	{ .last = "30" },
	{ .last = "30s", .begin = "10s" },
	{ .begin = "20s", .end = "10s" },
	{ .begin = "22:13:30." },
};

START_TEST(wrong_times_are_wrong_use)
{
	ck_assert_int_eq(cli_filter_init(&filter, &wrong[_i], START, START + 60 * SECOND),
			 CLI_USAGE);
}
END_TEST

/* How many events of a file of the tree a filter lets through. */
static unsigned count(const char *path, const struct cli_filter_options *options)
{
	const struct holter_event *event;
	struct holter_reader *reader;
	unsigned all = 0;

	ck_assert_int_eq(holter_reader_open(path, NULL, &reader, NULL), 0);
	init(options);
	while (holter_reader_next(reader, &event) > 0)
		all += cli_filter_type(&filter, holter_event_type(event)) &&
		       cli_filter_event(&filter, event);
	holter_reader_close(reader);
	cli_filter_fini(&filter);
	return all;
}

START_TEST(events_of_a_file_are_chosen)
{
	const char *path = "tests/golden/native-proto.jfr";
	struct cli_filter_options all = { .events = NULL };
	struct cli_filter_options some = { .events = "MallocSample" };
	struct cli_filter_options none = { .events = "Nothing" };
	struct cli_filter_options other = { .process = "no-such-process" };
	struct cli_filter_options thread = { .thread = "no-such-thread" };
	struct cli_filter_options late = { .begin = "2099-01-01T00:00Z" };

	ck_assert_uint_eq(count(path, &all), 20);
	ck_assert_uint_eq(count(path, &some), 4);
	ck_assert_uint_eq(count(path, &none), 0);
	ck_assert_uint_eq(count(path, &other), 0);
	ck_assert_uint_eq(count(path, &thread), 0);
	ck_assert_uint_eq(count(path, &late), 0);
	thread.thread = "mai?";
	ck_assert_uint_gt(count(path, &thread), 0);
}
END_TEST

static const struct {
	const char *text;
	const char *json;
} strings[] = {
	{ "plain", "\"plain\"" },
	{ "a/b\\c\"d", "\"a\\/b\\\\c\\\"d\"" },
	{ "\b\t\n\f\r", "\"\\b\\t\\n\\f\\r\"" },
	{ "\x01\x1f\x7f", "\"\\u0001\\u001f\x7f\"" },
	{ "h\xc3\xa9y", "\"h\\u00e9y\"" },
	{ "\xe2\x82\xac", "\"\\u20ac\"" },
	{ "x\xf0\x9f\x98\x80y", "\"x\\ud83d\\ude00y\"" },
	{ "\xff", "\"\\ufffd\"" },
	{ "\xc3", "\"\\ufffd\"" },
	{ "\xe2\x82z", "\"\\ufffdz\"" },
	{ "\xf5\x80\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },
	{ "", "\"\"" },
};

START_TEST(json_is_escaped_as_a_jdk_does)
{
	struct cli_out out;

	cli_out_init(&out, -1, 0);
	cli_out_json(&out, strings[_i].text, strlen(strings[_i].text));
	cli_out_char(&out, 0);
	ck_assert_str_eq(out.data, strings[_i].json);
	cli_out_free(&out);
}
END_TEST

START_TEST(numbers_are_written_whole)
{
	struct cli_out out;

	cli_out_init(&out, -1, 0);
	cli_out_i64(&out, INT64_MIN);
	cli_out_char(&out, ' ');
	cli_out_u64(&out, UINT64_MAX);
	cli_out_char(&out, ' ');
	cli_out_padded(&out, 7, 3);
	cli_out_padded(&out, 1234, 3);
	cli_out_char(&out, 0);
	ck_assert_str_eq(out.data, "-9223372036854775808 18446744073709551615 0071234");
	cli_out_free(&out);
}
END_TEST

START_TEST(a_limit_refuses_what_is_beyond)
{
	struct cli_out out;
	char bytes[16] = { 0 };
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	cli_out_init(&out, ends[1], 20);
	cli_out_bytes(&out, bytes, sizeof(bytes));
	ck_assert_int_eq(cli_out_flush(&out), 0);
	ck_assert_uint_eq(out.written, 16);
	cli_out_bytes(&out, bytes, sizeof(bytes));
	ck_assert_int_eq(cli_out_flush(&out), EFBIG);
	ck_assert_uint_eq(out.written, 16);
	cli_out_free(&out);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("event_filter");
	TCase *tests = tcase_create("event_filter");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_loop_test(tests, globs_match_whole_texts, 0, ARRAY_LEN(globs));
	tcase_add_test(tests, names_match_with_and_without_package);
	tcase_add_loop_test(tests, times_are_relative_or_of_the_clock, 0, ARRAY_LEN(times));
	tcase_add_test(tests, last_counts_from_the_end);
	tcase_add_loop_test(tests, wrong_times_are_wrong_use, 0, ARRAY_LEN(wrong));
	tcase_add_test(tests, events_of_a_file_are_chosen);
	tcase_add_loop_test(tests, json_is_escaped_as_a_jdk_does, 0, ARRAY_LEN(strings));
	tcase_add_test(tests, numbers_are_written_whole);
	tcase_add_test(tests, a_limit_refuses_what_is_beyond);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
