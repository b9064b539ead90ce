/*
 * The depot: equal content has one id, generations turn, stale ids are refused, and under threads
 * and processes no id ever yields another content than was interned under it.
 */
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/base/hash.h"
#include "recorder/region/depot.h"

#define MEMORY (1u << 20) /* halves of 512 KiB, so that they turn soon */
#define STACK_WORDS 22
#define THREADS 8
#define PROCESSES 2
#define ROUNDS 12000
#define BOARD 64

static struct rec_region region;

static void setup(void)
{
	ck_assert_int_eq(rec_region_create(&region, MEMORY, (uint32_t)getpid(), 1), 0);
	unlink(region.header->path);
}

static void teardown(void)
{
	rec_region_unmap(&region);
}

static uint32_t generation(void)
{
	return __atomic_load_n(&region.header->depot.generation, __ATOMIC_RELAXED);
}

/* Content that can be checked by itself: everything follows from its first word. */
static uint32_t content_make(uint64_t seed, uint64_t *words)
{
	uint32_t count = 2 + (uint32_t)(hash_mix(seed) % (STACK_WORDS - 1));

	words[0] = seed;
	for (uint32_t i = 1; i < count; i++)
		words[i] = hash_mix(seed * 31 + i);
	return count * 8;
}

static bool content_is_whole(const uint64_t *words, int bytes)
{
	uint64_t expected[STACK_WORDS + 2];

	return bytes >= 16 && (uint32_t)bytes == content_make(words[0], expected) &&
	       memcmp(words, expected, (size_t)bytes) == 0;
}

static uint32_t intern_seed(uint64_t seed)
{
	uint64_t words[STACK_WORDS + 2];
	uint32_t bytes = content_make(seed, words);

	return rec_depot_intern(&region, REC_DEPOT_STACK, 0, words, bytes);
}

START_TEST(equal_content_has_one_id)
{
	char text[] = "xhello, world";
	uint32_t id = rec_depot_intern(&region, REC_DEPOT_STRING, 0, "hello, world", 12);
	char buffer[REC_DEPOT_BYTES_MAX];
	uint32_t flags = 99;

	ck_assert_uint_ge(id, EV_NAME_MAX);
	ck_assert_uint_eq(rec_depot_intern(&region, REC_DEPOT_STRING, 0, text + 1, 12), id);
	ck_assert_uint_ne(rec_depot_intern(&region, REC_DEPOT_STRING, 0, text + 1, 11), id);
	ck_assert_uint_ne(rec_depot_intern(&region, REC_DEPOT_ADDRESS, 0, text + 1, 12), id);
	ck_assert_uint_ne(rec_depot_intern(&region, REC_DEPOT_STRING, 1, text + 1, 12), id);
	ck_assert_int_eq(rec_depot_read(&region, id, REC_DEPOT_STRING, buffer, &flags), 12);
	ck_assert_int_eq(memcmp(buffer, "hello, world", 12), 0);
	ck_assert_uint_eq(flags, 0);
	ck_assert_int_eq(rec_depot_is_current(&region, id), 1);
}
END_TEST

START_TEST(every_length_is_kept_whole)
{
	uint8_t bytes[REC_DEPOT_BYTES_MAX + 8], buffer[REC_DEPOT_BYTES_MAX];
	uint32_t ids[300];

	for (uint32_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7);
	for (uint32_t length = 0; length < 300; length++) {
		ids[length] =
			rec_depot_intern(&region, REC_DEPOT_STRING, length & 1, bytes, length);
		ck_assert_uint_ne(ids[length], 0);
	}
	for (uint32_t length = 0; length < 300; length++) {
		uint32_t flags;

		ck_assert_int_eq(
			rec_depot_read(&region, ids[length], REC_DEPOT_STRING, buffer, &flags),
			(int)length);
		ck_assert_int_eq(memcmp(buffer, bytes, length), 0);
		ck_assert_uint_eq(flags, length & 1);
		ck_assert_uint_eq(
			rec_depot_intern(&region, REC_DEPOT_STRING, length & 1, bytes, length),
			ids[length]);
	}
	/* Longer ones are cut. */
	ck_assert_uint_eq(
		rec_depot_intern(&region, REC_DEPOT_STRING, 0, bytes, REC_DEPOT_BYTES_MAX + 8),
		rec_depot_intern(&region, REC_DEPOT_STRING, 0, bytes, REC_DEPOT_BYTES_MAX));
}
END_TEST

START_TEST(each_word_and_its_place_counts)
{
	uint64_t words[STACK_WORDS];
	uint32_t first, other;

	for (uint32_t i = 0; i < STACK_WORDS; i++)
		words[i] = 0x550000001000ull + i;
	first = rec_depot_intern(&region, REC_DEPOT_STACK, 0, words, sizeof(words));
	for (uint32_t i = 0; i + 1 < STACK_WORDS; i++) {
		uint64_t kept = words[i];

		words[i] = words[i + 1];
		words[i + 1] = kept;
		other = rec_depot_intern(&region, REC_DEPOT_STACK, 0, words, sizeof(words));
		ck_assert_uint_ne(other, first);
		words[i + 1] = words[i];
		words[i] = kept;
		words[i] ^= 1;
		ck_assert_uint_ne(
			rec_depot_intern(&region, REC_DEPOT_STACK, 0, words, sizeof(words)), first);
		words[i] ^= 1;
	}
	ck_assert_uint_eq(rec_depot_intern(&region, REC_DEPOT_STACK, 0, words, sizeof(words)),
			  first);
}
END_TEST

START_TEST(wrong_ids_are_refused)
{
	char buffer[REC_DEPOT_BYTES_MAX];
	uint32_t id = rec_depot_intern(&region, REC_DEPOT_STRING, 0, "abcdefghijklmnop", 16);

	ck_assert_int_eq(rec_depot_read(&region, 0, REC_DEPOT_STRING, buffer, NULL),
			 HOLTER_E_CORRUPT);
	ck_assert_int_eq(rec_depot_read(&region, 17, REC_DEPOT_STRING, buffer, NULL),
			 HOLTER_E_CORRUPT);
	ck_assert_int_eq(rec_depot_read(&region, id, REC_DEPOT_STACK, buffer, NULL),
			 HOLTER_E_CORRUPT);
	ck_assert_int_eq(rec_depot_read(&region, id + 1, REC_DEPOT_STRING, buffer, NULL),
			 HOLTER_E_CORRUPT);
	ck_assert_int_eq(rec_depot_read(&region, id | 0xffffff, REC_DEPOT_STRING, buffer, NULL),
			 HOLTER_E_CORRUPT);
	ck_assert_int_eq(rec_depot_read(&region, id + (1u << 24), REC_DEPOT_STRING, buffer, NULL),
			 HOLTER_E_CORRUPT);
	ck_assert_int_eq(rec_depot_read(&region, UINT32_MAX, REC_DEPOT_STRING, buffer, NULL),
			 HOLTER_E_CORRUPT);
}
END_TEST

START_TEST(generations_turn_and_the_older_one_is_dropped)
{
	uint64_t buffer[REC_DEPOT_BYTES_MAX / 8];
	uint32_t first = intern_seed(1), kept = intern_seed(2), id;
	uint64_t seed = 10;

	while (generation() == 1)
		ck_assert_uint_ne(intern_seed(seed++), 0);
	/* The older generation can still be read, and refreshed into the new one. */
	ck_assert_int_gt(rec_depot_read(&region, first, REC_DEPOT_STACK, buffer, NULL), 0);
	ck_assert_uint_eq(buffer[0], 1);
	ck_assert_int_eq(rec_depot_is_current(&region, kept), 0);
	id = rec_depot_refresh(&region, kept);
	ck_assert_uint_ne(id, kept);
	ck_assert_int_eq(rec_depot_is_current(&region, id), 1);
	ck_assert_uint_eq(rec_depot_refresh(&region, id), id);
	ck_assert_uint_eq(intern_seed(2), id);
	while (generation() == 2)
		ck_assert_uint_ne(intern_seed(seed++), 0);
	ck_assert_int_eq(rec_depot_read(&region, first, REC_DEPOT_STACK, buffer, NULL),
			 HOLTER_E_CORRUPT);
	ck_assert_uint_eq(rec_depot_refresh(&region, first), 0);
	ck_assert_int_gt(rec_depot_read(&region, id, REC_DEPOT_STACK, buffer, NULL), 0);
	ck_assert_uint_eq(buffer[0], 2);
}
END_TEST

START_TEST(ids_never_look_like_names_over_many_generations)
{
	uint64_t buffer[REC_DEPOT_BYTES_MAX / 8], seed = 0;
	uint32_t last = 1;

	while (generation() < 520) {
		uint32_t id = intern_seed(++seed);

		ck_assert_uint_ge(id, 1u << 24);
		if (generation() == last)
			continue;
		/* Halves alternate, also where the low byte of the number would be zero. */
		ck_assert_uint_ne(generation() & 1, last & 1);
		ck_assert_uint_ne(generation() & 0xff, 0);
		ck_assert_int_gt(rec_depot_read(&region, id, REC_DEPOT_STACK, buffer, NULL), 0);
		ck_assert_uint_eq(buffer[0], seed);
		last = generation();
	}
}
END_TEST

START_TEST(damaged_content_is_noticed_and_stored_anew)
{
	uint64_t buffer[REC_DEPOT_BYTES_MAX / 8];
	uint32_t id = intern_seed(77), again;
	uint8_t *half = region.base + region.layout.depot + region.layout.depot_half;

	/* The first generation lies in the second half. */
	half[(uint64_t)(id & 0xffffff) * 8 + 16] ^= 1;
	ck_assert_int_eq(rec_depot_read(&region, id, REC_DEPOT_STACK, buffer, NULL),
			 HOLTER_E_CORRUPT);
	again = intern_seed(77);
	ck_assert_uint_ne(again, id);
	ck_assert_int_gt(rec_depot_read(&region, again, REC_DEPOT_STACK, buffer, NULL), 0);
	ck_assert_uint_eq(buffer[0], 77);
}
END_TEST

START_TEST(a_full_shm_keeps_what_is_there)
{
	uint32_t ids[100], i, refused = 0;
	struct rec_region small;
	uint64_t words[STACK_WORDS + 2];

	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=768k") != 0) {
		puts("SKIP a_full_shm_keeps_what_is_there: cannot mount a small /dev/shm");
		return;
	}
	ck_assert_int_eq(rec_region_create(&small, 16u << 20, (uint32_t)getpid(), 1), 0);
	ck_assert_uint_eq(small.header->anonymous, 0);
	for (i = 0; i < 100; i++) {
		uint32_t bytes = content_make(i, words);

		ids[i] = rec_depot_intern(&small, REC_DEPOT_STACK, 0, words, bytes);
		ck_assert_uint_ne(ids[i], 0);
	}
	for (; i < 20000; i++) {
		uint32_t bytes = content_make(i, words);

		refused += rec_depot_intern(&small, REC_DEPOT_STACK, 0, words, bytes) == 0;
	}
	ck_assert_uint_gt(refused, 1000);
	ck_assert_uint_eq(small.header->depot.generation, 1);
	for (i = 0; i < 100; i++) {
		uint32_t bytes = content_make(i, words);

		ck_assert_uint_eq(rec_depot_intern(&small, REC_DEPOT_STACK, 0, words, bytes),
				  ids[i]);
	}
	unlink(small.header->path);
	rec_region_unmap(&small);
}
END_TEST

/*
 * What the writers published lately: id in the upper half, the low bits of its seed in the lower
 * one, so that a reader knows which content an id must yield.
 */
struct board {
	uint64_t post[BOARD];
	uint64_t wrong, read, stale, refused;
	uint32_t stop;
};

static struct board *board;

static uint64_t random_next(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

static void count(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* Reads what some writer posted; content must be whole and that of the seed. */
static void board_check(uint64_t *state)
{
	uint64_t buffer[REC_DEPOT_BYTES_MAX / 8];
	uint32_t before = generation();
	uint64_t post = __atomic_load_n(&board->post[random_next(state) % BOARD], __ATOMIC_ACQUIRE);
	int bytes;

	if (post == 0)
		return;
	bytes = rec_depot_read(&region, (uint32_t)(post >> 32), REC_DEPOT_STACK, buffer, NULL);
	/* 8 bits of the generation are in an id: a reader that slept for long may see its namesake.
	 */
	if (generation() - before > 100)
		return;
	if (bytes < 0)
		count(&board->stale);
	else if (!content_is_whole(buffer, bytes) || (uint32_t)buffer[0] != (uint32_t)post)
		count(&board->wrong);
	else
		count(&board->read);
}

static void *writer_run(void *argument)
{
	uint64_t state = (uint64_t)(uintptr_t)argument * 0x9e3779b97f4a7c15ull + 1;
	uint32_t id = 0;

	for (int i = 0; i < ROUNDS; i++) {
		/* Some seeds are shared by all, so that equal content meets. */
		uint64_t seed =
			random_next(&state) % 2 ? random_next(&state) % 500 : random_next(&state);

		if (i % 64 == 63)
			rec_depot_refresh(&region, id);
		id = intern_seed(seed);
		if (id == 0) {
			count(&board->refused);
			continue;
		}
		__atomic_store_n(&board->post[random_next(&state) % BOARD],
				 (uint64_t)id << 32 | (uint32_t)seed, __ATOMIC_RELEASE);
		if (i % 4 == 0)
			board_check(&state);
	}
	return NULL;
}

static void threads_run(uint64_t first, int count_of)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < count_of; i++)
		pthread_create(&threads[i], NULL, writer_run,
			       (void *)(uintptr_t)(first + (uint64_t)i));
	for (int i = 0; i < count_of; i++)
		pthread_join(threads[i], NULL);
}

START_TEST(threads_and_processes_never_see_wrong_content)
{
	pid_t children[PROCESSES], reader;
	int status;

	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	for (int i = 0; i < PROCESSES; i++) {
		children[i] = fork();
		if (children[i] == 0) {
			writer_run((void *)(uintptr_t)(100 + i));
			_exit(0);
		}
	}
	reader = fork();
	if (reader == 0) {
		uint64_t state = 5;

		while (__atomic_load_n(&board->stop, __ATOMIC_ACQUIRE) == 0)
			board_check(&state);
		_exit(0);
	}
	threads_run(1, THREADS);
	for (int i = 0; i < PROCESSES; i++) {
		waitpid(children[i], &status, 0);
		ck_assert_int_eq(status, 0);
	}
	__atomic_store_n(&board->stop, 1, __ATOMIC_RELEASE);
	waitpid(reader, &status, 0);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(board->wrong, 0);
	ck_assert_uint_eq(board->refused, 0);
	ck_assert_uint_gt(board->read, 1000);
	ck_assert_uint_gt(generation(), 5);
}
END_TEST

START_TEST(a_killed_writer_blocks_nobody)
{
	int status;

	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();
		uint32_t start = generation();

		if (child == 0)
			for (;;)
				writer_run((void *)(uintptr_t)(i + 1));
		while (generation() - start < 3)
			sched_yield();
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		writer_run((void *)(uintptr_t)(1000 + i));
	}
	ck_assert_uint_eq(board->refused, 0);
	ck_assert_uint_eq(board->wrong, 0);
}
END_TEST

START_TEST(random_bytes_in_the_region_stay_in_bounds)
{
	uint64_t buffer[REC_DEPOT_BYTES_MAX / 8], state = (uint64_t)_i + 1;
	uint8_t *control = (uint8_t *)&region.header->depot;
	uint8_t *depot = region.base + region.layout.depot;

	for (uint64_t i = 0; i < 300; i++)
		intern_seed(i);
	for (int round = 0; round < 200; round++) {
		for (int i = 0; i < 16; i++)
			control[random_next(&state) % sizeof(region.header->depot)] =
				(uint8_t)random_next(&state);
		for (int i = 0; i < 4096; i++)
			depot[random_next(&state) % (2 * region.layout.depot_half)] =
				(uint8_t)random_next(&state);
		for (int i = 0; i < 200; i++) {
			uint32_t id =
				(uint32_t)random_next(&state) << 8 ^ (uint32_t)random_next(&state);
			int bytes = rec_depot_read(&region, id, REC_DEPOT_STACK, buffer, NULL);

			ck_assert_int_le(bytes, REC_DEPOT_BYTES_MAX);
			rec_depot_refresh(&region, id);
			intern_seed(random_next(&state) % 400);
		}
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("depot");
	TCase *tests = tcase_create("depot");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 120);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, equal_content_has_one_id);
	tcase_add_test(tests, every_length_is_kept_whole);
	tcase_add_test(tests, each_word_and_its_place_counts);
	tcase_add_test(tests, wrong_ids_are_refused);
	tcase_add_test(tests, generations_turn_and_the_older_one_is_dropped);
	tcase_add_test(tests, ids_never_look_like_names_over_many_generations);
	tcase_add_test(tests, damaged_content_is_noticed_and_stored_anew);
	tcase_add_test(tests, a_full_shm_keeps_what_is_there);
	tcase_add_test(tests, threads_and_processes_never_see_wrong_content);
	tcase_add_test(tests, a_killed_writer_blocks_nobody);
	tcase_add_loop_test(tests, random_bytes_in_the_region_stay_in_bounds, 0, 4);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
