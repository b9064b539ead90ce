/*
 * The reader on recordings outside the tree: those of a JVM, and 158 odd ones made by traps.py.
 *
 * Skipped where the shared data is absent. Values are compared by golden/reader_conformance.py;
 * here every way of reading them must hold, plain, compressed, cut and changed.
 */
#include <check.h>
#include <lz4frame.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/unit/reader_walk.h"

static const char *const recordings[] = { "jdk17-custom.jfr",	    "jdk17-default.jfr",
					  "jdk17-inflight.jfr",	    "jdk17-multichunk.jfr",
					  "jdk17-profile.jfr",	    "proto/native-pages.jfr",
					  "proto/native-stream.jfr" };

static uint8_t *read_shared(const char *name, size_t *size)
{
	char path[512];

	return read_file(shared_path(path, sizeof(path), name), size);
}

static uint8_t *gzip_of(const uint8_t *bytes, size_t size, size_t *result)
{
	z_stream stream = { .next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (unsigned)size };
	uint8_t *out = malloc(size + 1024);

	ck_assert_int_eq(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY),
			 Z_OK);
	stream.next_out = out;
	stream.avail_out = (unsigned)size + 1024;
	ck_assert_int_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
	*result = stream.total_out;
	deflateEnd(&stream);
	return out;
}

static uint8_t *lz4_of(const uint8_t *bytes, size_t size, size_t *result)
{
	size_t room = LZ4F_compressFrameBound(size, NULL);
	uint8_t *out = malloc(room);

	*result = LZ4F_compressFrame(out, room, bytes, size, NULL);
	ck_assert(!LZ4F_isError(*result));
	return out;
}

START_TEST(recordings_plain_and_compressed)
{
	size_t size;
	size_t packed_size;
	uint8_t *bytes = read_shared(recordings[_i], &size);
	uint8_t *packed;
	struct walked plain;
	struct walked other;

	if (!bytes)
		return;
	plain = walk_bytes(bytes, size);
	ck_assert_int_eq(plain.code, 0);
	ck_assert_msg(plain.damage == 0, "%s: %s", recordings[_i], plain.first.text);
	ck_assert_uint_gt(plain.events, 10);
	packed = gzip_of(bytes, size, &packed_size);
	other = walk_bytes(packed, packed_size);
	ck_assert_uint_eq(other.events, plain.events);
	ck_assert_uint_eq(other.values, plain.values);
	free(packed);
	packed = lz4_of(bytes, size, &packed_size);
	other = walk_bytes(packed, packed_size);
	ck_assert_uint_eq(other.events, plain.events);
	ck_assert_uint_eq(other.values, plain.values);
	free(packed);
	free(bytes);
}
END_TEST

START_TEST(recordings_cut_and_changed)
{
	size_t size;
	uint8_t *bytes = read_shared(recordings[_i], &size);
	struct walked walked;
	uint32_t random = 12345;

	if (!bytes)
		return;
	for (int round = 0; round < 60; round++) {
		uint8_t *copy = malloc(size);
		size_t cut;

		random = random * 1664525 + 1013904223;
		cut = round & 1 ? size : random % size;
		memcpy(copy, bytes, size);
		for (int i = 0; i < (round & 1) * (1 + round / 10); i++) {
			random = random * 1664525 + 1013904223;
			copy[random % size] ^= (uint8_t)(random >> 24 | 1);
		}
		walked = walk_bytes(copy, cut);
		ck_assert_int_le(walked.code, 0);
		free(copy);
	}
	free(bytes);
}
END_TEST

static void remove_folder(const char *folder)
{
	char command[600];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(odd_files)
{
	char folder[] = "/tmp/holter-traps-XXXXXX";
	char script[512];
	char command[1200];
	unsigned read_count = 0;
	unsigned with_events = 0;

	shared_path(script, sizeof(script), "tools/traps.py");
	if (access(script, R_OK) != 0)
		return;
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(command, sizeof(command), "PYTHONDONTWRITEBYTECODE=1 python3 '%s' '%s' >/dev/null",
		 script, folder);
	ck_assert_int_eq(system(command), 0);
	for (int i = 0; i < 1000; i++) {
		char path[600];
		size_t size;
		uint8_t *bytes;
		struct walked walked;

		snprintf(path, sizeof(path), "%s/t%03d.jfr", folder, i);
		bytes = read_file(path, &size);
		if (!bytes)
			break;
		walked = walk_bytes(bytes, size);
		ck_assert_msg(walked.code == 0 || walked.first.text[0], "%s", path);
		if (getenv("HOLTER_VERBOSE"))
			printf("t%03d code %d events %llu damage %llu notes %llu: %s\n", i,
			       walked.code, (unsigned long long)walked.events,
			       (unsigned long long)walked.damage, (unsigned long long)walked.notes,
			       walked.first.text);
		read_count++;
		with_events += walked.events > 0;
		free(bytes);
	}
	remove_folder(folder);
	ck_assert_uint_ge(read_count, 158);
	/* Few of them leave nothing to read. */
	ck_assert_uint_ge(with_events, read_count - 20);
}
END_TEST

int main(void)
{
	Suite *all;
	TCase *tcase;
	SRunner *runner;
	size_t size;
	int count = (int)(sizeof(recordings) / sizeof(recordings[0]));
	int failed;
	uint8_t *probe = read_shared(recordings[0], &size);

	if (!probe) {
		printf("SKIP test_reader_shared: no shared recordings (HOLTER_SHARED)\n");
		return EXIT_SUCCESS;
	}
	free(probe);
	all = suite_create("reader on shared recordings");
	tcase = tcase_create("all");
	tcase_set_timeout(tcase, 170);
	tcase_add_loop_test(tcase, recordings_plain_and_compressed, 0, count);
	tcase_add_loop_test(tcase, recordings_cut_and_changed, 0, count);
	tcase_add_test(tcase, odd_files);
	suite_add_tcase(all, tcase);
	runner = srunner_create(all);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
