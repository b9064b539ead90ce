/*
 * Unit tests of preload/lock_mark.c and preload/notifier.h: marks of one and many waiters, full
 * probes, a forked child, and many threads at once.
 *
 * link: preload/lock_mark.c
 */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/lock_mark.h"
#include "preload/notifier.h"
#include "preload/wipe.h"

#define THREADS 4
#define ROUNDS 100000

struct pre_notifiers pre_notifiers __attribute__((aligned(PAGE_BYTES)));

static uint64_t locks[64];

static uint32_t marks_used(void)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < PRE_MARKS; i++)
		used += pre_marks.mark[i].word != 0;
	return used;
}

START_TEST(test_nobody_waits)
{
	ck_assert(!pre_mark_any());
	ck_assert_uint_eq(pre_mark_release(&locks[0], 10), 0);
	pre_mark_done(NULL);
}
END_TEST

START_TEST(test_first_waiter_counts)
{
	struct pre_mark *first = pre_mark_wait(&locks[0], 100);
	struct pre_mark *second = pre_mark_wait(&locks[0], 200);

	ck_assert_ptr_nonnull(first);
	ck_assert_ptr_eq(first, second);
	ck_assert(pre_mark_any());
	ck_assert_uint_eq(pre_mark_release(&locks[1], 300), 0);
	ck_assert_uint_eq(pre_mark_release(&locks[0], 300), 100);
	/* One got it; the other waits for that one since 300. */
	pre_mark_done(first);
	ck_assert_uint_eq(pre_mark_release(&locks[0], 400), 300);
	pre_mark_done(second);
	ck_assert_uint_eq(pre_mark_release(&locks[0], 500), 0);
	ck_assert(!pre_mark_any());
	ck_assert_uint_eq(marks_used(), 0);
}
END_TEST

START_TEST(test_times_are_not_inherited)
{
	struct pre_mark *mark = pre_mark_wait(&locks[3], 7);

	pre_mark_done(mark);
	mark = pre_mark_wait(&locks[3], 900);
	ck_assert_uint_eq(pre_mark_release(&locks[3], 1000), 900);
	pre_mark_done(mark);
}
END_TEST

START_TEST(test_full_table_is_no_mark)
{
	static uint8_t places[8 * PRE_MARKS];
	static struct pre_mark *marks[8 * PRE_MARKS];
	uint32_t given = 0;

	for (uint32_t i = 0; i < 8 * PRE_MARKS; i++) {
		marks[i] = pre_mark_wait(&places[i], i + 1);
		given += marks[i] != NULL;
	}
	ck_assert_uint_le(given, PRE_MARKS);
	ck_assert_uint_ge(given, PRE_MARKS * 9 / 10);
	ck_assert_uint_eq(pre_marks.waiting, given);
	for (uint32_t i = 0; i < 8 * PRE_MARKS; i++)
		ck_assert_uint_eq(pre_mark_release(&places[i], 1u << 20), marks[i] ? i + 1 : 0);
	for (uint32_t i = 0; i < 8 * PRE_MARKS; i++)
		pre_mark_done(marks[i]);
	ck_assert_uint_eq(marks_used(), 0);
	ck_assert(!pre_mark_any());
}
END_TEST

START_TEST(test_child_finds_nothing)
{
	struct pre_mark *mark = pre_mark_wait(&locks[5], 50);
	int status;
	pid_t child = fork();

	if (child == 0) {
		int good = !pre_mark_any() && pre_mark_release(&locks[5], 60) == 0;

		pre_mark_done(mark); /* as a thread does whose wait the fork interrupted */
		good = good && !pre_mark_any() && marks_used() == 0;
		_exit(good ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(pre_mark_release(&locks[5], 70), 50);
	pre_mark_done(mark);
}
END_TEST

static void *waits_and_releases(void *argument)
{
	uint64_t state = (uint64_t)(uintptr_t)argument;

	for (uint64_t i = 1; i <= ROUNDS; i++) {
		state = hash_mix(state + i);
		const void *lock = &locks[state % 4];
		struct pre_mark *mark = pre_mark_wait(lock, i);
		uint64_t since = pre_mark_release(lock, i);

		/* Whatever the others do: a time that somebody gave, or none. */
		ck_assert_uint_le(since, ROUNDS);
		pre_mark_done(mark);
	}
	return NULL;
}

START_TEST(test_many_threads_leave_nothing_behind)
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(
			pthread_create(&threads[i], NULL, waits_and_releases, (void *)(i + 1)), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(marks_used(), 0);
	ck_assert_uint_eq(pre_marks.waiting, 0);
}
END_TEST

START_TEST(test_notifier_by_address)
{
	ck_assert_uint_eq(pre_notifier_get(&locks[0]), 0);
	pre_notifier_set(&locks[0], 4711);
	ck_assert_uint_eq(pre_notifier_get(&locks[0]), 4711);
	pre_notifier_set(&locks[0], 12);
	ck_assert_uint_eq(pre_notifier_get(&locks[0]), 12);
	/* Another address of the same place is told apart by the hash. */
	for (uintptr_t i = 1; i < 100000; i++)
		ck_assert_uint_eq(pre_notifier_get((const uint8_t *)&locks[0] + i), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lock_mark");
	TCase *group = tcase_create("lock_mark");
	SRunner *runner;
	int failed;

	tcase_set_timeout(group, 60);
	tcase_add_test(group, test_nobody_waits);
	tcase_add_test(group, test_first_waiter_counts);
	tcase_add_test(group, test_times_are_not_inherited);
	tcase_add_test(group, test_full_table_is_no_mark);
	tcase_add_test(group, test_child_finds_nothing);
	tcase_add_test(group, test_many_threads_leave_nothing_behind);
	tcase_add_test(group, test_notifier_by_address);
	suite_add_tcase(suite, group);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
