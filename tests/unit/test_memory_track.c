/*
 * Unit tests of preload/memory_track.c on a region of its own: what passes, what is sampled, what
 * is known as alive, in this process and in a forked child.
 *
 * link: preload/memory_track.c
 */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/memory_track.h"

#define INTERVAL 65536
#define BLOCKS 20000

static struct rec_region region;
static struct rec_live *alive;
static uint32_t alive_count;

static void begin(void)
{
	uint64_t start_time = 0;
	uint32_t ppid = 0;

	alive = calloc(REC_LIVE_MAX, sizeof(*alive));
	ck_assert_int_eq(rec_region_start_time((uint32_t)getpid(), &start_time, &ppid), 0);
	ck_assert_int_eq(rec_region_create(&region, 4 << 20, (uint32_t)getpid(), start_time), 0);
	region.header->children = 1;
	ck_assert_int_eq(rec_process_attach(&region), 0);
	rec_live.alloc_interval = INTERVAL;
	rec_live.event[EV_Malloc].flags = REC_EVENT_ENABLED;
	rec_live.event[EV_Free].flags = REC_EVENT_ENABLED;
	rec_live.gate[EV_GATE_MEMORY] = 1;
	rec_live.memory_mode = REC_MEMORY_SAMPLE;
}

static void end(void)
{
	unlink(region.header->path);
}

/* Blocks are addresses only: nothing here touches what they point to. */
static void *block(uint64_t i)
{
	return (void *)(0x7f0000000000ull + i * 48);
}

static void allocate(uint64_t i, uint64_t size)
{
	if (!pre_memory_passes(size))
		pre_memory_allocated(block(i), size);
}

static void release(uint64_t i)
{
	if (!pre_memory_free_passes(block(i)))
		pre_memory_freeing(block(i));
}

static uint64_t live_weight(uint32_t process)
{
	uint64_t sum = 0;

	alive_count = 0;
	for (uint32_t i = 0; i < REC_LIVE_MAX; i++) {
		struct rec_live *copy = &alive[alive_count];

		if (rec_live_read(&region, i, copy) && copy->key >> 48 == process) {
			sum += copy->weight;
			alive_count++;
		}
	}
	return sum;
}

static uint32_t filter_sum(void)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < sizeof(pre_filter.count); i++)
		sum += pre_filter.count[i];
	return sum;
}

START_TEST(test_off_passes)
{
	rec_live.memory_mode = REC_MEMORY_OFF;
	for (uint64_t i = 0; i < 1000; i++)
		ck_assert(pre_memory_passes(i << 20));
	ck_assert(pre_memory_free_passes(block(1)));
}
END_TEST

START_TEST(test_all_passes_nothing)
{
	rec_live.memory_mode = REC_MEMORY_ALL;
	ck_assert(!pre_memory_passes(0));
	ck_assert(!pre_memory_passes(1));
	ck_assert(!pre_memory_free_passes(block(1)));
}
END_TEST

START_TEST(test_live_bytes_are_estimated)
{
	const double truth = (double)BLOCKS * 1000;
	const struct rec_process *process;

	for (uint64_t i = 0; i < BLOCKS; i++)
		allocate(i, 1000);
	process = rec_process_at(&region, rec_process_own()->process);
	/* About 303 samples: 30 % are five standard deviations. */
	double weight = (double)live_weight(rec_process_own()->process);

	ck_assert_double_eq_tol(weight, truth, truth * 0.3);
	ck_assert_uint_eq(process->live_samples, alive_count);
	ck_assert_uint_eq(process->live_bytes, (uint64_t)weight);
	ck_assert_uint_eq(process->allocated_bytes, (uint64_t)weight);
	ck_assert_uint_eq(filter_sum(), alive_count);
	for (uint64_t i = 0; i < BLOCKS; i++)
		release(i);
	ck_assert_uint_eq(live_weight(rec_process_own()->process), 0);
	ck_assert_uint_eq(filter_sum(), 0);
	ck_assert_uint_eq(process->live_samples, 0);
	ck_assert_uint_eq(process->live_bytes, 0);
	ck_assert_uint_eq(process->allocated_bytes, (uint64_t)weight);
}
END_TEST

START_TEST(test_all_tracks_samples_too)
{
	rec_live.memory_mode = REC_MEMORY_ALL;
	for (uint64_t i = 0; i < BLOCKS; i++)
		allocate(i, 1000);
	ck_assert_double_eq_tol((double)live_weight(rec_process_own()->process), BLOCKS * 1000.0,
				BLOCKS * 300.0);
	for (uint64_t i = 0; i < BLOCKS; i++)
		release(i);
	ck_assert_uint_eq(live_weight(rec_process_own()->process), 0);
	ck_assert_uint_eq(filter_sum(), 0);
}
END_TEST

START_TEST(test_frees_are_seen_while_off)
{
	for (uint64_t i = 0; i < BLOCKS; i++)
		allocate(i, 1000);
	rec_live.memory_mode = REC_MEMORY_OFF;
	for (uint64_t i = 0; i < BLOCKS; i++)
		release(i);
	ck_assert_uint_eq(live_weight(rec_process_own()->process), 0);
}
END_TEST

START_TEST(test_huge_sizes_do_not_stop_sampling)
{
	const uint64_t sizes[] = { 1ull << 63, (1ull << 63) + 12345, UINT64_MAX,
				   UINT64_MAX - 4096 };

	allocate(0, 10);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		ck_assert(!pre_memory_passes(sizes[i])); /* fails: nothing is told */
	for (uint64_t i = 1; i < BLOCKS; i++)
		allocate(i, 1000);
	ck_assert_uint_gt(live_weight(rec_process_own()->process), BLOCKS * 500);
}
END_TEST

START_TEST(test_failed_resize_restores)
{
	struct pre_forgotten forgotten;
	uint64_t before;

	allocate(1, 50u << 20); /* surely sampled */
	before = live_weight(rec_process_own()->process);
	ck_assert_uint_eq(alive_count, 1);
	pre_memory_forget(block(1), &forgotten);
	ck_assert(forgotten.was_sampled);
	ck_assert_uint_eq(live_weight(rec_process_own()->process), 0);
	pre_memory_restore(&forgotten);
	ck_assert_uint_eq(live_weight(rec_process_own()->process), before);
	ck_assert_uint_eq(alive[0].size, 50u << 20);
	ck_assert(pre_filter_hit(block(1)));
	release(1);
	ck_assert_uint_eq(live_weight(rec_process_own()->process), 0);
}
END_TEST

START_TEST(test_address_used_again_without_free)
{
	for (int i = 0; i < 300; i++)
		allocate(7, 50u << 20);
	live_weight(rec_process_own()->process);
	ck_assert_uint_eq(alive_count, 1);
	ck_assert_uint_eq(filter_sum(), 1);
}
END_TEST

START_TEST(test_saturated_filter_stays_true)
{
	/* Addresses of one place of the filter: more than a byte can count. */
	static uint64_t same[400];
	uint32_t slot = pre_filter_slot(block(0)), found = 0;

	for (uint64_t i = 0; found < 400; i++)
		if (pre_filter_slot(block(i)) == slot)
			same[found++] = i;
	for (int i = 0; i < 400; i++)
		allocate(same[i], 50u << 20);
	live_weight(rec_process_own()->process);
	uint32_t full = alive_count;

	for (int i = 0; i < 400; i++)
		release(same[i]);
	live_weight(rec_process_own()->process);
	ck_assert_uint_gt(full, 255);
	ck_assert_uint_eq(alive_count, 0);
}
END_TEST

START_TEST(test_childs_frees_are_its_own)
{
	uint64_t before;
	int status;
	pid_t child;

	for (uint64_t i = 0; i < BLOCKS; i++)
		allocate(i, 1000);
	before = live_weight(rec_process_own()->process);
	child = fork();
	if (child == 0) {
		uint32_t parents = rec_process_own()->process;

		for (uint64_t i = 0; i < BLOCKS; i++)
			if (!pre_memory_free_passes(block(i)))
				_exit(1); /* nothing inherited is looked for */
		allocate(3, 50u << 20);
		if (rec_process_own()->process == parents && rec_process_own()->pid == 0)
			_exit(2);
		if (live_weight(rec_process_own()->process) == 0)
			_exit(3);
		release(3);
		_exit(live_weight(rec_process_own()->process) == 0 ? 0 : 4);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(live_weight(rec_process_own()->process), before);
}
END_TEST

static void *allocates_and_crosses(void *argument)
{
	uint64_t self = (uint64_t)(uintptr_t)argument;

	for (int round = 0; round < 20; round++) {
		for (uint64_t i = 0; i < 1000; i++)
			allocate(self * 1000 + i, 5000);
		for (uint64_t i = 0; i < 1000; i++)
			release(self * 1000 + i);
	}
	rec_thread_detach();
	return NULL;
}

START_TEST(test_many_threads_leave_nothing)
{
	pthread_t threads[4];

	for (uintptr_t i = 0; i < 4; i++)
		ck_assert_int_eq(
			pthread_create(&threads[i], NULL, allocates_and_crosses, (void *)i), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(live_weight(0), 0);
	ck_assert_uint_eq(filter_sum(), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory_track");
	TCase *group = tcase_create("memory_track");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(group, begin, end);
	tcase_set_timeout(group, 60);
	tcase_add_test(group, test_off_passes);
	tcase_add_test(group, test_all_passes_nothing);
	tcase_add_test(group, test_live_bytes_are_estimated);
	tcase_add_test(group, test_all_tracks_samples_too);
	tcase_add_test(group, test_frees_are_seen_while_off);
	tcase_add_test(group, test_huge_sizes_do_not_stop_sampling);
	tcase_add_test(group, test_failed_resize_restores);
	tcase_add_test(group, test_address_used_again_without_free);
	tcase_add_test(group, test_saturated_filter_stays_true);
	tcase_add_test(group, test_childs_frees_are_its_own);
	tcase_add_test(group, test_many_threads_leave_nothing);
	suite_add_tcase(suite, group);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
