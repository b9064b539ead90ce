/*
 * The reader without memory: each allocation fails in turn. Reading must end with an error or with
 * what could be read, free everything, and work again when there is memory.
 *
 * malloc and friends of this program are ours, over those of libc; with a sanitizer's allocator
 * that is not possible, and the test is skipped.
 */
#include <check.h>
#include <errno.h>

#include "tests/unit/reader_walk.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
int main(void)
{
	printf("SKIP test_reader_nomem: the sanitizer has its own allocator\n");
	return EXIT_SUCCESS;
}
#else

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void __libc_free(void *memory);

static long until_failure = -1; /* -1: never */
static bool keeps_failing;
static long live;

static bool fails(void)
{
	if (until_failure < 0)
		return false;
	if (until_failure > 0) {
		until_failure--;
		return false;
	}
	if (!keeps_failing)
		until_failure = -1;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	void *memory = fails() ? NULL : __libc_malloc(size);

	live += memory != NULL;
	return memory;
}

void *calloc(size_t count, size_t size)
{
	void *memory = fails() ? NULL : __libc_calloc(count, size);

	live += memory != NULL;
	return memory;
}

void *realloc(void *old, size_t size)
{
	void *memory = fails() ? NULL : __libc_realloc(old, size);

	live += !old && memory;
	return memory;
}

void free(void *memory)
{
	live -= memory != NULL;
	__libc_free(memory);
}

/* Reads all of a file, with the n-th allocation failing; true when none failed any more. Checks
 * come last, since libcheck allocates too. */
static bool read_failing(const char *path, long number)
{
	struct walked walked = { .code = 0 };
	struct holter_reader *reader = NULL;
	bool is_done;
	bool is_odd = false;
	long before = live;
	long after;
	int open_code;

	until_failure = number;
	open_code = holter_reader_open(path, NULL, &reader, &walked.first);
	/* Going on after the error comes to an end too. */
	for (int i = 0; i < 10 && !open_code; i++) {
		walk_reader(&walked, reader);
		is_odd |= walked.code != 0 && walked.code != HOLTER_E_NOMEM;
		if (walked.code == 0)
			break;
	}
	is_done = until_failure > 0;
	holter_reader_close(reader);
	until_failure = -1;
	after = live;
	ck_assert(open_code == 0 || open_code == HOLTER_E_NOMEM);
	ck_assert(!is_odd);
	ck_assert_int_eq(walked.code, 0);
	ck_assert_msg(after == before, "%s: %ld not freed after failure %ld", path, after - before,
		      number);
	return is_done;
}

static const char *const files[] = { "tests/golden/mini.jfr", "tests/golden/native-proto.jfr",
				     "tests/golden/native-proto.jfr.lz4" };

START_TEST(each_allocation_fails_once)
{
	long number = 0;

	keeps_failing = false;
	while (!read_failing(files[_i], number))
		number++;
	ck_assert_int_gt(number, 5);
}
END_TEST

START_TEST(all_allocations_fail_from_one_on)
{
	keeps_failing = true;
	for (long number = 0; number < 40; number++) {
		struct holter_reader *reader;
		const struct holter_event *event;
		long before = live;
		long after;
		int tries = 0;

		until_failure = number;
		if (holter_reader_open(files[_i], NULL, &reader, NULL) == 0) {
			while (tries < 1000 && holter_reader_next(reader, &event) != 0)
				tries++;
			holter_reader_close(reader);
		}
		until_failure = -1;
		after = live;
		ck_assert_int_lt(tries, 1000);
		ck_assert_int_eq(after, before);
	}
}
END_TEST

int main(void)
{
	Suite *all = suite_create("reader without memory");
	TCase *tcase = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, each_allocation_fails_once, 0, 3);
	tcase_add_loop_test(tcase, all_allocations_fail_from_one_on, 0, 3);
	suite_add_tcase(all, tcase);
	runner = srunner_create(all);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
#endif
