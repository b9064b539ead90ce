/*
 * Unit tests of preload/thread_start.c: blocks are given out once, come back, and survive many
 * threads that take and give at once.
 *
 * link: preload/thread_start.c
 */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>

#include "preload/thread_start.h"

#define THREADS 4
#define ROUNDS 200000
#define HELD 8
#define MANY 2000

START_TEST(test_blocks_are_distinct)
{
	static struct pre_start *blocks[MANY];

	for (int i = 0; i < MANY; i++) {
		blocks[i] = pre_start_new();
		ck_assert_ptr_nonnull(blocks[i]);
		blocks[i]->parent = (uint32_t)i;
		blocks[i]->argument = blocks[i];
	}
	for (int i = 0; i < MANY; i++) {
		ck_assert_uint_eq(blocks[i]->parent, (uint32_t)i);
		ck_assert_ptr_eq(blocks[i]->argument, blocks[i]);
	}
	for (int i = 0; i < MANY; i++)
		pre_start_free(blocks[i]);
}
END_TEST

START_TEST(test_blocks_come_back)
{
	struct pre_start *first = pre_start_new();

	for (int i = 0; i < 1000000; i++) {
		pre_start_free(first);
		ck_assert_ptr_eq(pre_start_new(), first);
	}
}
END_TEST

/* Each thread writes into what it holds; somebody else's block would be noticed. */
static void *takes_and_gives(void *argument)
{
	struct pre_start *held[HELD] = { NULL };
	uint32_t self = (uint32_t)(uintptr_t)argument;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct pre_start **place = &held[i * 7 % HELD];

		if (*place) {
			ck_assert_uint_eq((*place)->parent, self);
			pre_start_free(*place);
			*place = NULL;
		} else {
			*place = pre_start_new();
			ck_assert_ptr_nonnull(*place);
			(*place)->parent = self;
		}
	}
	for (int i = 0; i < HELD; i++)
		if (held[i])
			pre_start_free(held[i]);
	return NULL;
}

START_TEST(test_many_threads)
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, takes_and_gives, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("thread_start");
	TCase *group = tcase_create("thread_start");
	SRunner *runner;
	int failed;

	tcase_set_timeout(group, 60);
	tcase_add_test(group, test_blocks_are_distinct);
	tcase_add_test(group, test_blocks_come_back);
	tcase_add_test(group, test_many_threads);
	suite_add_tcase(suite, group);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
