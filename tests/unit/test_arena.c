/*
 * Bump arena: alignment, growth, reuse after reset and release, absurd sizes.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/sys/arena.h"

static struct rec_arena *arena;

static void setup(void)
{
	arena = rec_arena_create(8192);
	ck_assert_ptr_nonnull(arena);
}

static void teardown(void)
{
	rec_arena_destroy(arena);
}

START_TEST(allocations_are_aligned_and_apart)
{
	uint8_t *previous = NULL;

	for (size_t align = 1; align <= 4096; align *= 2) {
		uint8_t *memory = rec_arena_alloc(arena, 100, align);

		ck_assert_ptr_nonnull(memory);
		ck_assert_uint_eq((uintptr_t)memory % align, 0);
		memset(memory, (int)align, 100);
		if (previous)
			ck_assert_uint_eq(previous[99], (uint8_t)(align / 2));
		previous = memory;
	}
	ck_assert_uint_eq((uintptr_t)rec_arena_alloc(arena, 3, 0) % 16, 0);
}
END_TEST

START_TEST(grows_by_blocks_and_keeps_what_was_there)
{
	uint32_t *all[1000];

	for (uint32_t i = 0; i < 1000; i++) {
		all[i] = rec_arena_alloc(arena, 400, 8);
		ck_assert_ptr_nonnull(all[i]);
		for (uint32_t j = 0; j < 100; j++)
			all[i][j] = i;
	}
	for (uint32_t i = 0; i < 1000; i++)
		for (uint32_t j = 0; j < 100; j++)
			ck_assert_uint_eq(all[i][j], i);
	ck_assert_uint_ge(rec_arena_bytes(arena), 400000);
}
END_TEST

START_TEST(a_large_request_gets_a_block_of_its_own)
{
	uint8_t *memory = rec_arena_alloc(arena, 10 << 20, 4096);

	ck_assert_ptr_nonnull(memory);
	ck_assert_uint_eq((uintptr_t)memory % 4096, 0);
	memset(memory, 1, 10 << 20);
	ck_assert_ptr_nonnull(rec_arena_alloc(arena, 16, 0));
}
END_TEST

START_TEST(absurd_sizes_are_refused)
{
	size_t before = rec_arena_bytes(arena);

	ck_assert_ptr_null(rec_arena_alloc(arena, SIZE_MAX, 16));
	ck_assert_ptr_null(rec_arena_alloc(arena, SIZE_MAX - 4096, 4096));
	ck_assert_ptr_null(rec_arena_alloc(arena, 1, 3));
	ck_assert_ptr_null(rec_arena_alloc(arena, 1, 8192));
	ck_assert_ptr_null(rec_arena_zalloc(arena, SIZE_MAX / 2, 3));
	ck_assert_ptr_null(rec_arena_create(SIZE_MAX));
	ck_assert_uint_eq(rec_arena_bytes(arena), before);
	ck_assert_ptr_nonnull(rec_arena_alloc(arena, 1, 1));
}
END_TEST

START_TEST(reset_keeps_the_first_block_only)
{
	size_t empty = rec_arena_bytes(arena);
	void *first = rec_arena_alloc(arena, 64, 16);

	memset(first, 0xff, 64);
	ck_assert_ptr_nonnull(rec_arena_alloc(arena, 1 << 20, 16));
	ck_assert_uint_gt(rec_arena_bytes(arena), empty);
	rec_arena_reset(arena);
	ck_assert_uint_eq(rec_arena_bytes(arena), empty);
	ck_assert_ptr_eq(rec_arena_alloc(arena, 64, 16), first);
}
END_TEST

START_TEST(release_goes_back_to_the_mark)
{
	uint8_t *kept = rec_arena_alloc(arena, 32, 16);
	struct rec_arena_mark mark = rec_arena_mark(arena);
	void *next = rec_arena_alloc(arena, 32, 16);
	size_t before = rec_arena_bytes(arena);

	memset(kept, 7, 32);
	for (int i = 0; i < 100; i++)
		ck_assert_ptr_nonnull(rec_arena_alloc(arena, 4000, 16));
	rec_arena_release(arena, mark);
	ck_assert_uint_eq(rec_arena_bytes(arena), before);
	ck_assert_ptr_eq(rec_arena_alloc(arena, 32, 16), next);
	ck_assert_uint_eq(kept[31], 7);
}
END_TEST

START_TEST(zalloc_clears_memory_used_before)
{
	memset(rec_arena_alloc(arena, 4096, 16), 0xff, 4096);
	rec_arena_reset(arena);
	uint64_t *memory = rec_arena_zalloc(arena, 512, 8);

	for (int i = 0; i < 512; i++)
		ck_assert_uint_eq(memory[i], 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("arena");
	TCase *tests = tcase_create("arena");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, allocations_are_aligned_and_apart);
	tcase_add_test(tests, grows_by_blocks_and_keeps_what_was_there);
	tcase_add_test(tests, a_large_request_gets_a_block_of_its_own);
	tcase_add_test(tests, absurd_sizes_are_refused);
	tcase_add_test(tests, reset_keeps_the_first_block_only);
	tcase_add_test(tests, release_goes_back_to_the_mark);
	tcase_add_test(tests, zalloc_clears_memory_used_before);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
