/*
 * The log: its line, its time, and the files it refuses to touch.
 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "recorder/format/holter_error.h"
#include "recorder/sys/log.h"

static char folder[64], path[128];

static void setup(void)
{
	strcpy(folder, "/tmp/test_log_XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/log", folder);
}

static void teardown(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}

static char *content(void)
{
	static char text[8192];
	int fd = open(path, O_RDONLY);
	ssize_t got = read(fd, text, sizeof(text) - 1);

	ck_assert_int_ge(got, 0);
	text[got] = 0;
	close(fd);
	return text;
}

START_TEST(lines_are_appended)
{
	char expected[256];
	struct stat status;

	ck_assert_int_eq(rec_log_line(path, 1796000000ull * 1000000000u, "one\ntwo"), 0);
	ck_assert_int_eq(rec_log_line(path, 1796000001ull * 1000000000u, "three"), 0);
	snprintf(expected, sizeof(expected),
		 "2026-11-30T00:53:20Z holter[%d]: one?two\n2026-11-30T00:53:21Z holter[%d]: "
		 "three\n",
		 getpid(), getpid());
	ck_assert_str_eq(content(), expected);
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0600);
	ck_assert_int_eq(rec_log_line("", 0, "nowhere"), 0);
	ck_assert_int_eq(rec_log_line(NULL, 0, "nowhere"), 0);
}
END_TEST

START_TEST(long_lines_are_cut_and_ended)
{
	char line[4000];

	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = 0;
	ck_assert_int_eq(rec_log_line(path, 0, line), 0);
	ck_assert_uint_lt(strlen(content()), REC_LOG_LINE + 64);
	ck_assert_int_eq(content()[strlen(content()) - 1], '\n');
}
END_TEST

START_TEST(files_of_others_are_left_alone)
{
	char other[128];
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	ck_assert_int_eq(write(fd, "root:x:0:0:root:/root:/bin/bash\n", 32), 32);
	close(fd);
	ck_assert_int_eq(rec_log_line(path, 0, "line"), HOLTER_E_PERMISSION);
	ck_assert_str_eq(content(), "root:x:0:0:root:/root:/bin/bash\n");
	snprintf(other, sizeof(other), "%s/link", folder);
	ck_assert_int_eq(symlink(path, other), 0);
	ck_assert_int_eq(rec_log_line(other, 0, "line"), HOLTER_E_OPEN);
	ck_assert_int_eq(rec_log_line(folder, 0, "line"), HOLTER_E_OPEN);
	snprintf(other, sizeof(other), "%s/fifo", folder);
	ck_assert_int_eq(mkfifo(other, 0600), 0);
	ck_assert_int_eq(rec_log_line(other, 0, "line"), HOLTER_E_PERMISSION);
	ck_assert_int_eq(rec_log_line("/nonexistent/log", 0, "line"), HOLTER_E_OPEN);
}
END_TEST

START_TEST(no_descriptor_is_kept_and_none_below_three_used)
{
	int before = dup(2);

	close(before);
	close(0);
	ck_assert_int_eq(rec_log_line(path, 0, "line"), 0);
	ck_assert_int_eq(fcntl(0, F_GETFD), -1);
	ck_assert_int_eq(open("/dev/null", O_RDONLY), 0);
	ck_assert_int_eq(dup(2), before);
}
END_TEST

START_TEST(times_agree_with_libc)
{
	static const uint64_t seconds[] = { 0,		86399,	    951782400,
					    951868799,	1709164800, 4102444800,
					    1796000000, 68169600,   2147483648 };

	for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
		time_t now = (time_t)seconds[i];
		char expected[32], got[21];
		struct tm parts;

		gmtime_r(&now, &parts);
		strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M:%SZ", &parts);
		rec_log_time(got, seconds[i] * 1000000000u + 5);
		ck_assert_str_eq(got, expected);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("log");
	TCase *tests = tcase_create("log");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, lines_are_appended);
	tcase_add_test(tests, long_lines_are_cut_and_ended);
	tcase_add_test(tests, files_of_others_are_left_alone);
	tcase_add_test(tests, no_descriptor_is_kept_and_none_below_three_used);
	tcase_add_test(tests, times_agree_with_libc);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
