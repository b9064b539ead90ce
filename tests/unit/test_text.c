/*
 * Text without stdio: bounds of the builder, units both ways, distance of words.
 */
#include <check.h>

#include "recorder/base/text.h"

START_TEST(builder_stays_in_its_buffer)
{
	char buffer[8 + 1] = "xxxxxxxx";
	struct text text = text_init(buffer, 8);

	ck_assert_str_eq(buffer, "");
	text_put(&text, "abc");
	text_put_u64(&text, 12);
	ck_assert_str_eq(buffer, "abc12");
	ck_assert(!text.is_cut);
	text_put(&text, "defg");
	ck_assert(text.is_cut);
	ck_assert_str_eq(buffer, "abc12de");
	text_put_hex(&text, 5);
	ck_assert_str_eq(buffer, "abc12de");
	ck_assert_int_eq(buffer[8], 0);
}
END_TEST

START_TEST(pieces_in_place_stay_below_their_end)
{
	char buffer[6] = "zzzzz";
	char *end = buffer + 5;
	char *at = text_copy(buffer, end, "ab");

	ck_assert_ptr_eq(at, buffer + 2);
	at = text_u64(at, end, 12345);
	ck_assert_str_eq(buffer, "ab12");
	ck_assert_ptr_eq(at, buffer + 4);
	at = text_hex(at, end, 15);
	ck_assert_str_eq(buffer, "ab12");
	ck_assert_ptr_eq(text_copy(end, end, "q"), end);
	ck_assert_int_eq(buffer[5], 0);
}
END_TEST

START_TEST(numbers_and_bytes)
{
	char buffer[64];
	struct text text = text_init(buffer, sizeof(buffer));

	text_put_u64(&text, UINT64_MAX);
	text_put_hex(&text, 0);
	text_put_hex(&text, 0xdeadbeefull);
	ck_assert_str_eq(buffer, "184467440737095516150deadbeef");
	text = text_init(buffer, sizeof(buffer));
	text_put_fixed(&text, 12345, 3);
	text_put(&text, " ");
	text_put_fixed(&text, 7, 2);
	text_put(&text, " ");
	text_put_fixed(&text, 7, 0);
	text_put_bytes(&text, "\n\x7f-\x01", 4);
	ck_assert_str_eq(buffer, "12.345 0.07 7?"
				 "?-?");
}
END_TEST

static const struct {
	const char *text;
	int result;
	uint64_t value;
} spans[] = {
	{ "0", 0, 0 },
	{ "0ms", 0, 0 },
	{ "10ms", 0, 10000000 },
	{ "10 ms", 0, 10000000 },
	{ "1.5s", 0, 1500000000 },
	{ "0.000000001s", 0, 1 },
	{ "250us", 0, 250000 },
	{ "7ns", 0, 7 },
	{ "2m", 0, 120000000000 },
	{ "1h", 0, 3600000000000 },
	{ "1d", 0, 86400000000000 },
	{ "5", -2, 0 },
	{ "5 parsecs", -2, 0 },
	{ "5MS", -2, 0 },
	{ "", -1, 0 },
	{ "ms", -1, 0 },
	{ "-5ms", -1, 0 },
	{ "1.s", -1, 0 },
	{ "99999999999999999999s", -3, 0 },
	{ "9999999999h", -3, 0 },
};

START_TEST(spans_are_parsed)
{
	uint64_t value = 77;

	ck_assert_int_eq(text_parse_span(spans[_i].text, strlen(spans[_i].text), &value),
			 spans[_i].result);
	ck_assert_uint_eq(value, spans[_i].result ? 77 : spans[_i].value);
}
END_TEST

static const struct {
	const char *text;
	int result;
	uint64_t value;
} sizes[] = {
	{ "4096", 0, 4096 },	{ "64k", 0, 65536 },	   { "64K", 0, 65536 },
	{ "16M", 0, 16 << 20 }, { "1.5MiB", 0, 3 << 19 },  { "2gb", 0, 2ull << 30 },
	{ "8B", 0, 8 },		{ "16Q", -2, 0 },	   { "M", -1, 0 },
	{ "", -1, 0 },		{ "99999999999G", -3, 0 },
};

START_TEST(sizes_are_parsed)
{
	uint64_t value = 77;

	ck_assert_int_eq(text_parse_size(sizes[_i].text, strlen(sizes[_i].text), &value),
			 sizes[_i].result);
	ck_assert_uint_eq(value, sizes[_i].result ? 77 : sizes[_i].value);
}
END_TEST

START_TEST(what_is_printed_is_parsed_again)
{
	static const uint64_t values[] = { 0,		1,	     999,
					   1000,	1500000,     5000000,
					   60000000000, 90000000000, 3600000000001,
					   1 << 20,	65536 };

	for (unsigned i = 0; i < ARRAY_LEN(values); i++) {
		char buffer[32];
		struct text text = text_init(buffer, sizeof(buffer));
		uint64_t back;

		text_put_span(&text, values[i]);
		ck_assert_int_eq(text_parse_span(buffer, text.used, &back), 0);
		ck_assert_uint_eq(back, values[i]);
		text = text_init(buffer, sizeof(buffer));
		text_put_size(&text, values[i]);
		ck_assert_int_eq(text_parse_size(buffer, text.used, &back), 0);
		ck_assert_uint_eq(back, values[i]);
	}
}
END_TEST

START_TEST(words_for_yes_and_no)
{
	ck_assert_int_eq(text_parse_bool("yes", 3), 1);
	ck_assert_int_eq(text_parse_bool("TRUE", 4), 1);
	ck_assert_int_eq(text_parse_bool("on", 2), 1);
	ck_assert_int_eq(text_parse_bool("1", 1), 1);
	ck_assert_int_eq(text_parse_bool("no", 2), 0);
	ck_assert_int_eq(text_parse_bool("False", 5), 0);
	ck_assert_int_eq(text_parse_bool("off", 3), 0);
	ck_assert_int_eq(text_parse_bool("0", 1), 0);
	ck_assert_int_eq(text_parse_bool("", 0), -1);
	ck_assert_int_eq(text_parse_bool("yess", 4), -1);
}
END_TEST

static const struct {
	const char *a, *b;
	unsigned distance;
	bool is_near;
} words[] = {
	{ "memory", "memory", 0, true },  { "memroy", "memory", 1, true },
	{ "memry", "memory", 1, true },	  { "Memory", "memory", 0, true },
	{ "memmory", "memory", 1, true }, { "locks", "alloc", 4, false },
	{ "", "dir", 3, false },	  { "stack", "stackdepth", 5, true },
	{ "dri", "dir", 1, true },	  { "xyz", "dir", 3, false },
};

START_TEST(near_words)
{
	const char *a = words[_i].a, *b = words[_i].b;
	uint32_t distance;

	ck_assert_uint_eq(text_distance(a, strlen(a), b, strlen(b)), words[_i].distance);
	ck_assert_uint_eq(text_distance(b, strlen(b), a, strlen(a)), words[_i].distance);
	ck_assert_int_eq(text_is_near(a, strlen(a), b, &distance), words[_i].is_near);
}
END_TEST

START_TEST(long_words_are_never_near)
{
	char word[100];

	memset(word, 'a', sizeof(word));
	ck_assert_uint_eq(text_distance(word, sizeof(word), "a", 1), UINT32_MAX);
	ck_assert_uint_eq(text_distance("a", 1, word, 64), UINT32_MAX);
	ck_assert_uint_eq(text_distance("a", 1, word, 63), 62);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("text");
	TCase *tests = tcase_create("text");
	SRunner *runner;
	int failed;

	tcase_add_test(tests, builder_stays_in_its_buffer);
	tcase_add_test(tests, pieces_in_place_stay_below_their_end);
	tcase_add_test(tests, numbers_and_bytes);
	tcase_add_loop_test(tests, spans_are_parsed, 0, ARRAY_LEN(spans));
	tcase_add_loop_test(tests, sizes_are_parsed, 0, ARRAY_LEN(sizes));
	tcase_add_test(tests, what_is_printed_is_parsed_again);
	tcase_add_test(tests, words_for_yes_and_no);
	tcase_add_loop_test(tests, near_words, 0, ARRAY_LEN(words));
	tcase_add_test(tests, long_words_are_never_near);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
