/*
 * The file of a dump: its name and folder, what happens where it cannot be written, and that
 * nothing is ever left behind.
 */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "recorder/dump/dump.h"
#include "recorder/dump/dump_stream.h"
#include "tests/unit/region_fill.h"

static char folder[64];
static struct rec_region region;
static struct rec_dump_result result;

static void setup(void)
{
	strcpy(folder, "/tmp/holter-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	fill_create(&region, 1 << 20);
	region.header->root_pid = 4000;
	fill_process(&region, 4000, 1, 0, "ser/ver");
}

static void teardown(void)
{
	char command[128];

	fill_destroy(&region);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}

static const char *in_folder(const char *name)
{
	static char path[2][300];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[0]), "%s/%s", folder, name);
	return path[turn];
}

static int count_files(const char *name)
{
	DIR *directory = opendir(name);
	int count = 0;

	for (struct dirent *entry; directory && (entry = readdir(directory)) != NULL;)
		count += entry->d_name[0] != '.' || strncmp(entry->d_name, ".holter", 7) == 0;
	if (directory)
		closedir(directory);
	return count;
}

START_TEST(default_name)
{
	struct rec_dump_options options = { .directory = in_folder("new/deep"), .compress = 1 };
	struct stat status;
	char first[4096], pattern[400];

	ck_assert_int_eq(rec_dump_write(&region, &options, &result), 0);
	snprintf(pattern, sizeof(pattern), "%s/new/deep/holter-ser_ver-4000-", folder);
	ck_assert_msg(strncmp(result.path, pattern, strlen(pattern)) == 0, "%s", result.path);
	ck_assert_str_eq(result.path + strlen(result.path) - 8, ".jfr.lz4");
	ck_assert_int_eq(result.path[strlen(pattern) + 8], 'T');
	ck_assert_int_eq(stat(result.path, &status), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0600);
	ck_assert_uint_eq((uint64_t)status.st_size, result.bytes);
	/* The same second: a number is appended, nothing is replaced. */
	for (int i = 0; i < 3; i++) {
		strcpy(first, result.path);
		ck_assert_int_eq(rec_dump_write(&region, &options, &result), 0);
		ck_assert_str_ne(first, result.path);
	}
	ck_assert_int_eq(count_files(in_folder("new/deep")), 4);
}
END_TEST

START_TEST(configured_folder_and_form)
{
	struct rec_dump_options options = { .compress = -1 };

	snprintf(region.text, REC_TEXT_BYTES, "memory=1M,dir=%s/a\\,b,settings=default", folder);
	ck_assert_int_eq(rec_dump_write(&region, &options, &result), 0);
	ck_assert_msg(strncmp(result.path, in_folder("a,b/holter-"), strlen(folder) + 12) == 0,
		      "%s", result.path);
	ck_assert_str_eq(result.path + strlen(result.path) - 4, ".jfr");
	region.header->compress = 1;
	ck_assert_int_eq(rec_dump_write(&region, &options, &result), 0);
	ck_assert_str_eq(result.path + strlen(result.path) - 4, ".lz4");
}
END_TEST

START_TEST(suffix_decides)
{
	struct rec_dump_options options = { .path = in_folder("x.jfr.lz4"), .compress = -1 };
	unsigned char magic[4] = { 0 };
	FILE *file;

	ck_assert_int_eq(rec_dump_write(&region, &options, &result), 0);
	file = fopen(options.path, "r");
	ck_assert_uint_eq(fread(magic, 1, 4, file), 4);
	fclose(file);
	ck_assert_int_eq(memcmp(magic, "\x04\x22\x4d\x18", 4), 0);
}
END_TEST

START_TEST(existing_name)
{
	struct rec_dump_options options = { .path = in_folder("x.jfr") };
	char target[300];
	struct stat status;

	snprintf(target, sizeof(target), "%s/target", folder);
	ck_assert_int_eq(symlink(target, options.path), 0);
	ck_assert_int_eq(creat(target, 0644) < 0, 0);
	ck_assert_int_eq(rec_dump_write(&region, &options, &result), HOLTER_E_WRITE);
	ck_assert_ptr_nonnull(strstr(result.error, "x.jfr: File exists"));
	ck_assert_int_eq(count_files(folder), 2);
	/* Allowed: the link is replaced, what it points to is not touched. */
	options.force = 1;
	ck_assert_int_eq(rec_dump_write(&region, &options, &result), 0);
	ck_assert_int_eq(stat(target, &status), 0);
	ck_assert_int_eq(status.st_size, 0);
	ck_assert_int_eq(lstat(options.path, &status), 0);
	ck_assert(S_ISREG(status.st_mode));
	ck_assert_int_eq(count_files(folder), 2);
}
END_TEST

START_TEST(no_folder_to_write_to)
{
	struct rec_dump_options options = { .path = "/proc/no/x.jfr" };

	ck_assert_int_ne(rec_dump_write(&region, &options, &result), 0);
	ck_assert_ptr_nonnull(strstr(result.error, "/proc/no/x.jfr: "));
	options.path = in_folder("");
	ck_assert_int_ne(rec_dump_write(&region, &options, &result), 0);
	ck_assert_ptr_nonnull(strstr(result.error, "Is a directory"));
	/* Unnamed dumps go to /tmp instead. */
	options = (struct rec_dump_options){ .directory = "/proc/no" };
	ck_assert_int_eq(rec_dump_write(&region, &options, &result), 0);
	ck_assert_msg(strncmp(result.path, "/tmp/holter-ser_ver-4000-", 25) == 0, "%s",
		      result.path);
	unlink(result.path);
}
END_TEST

START_TEST(no_room)
{
	struct rlimit limit = { 4096, 4096 };
	struct rec_dump_options options = { .directory = folder, .compress = _i };

	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(rec_dump_write(&region, &options, &result), HOLTER_E_NOSPACE);
	ck_assert_ptr_nonnull(strstr(result.error, "File too large"));
	ck_assert_ptr_nonnull(strstr(result.error, folder));
	ck_assert_int_eq(result.path[0], 0);
	ck_assert_int_eq(count_files(folder), 0);
}
END_TEST

/* The same content through both forms; the lz4 tool must agree. */
START_TEST(frame_holds_the_same_bytes)
{
	static struct rec_sink sink[2];
	static struct rec_stream stream[2];
	static uint8_t content[3000000];
	char command[900];
	uint8_t header[JFR_HEADER_BYTES];
	uint64_t seed = 1;

	for (size_t i = 0; i < sizeof(content); i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		content[i] = i % 700000 < 100000 ? (uint8_t)(seed >> 56) : (uint8_t)(i / 1000);
	}
	memset(header, 0x5a, sizeof(header));
	for (int lz4 = 0; lz4 < 2; lz4++) {
		struct rec_sink_name name = { .path = in_folder(lz4 ? "a.lz4" : "a") };

		ck_assert_int_eq(rec_sink_open(&sink[lz4], &name), 0);
		ck_assert_int_eq(rec_stream_begin(&stream[lz4], &sink[lz4], lz4), 0);
		/* _i bytes: 0 is an empty content, others end inside, at and behind a block. */
		rec_stream_put(&stream[lz4], content, (uint64_t)_i);
		ck_assert_uint_eq(rec_stream_offset(&stream[lz4]), JFR_HEADER_BYTES + (uint64_t)_i);
		ck_assert_int_eq(rec_stream_end(&stream[lz4], header), 0);
		ck_assert_int_eq(rec_sink_commit(&sink[lz4], &name), 0);
		rec_stream_free(&stream[lz4]);
	}
	if (system("command -v lz4 >/dev/null") != 0) {
		printf("SKIP frame: no lz4\n");
		return;
	}
	snprintf(command, sizeof(command),
		 "cd %s && lz4 -qt a.lz4 && lz4 -qdc a.lz4 | cmp - a && test $(stat -c %%s a) = %d",
		 folder, _i + JFR_HEADER_BYTES);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sink");
	TCase *one = tcase_create("sink");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(one, setup, teardown);
	tcase_set_timeout(one, 60);
	tcase_add_test(one, default_name);
	tcase_add_test(one, configured_folder_and_form);
	tcase_add_test(one, suffix_decides);
	tcase_add_test(one, existing_name);
	tcase_add_test(one, no_folder_to_write_to);
	tcase_add_loop_test(one, no_room, 0, 2);
	tcase_add_loop_test(one, frame_holds_the_same_bytes, 0, 2);
	tcase_add_loop_test(one, frame_holds_the_same_bytes, (1 << 20) - 1, (1 << 20) + 2);
	tcase_add_loop_test(one, frame_holds_the_same_bytes, 2999999, 3000000);
	suite_add_tcase(suite, one);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
