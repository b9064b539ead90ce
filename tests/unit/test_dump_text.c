/*
 * Texts of the dump: UTC, addresses, UTF-8, masked secrets, interned strings.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "recorder/dump/dump_text.h"
#include "recorder/dump/map.h"
#include "recorder/dump/mask.h"
#include "recorder/dump/texts.h"

START_TEST(utc)
{
	static const uint64_t times[] = { 0,	       951782399,   951782400,
					  951868800,   1709164800,  1735689599,
					  4107542399u, 4107542400u, 1796033736 };

	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		char mine[32], theirs[32];
		struct text text = text_init(mine, sizeof(mine));
		time_t seconds = (time_t)times[i];
		struct tm broken;

		rec_text_utc(&text, times[i]);
		strftime(theirs, sizeof(theirs), "%Y%m%dT%H%M%S", gmtime_r(&seconds, &broken));
		ck_assert_str_eq(mine, theirs);
	}
}
END_TEST

START_TEST(addresses)
{
	static const struct {
		uint8_t bytes[16];
		const char *text;
	} rows[] = {
		{ { 0 }, "::" },
		{ { [15] = 1 }, "::1" },
		{ { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 }, "2001:db8::1" },
		{ { 0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 1 },
		  "2001:db8:0:1:0:1:1:1" },
		{ { 0xfe, 0x80, [8] = 1, [11] = 1, [12] = 0x10 }, "fe80::100:1:1000:0" },
		{ { 0, 1, [15] = 2 }, "1::2" },
		{ { 0, 1 }, "1::" },
		{ { [10] = 0xff, 0xff, 192, 0, 2, 1 }, "192.0.2.1" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char buffer[64];
		struct text text = text_init(buffer, sizeof(buffer));

		rec_text_ipv6(&text, rows[i].bytes);
		ck_assert_str_eq(buffer, rows[i].text);
	}
}
END_TEST

START_TEST(utf8)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "plain", "plain" },
		{ "h\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80",
		  "h\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80" },
		{ "\xff", "\xef\xbf\xbd" },
		{ "\xc3", "\xef\xbf\xbd" },
		{ "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xe6\x97x", "\xef\xbf\xbd\xef\xbf\xbdx" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t length = strlen(rows[i].in);
		uint8_t out[64] = { 0 };

		ck_assert_uint_eq(rec_text_utf8(rows[i].in, length, NULL), strlen(rows[i].out));
		rec_text_utf8(rows[i].in, length, out);
		ck_assert_str_eq((char *)out, rows[i].out);
		ck_assert_int_eq(rec_text_utf8(rows[i].in, length, NULL) == length,
				 strcmp(rows[i].in, rows[i].out) == 0);
	}
}
END_TEST

static void check_arguments(const char *in, size_t bytes, const char *out)
{
	char buffer[256];

	memcpy(buffer, in, bytes);
	buffer[rec_mask_arguments(buffer, bytes, sizeof(buffer) - 1)] = 0;
	ck_assert_str_eq(buffer, out);
}
#define CHECK_ARGUMENTS(in, out) check_arguments(in, sizeof(in) - 1, out)

START_TEST(secrets)
{
	static const char *const secret[] = {
		"PASSWORD",	  "db_password", "AWS_SECRET_ACCESS_KEY", "TOKEN",
		"my_credentials", "PGPASSFILE",	 "HTTP_AUTHORIZATION"
	};
	static const char *const open[] = { "HOME", "PATH", "LANG", "LD_PRELOAD", "HOLTER", "PWD" };
	char url[64] = "a=http://u:p@h, ftp://x:yyyyyyy@z/@:";

	for (size_t i = 0; i < ARRAY_LEN(secret); i++)
		ck_assert(rec_mask_is_secret(secret[i], strlen(secret[i])));
	for (size_t i = 0; i < ARRAY_LEN(open); i++)
		ck_assert(!rec_mask_is_secret(open[i], strlen(open[i])));
	url[rec_mask_urls(url, strlen(url), sizeof(url) - 1)] = 0;
	ck_assert_str_eq(url, "a=http://u:***@h, ftp://x:***@z/@:");
	strcpy(url, "http://u:p@h");
	ck_assert_uint_eq(rec_mask_urls(url, strlen(url), 0), strlen("http://u:p@h"));
	ck_assert_str_eq(url, "http://u:*@h");
	CHECK_ARGUMENTS("a\0b c\0--x=1", "a b c --x=1");
	CHECK_ARGUMENTS("a\0--password=hunter2\0b", "a --password=*** b");
	CHECK_ARGUMENTS("a\0--password\0hunter2\0b\0", "a --password *** b");
	CHECK_ARGUMENTS("a\0--token\0--b\0c", "a --token --b c");
	CHECK_ARGUMENTS("sort\0--key=2\0", "sort --key=2");
	CHECK_ARGUMENTS("", "");
	CHECK_ARGUMENTS("\0\0", "");
}
END_TEST

START_TEST(interned)
{
	struct rec_texts texts = { .mask = 0 };
	uint32_t keys[5000];

	for (uint32_t i = 0; i < ARRAY_LEN(keys); i++) {
		char text[16];
		int length = snprintf(text, sizeof(text), "text %u", i);

		keys[i] = rec_texts_add(&texts, text, (uint64_t)length);
		ck_assert_uint_eq(keys[i], i + 1);
	}
	ck_assert_uint_eq(rec_texts_add(&texts, "text 77", 7), keys[77]);
	ck_assert_uint_eq(rec_texts_add(&texts, NULL, 0), rec_texts_add(&texts, "", 0));
	ck_assert_uint_eq(rec_texts_add(&texts, "\xff", 1),
			  rec_texts_add(&texts, "\xef\xbf\xbd", 3));
	ck_assert_uint_eq(texts.count, ARRAY_LEN(keys) + 2);
	ck_assert_int_eq(memcmp(texts.bytes.data, "\x01\x03\x06text 0\x02\x03\x06text 1", 18), 0);
	rec_texts_free(&texts);
}
END_TEST

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

START_TEST(sorted_and_mapped)
{
	struct rec_map map = { .mask = 0 };
	uint64_t values[1000], seed = 7;
	uint32_t value = 0;

	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		values[i] = seed >> 40;
		ck_assert(rec_map_put(&map, values[i], (uint32_t)i));
	}
	for (size_t i = ARRAY_LEN(values); i-- > 0;) {
		ck_assert(rec_map_get(&map, values[i], &value));
		ck_assert_uint_eq(values[value], values[i]);
	}
	ck_assert(!rec_map_get(&map, 1ull << 50, &value));
	rec_map_free(&map);
	for (size_t count = 0; count < ARRAY_LEN(values); count += 37) {
		rec_sort(values, count, sizeof(values[0]), by_value);
		for (size_t i = 1; i < count; i++)
			ck_assert_uint_le(values[i - 1], values[i]);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("dump_text");
	TCase *one = tcase_create("dump_text");
	SRunner *runner;
	int failed;

	tcase_add_test(one, utc);
	tcase_add_test(one, addresses);
	tcase_add_test(one, utf8);
	tcase_add_test(one, secrets);
	tcase_add_test(one, interned);
	tcase_add_test(one, sorted_and_mapped);
	suite_add_tcase(suite, one);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
