/*
 * Damaged recordings: cut off at every byte, every byte changed, compressed data changed. Reading
 * ends in events or in an error with its place, never in a crash, a hang or memory without bound;
 * and what stands whole before a cut is read.
 */
#include <check.h>
#include <lz4frame.h>

#include "recorder/base/leb128.h"
#include "tests/unit/reader_walk.h"

#define HEADER 68

/* How many events are whole before `cut` in chunks whose metadata is, by the bytes alone. */
static uint64_t whole_events(const uint8_t *bytes, size_t size, size_t cut)
{
	uint64_t total = 0;
	size_t chunk = 0;

	while (chunk + HEADER <= size && chunk + HEADER <= cut) {
		size_t end = chunk + ((size_t)bytes[chunk + 13] << 16 |
				      (size_t)bytes[chunk + 14] << 8 | bytes[chunk + 15]);
		uint64_t events = 0;
		bool has_metadata = false;

		for (size_t at = chunk + HEADER; at < end;) {
			uint64_t length = 0;
			uint64_t type = 0;
			const uint8_t *next = leb128_get(bytes + at, bytes + size, &length);

			leb128_get(next, bytes + size, &type);
			at += length;
			if (at > cut)
				break;
			has_metadata |= type == 0;
			events += type > 1;
		}
		total += has_metadata ? events : 0;
		chunk = end;
	}
	return total;
}

static void check_truncation(const char *name)
{
	size_t size;
	uint8_t *bytes = read_golden(name, &size);

	for (size_t cut = 0; cut <= size; cut++) {
		struct walked walked = walk_bytes(bytes, cut);

		if (cut < HEADER) {
			ck_assert_int_eq(walked.code,
					 cut < 4 ? HOLTER_E_NOT_JFR : HOLTER_E_TRUNCATED);
			ck_assert_int_ne(walked.first.text[0], 0);
			continue;
		}
		ck_assert_int_eq(walked.code, 0);
		ck_assert_msg(walked.events == whole_events(bytes, size, cut),
			      "%s cut at %zu: %llu events, not %llu", name, cut,
			      (unsigned long long)walked.events,
			      (unsigned long long)whole_events(bytes, size, cut));
	}
	ck_assert_uint_eq(walk_bytes(bytes, size).damage, 0);
	free(bytes);
}

START_TEST(cut_mini_gives_every_whole_event)
{
	check_truncation("mini.jfr");
}
END_TEST

START_TEST(cut_native_proto_gives_every_whole_event)
{
	check_truncation("native-proto.jfr");
}
END_TEST

START_TEST(cut_inside_a_chunk_is_reported)
{
	size_t size;
	uint8_t *bytes = read_golden("mini.jfr", &size);
	struct walked walked = walk_bytes(bytes, size - 1);

	ck_assert_uint_eq(walked.events, 2);
	ck_assert_uint_ge(walked.damage, 1);
	ck_assert_int_eq(walked.first.code, HOLTER_E_TRUNCATED);
	ck_assert_uint_eq(walked.first.offset, size - 1);
	/* Without metadata nothing can be decoded, and the bytes are counted. */
	walked = walk_bytes(bytes, 300);
	ck_assert_uint_eq(walked.events, 0);
	ck_assert_uint_ge(walked.lost_bytes, 300 - HEADER);
	free(bytes);
}
END_TEST

static void check_corruption(const char *name, unsigned step)
{
	size_t size;
	uint8_t *bytes = read_golden(name, &size);

	for (size_t at = 0; at < size; at++) {
		uint8_t before = bytes[at];

		for (unsigned change = 1; change < 256; change += step) {
			bytes[at] = (uint8_t)(before ^ change);
			struct walked walked = walk_bytes(bytes, size);

			ck_assert_int_le(walked.code, 0);
			if (walked.code)
				ck_assert_int_ne(walked.first.text[0], 0);
			ck_assert_uint_le(walked.events, size);
		}
		bytes[at] = before;
	}
	free(bytes);
}

START_TEST(every_byte_of_mini_changed)
{
	check_corruption("mini.jfr", 3);
}
END_TEST

START_TEST(every_byte_of_native_proto_changed)
{
	check_corruption("native-proto.jfr", 130);
}
END_TEST

START_TEST(every_byte_of_lz4_changed)
{
	check_corruption("native-proto.jfr.lz4", 100);
}
END_TEST

START_TEST(cut_lz4)
{
	size_t size;
	uint8_t *bytes = read_golden("native-proto.jfr.lz4", &size);

	for (size_t cut = 0; cut < size; cut++) {
		struct walked walked = walk_bytes(bytes, cut);

		ck_assert(walked.code < 0 || walked.damage > 0);
	}
	ck_assert_uint_eq(walk_bytes(bytes, size).events, 20);
	free(bytes);
}
END_TEST

/* Where chunks begin in a file of two. */
static size_t second_chunk(const uint8_t *bytes)
{
	return (size_t)bytes[13] << 16 | (size_t)bytes[14] << 8 | bytes[15];
}

START_TEST(damage_in_one_chunk_costs_that_chunk)
{
	size_t size;
	uint8_t *bytes = read_golden("native-proto.jfr", &size);
	size_t second = second_chunk(bytes);
	uint64_t all = walk_bytes(bytes, size).events;
	static const struct {
		size_t offset;
		uint8_t value;
		const char *what;
	} cases[] = {
		{ 5, 9, "version" },	       { 9, 0x7f, "chunk size huge" },
		{ 13, 1, "chunk size large" }, { 15, 0, "chunk size wrong" },
		{ 56, 0x80, "clock" },	       { 30, 0xff, "metadata offset" },
		{ 200, 0xff, "metadata" },
	};

	ck_assert_uint_eq(all, 20);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		/* The damage is put into a first chunk of three. */
		uint8_t *three = malloc(second + size);

		memcpy(three, bytes, second);
		memcpy(three + second, bytes, size);
		three[second + cases[i].offset] = cases[i].value;
		struct walked walked = walk_bytes(three, second + size);

		ck_assert_int_eq(walked.code, 0);
		ck_assert_msg(walked.events >= all, "%s: %llu events", cases[i].what,
			      (unsigned long long)walked.events);
		ck_assert_msg(walked.damage + walked.notes > 0, "%s", cases[i].what);
		free(three);
	}
	free(bytes);
}
END_TEST

START_TEST(an_event_of_size_zero_ends_its_chunk_only)
{
	size_t size;
	uint8_t *bytes = read_golden("native-proto.jfr", &size);
	size_t second = second_chunk(bytes);
	size_t at = HEADER;
	uint64_t length = 0;

	/* Behind the metadata of the first chunk. */
	leb128_get(bytes + at, bytes + size, &length);
	at += length;
	bytes[at] = 0;
	struct walked walked = walk_bytes(bytes, size);

	ck_assert_int_eq(walked.code, 0);
	ck_assert_uint_eq(walked.events, walk_bytes(bytes + second, size - second).events);
	ck_assert_uint_eq(walked.damage, 1);
	ck_assert_uint_eq(walked.first.offset, at);
	ck_assert_uint_eq(walked.first.bytes_lost, second - at);
	free(bytes);
}
END_TEST

START_TEST(tail_behind_a_chunk_in_flight_is_noted)
{
	size_t size;
	uint8_t *bytes = read_golden("mini.jfr", &size);

	uint8_t *longer = malloc(size + 100);

	memcpy(longer, bytes, size);
	memset(longer + size, 0x21, 100);
	free(bytes);
	bytes = longer;
	bytes[64] = 5;
	struct walked walked = walk_bytes(bytes, size + 100);

	ck_assert_uint_eq(walked.events, 2);
	ck_assert_uint_eq(walked.damage, 0);
	ck_assert_uint_eq(walked.notes, 1);
	ck_assert_uint_eq(walked.first.offset, size);
	/* The same behind a finished chunk is damage. */
	bytes[64] = 0;
	walked = walk_bytes(bytes, size + 100);
	ck_assert_uint_eq(walked.events, 2);
	ck_assert_uint_eq(walked.damage, 1);
	ck_assert_uint_eq(walked.first.bytes_lost, 100);
	free(bytes);
}
END_TEST

START_TEST(not_a_recording)
{
	struct walked walked;

	walked = walk_bytes((const uint8_t *)"", 0);
	ck_assert_int_eq(walked.code, HOLTER_E_NOT_JFR);
	walked = walk_bytes((const uint8_t *)"\x7f"
					     "ELF and more",
			    13);
	ck_assert_int_eq(walked.code, HOLTER_E_NOT_JFR);
	size_t size;
	uint8_t *bytes = read_golden("mini.jfr", &size);
	bytes[5] = 0;
	walked = walk_bytes(bytes, size);
	ck_assert_int_eq(walked.code, HOLTER_E_VERSION);
	ck_assert_ptr_nonnull(strstr(walked.first.text, "JDK 7"));
	free(bytes);
	ck_assert_int_eq(
		holter_reader_open("/no/such/file", NULL, &(struct holter_reader *){ NULL }, NULL),
		HOLTER_E_OPEN);
}
END_TEST

/* Compresses, so that a bomb can be made. Returns malloc'ed bytes. */
static uint8_t *lz4_of(const uint8_t *bytes, size_t size, size_t *result)
{
	size_t room = LZ4F_compressFrameBound(size, NULL);
	uint8_t *out = malloc(room);

	*result = LZ4F_compressFrame(out, room, bytes, size, NULL);
	ck_assert(!LZ4F_isError(*result));
	return out;
}

START_TEST(lz4_bomb_is_bounded)
{
	size_t mini_size;
	uint8_t *mini = read_golden("mini.jfr", &mini_size);
	size_t size = 64u << 20;
	uint8_t *bytes = calloc(1, size);
	struct holter_reader_options options = { .max_chunk_bytes = 1u << 20 };
	struct holter_reader *reader;
	struct walked walked = { .code = 0 };
	size_t packed_size;
	uint8_t *packed;

	/* A chunk that says it has 64 MB, nearly all zeros; then a good one. */
	memcpy(bytes, mini, mini_size);
	bytes[12] = 0x03;
	bytes[13] = 0xff;
	memcpy(bytes + size - mini_size, mini, mini_size);
	packed = lz4_of(bytes, size, &packed_size);
	ck_assert_uint_lt(packed_size, size / 100);
	ck_assert_int_eq(holter_reader_open_memory(packed, packed_size, &options, &reader, NULL),
			 0);
	walk_reader(&walked, reader);
	ck_assert_int_eq(walked.code, 0);
	ck_assert_int_eq(walked.first.code, HOLTER_E_LIMIT);
	ck_assert_uint_eq(walked.events, 4);
	holter_reader_close(reader);
	free(packed);
	free(bytes);
	free(mini);
}
END_TEST

START_TEST(frames_in_a_row_and_a_broken_one_between)
{
	size_t size;
	size_t packed_size;
	uint8_t *mini = read_golden("mini.jfr", &size);
	uint8_t *packed = lz4_of(mini, size, &packed_size);
	uint8_t *row = malloc(3 * packed_size);

	for (int i = 0; i < 3; i++)
		memcpy(row + (size_t)i * packed_size, packed, packed_size);
	ck_assert_uint_eq(walk_bytes(row, 3 * packed_size).events, 6);
	row[packed_size + 4] ^= 0xff; /* the header of the second */
	struct walked walked = walk_bytes(row, 3 * packed_size);

	ck_assert_uint_eq(walked.events, 4);
	ck_assert_uint_ge(walked.damage, 1);
	ck_assert_int_eq(walked.first.code, HOLTER_E_LZ4);
	free(row);
	free(packed);
	free(mini);
}
END_TEST

static Suite *suite(void)
{
	Suite *all = suite_create("reader damage");
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 170);
	tcase_add_test(tcase, cut_mini_gives_every_whole_event);
	tcase_add_test(tcase, cut_native_proto_gives_every_whole_event);
	tcase_add_test(tcase, cut_inside_a_chunk_is_reported);
	tcase_add_test(tcase, every_byte_of_mini_changed);
	tcase_add_test(tcase, every_byte_of_native_proto_changed);
	tcase_add_test(tcase, every_byte_of_lz4_changed);
	tcase_add_test(tcase, cut_lz4);
	tcase_add_test(tcase, damage_in_one_chunk_costs_that_chunk);
	tcase_add_test(tcase, an_event_of_size_zero_ends_its_chunk_only);
	tcase_add_test(tcase, tail_behind_a_chunk_in_flight_is_noted);
	tcase_add_test(tcase, not_a_recording);
	tcase_add_test(tcase, lz4_bomb_is_bounded);
	tcase_add_test(tcase, frames_in_a_row_and_a_broken_one_between);
	suite_add_tcase(all, tcase);
	return all;
}

int main(void)
{
	SRunner *runner = srunner_create(suite());
	int failed;

	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
