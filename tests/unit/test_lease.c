/*
 * The lease with a clock and a world of our own: taking, renewing, dying, expiring, races.
 */
#include <check.h>
#include <pthread.h>
#include <unistd.h>

#include "recorder/engine/lease.h"

#define SECOND 1000000000ull

static struct rec_lease lease;
static uint32_t dead_tid;
static uint64_t began; /* when the process that has pid 100 now began; 0: there is none */

static bool alive(uint32_t pid, uint32_t tid, uint64_t start_time)
{
	if (tid && tid == dead_tid)
		return false;
	return pid != 100 || (began && (!start_time || start_time == began));
}

static const struct rec_lease_holder first = { 100, 0, 5000 };
static const struct rec_lease_holder second = { 200, 0, 6000 };
static const struct rec_lease_holder thread = { 100, 101, 5000 };

static void setup(void)
{
	memset(&lease, 0, sizeof(lease));
	began = 5000;
	dead_tid = 0;
}

START_TEST(nobody_holds_a_new_lease)
{
	ck_assert(!rec_lease_is_held(&lease, SECOND, alive));
	ck_assert_int_eq(rec_lease_take(&lease, &first, SECOND, alive), 0);
	ck_assert(rec_lease_is_held(&lease, SECOND, alive));
	ck_assert_uint_eq(lease.pid, 100);
	ck_assert_uint_eq(lease.tid, 0);
	ck_assert_uint_eq(lease.start_time, 5000);
	ck_assert_uint_eq(lease.generation, 1);
	ck_assert_uint_eq(lease.expires_ns, SECOND + REC_LEASE_NS);
}
END_TEST

START_TEST(a_living_holder_keeps_it)
{
	rec_lease_take(&lease, &first, SECOND, alive);
	ck_assert_int_eq(rec_lease_take(&lease, &second, 2 * SECOND, alive), HOLTER_E_BUSY);
	ck_assert_int_eq(rec_lease_renew(&lease, &first, 2 * SECOND, REC_LEASE_NS), 0);
	ck_assert_int_eq(rec_lease_take(&lease, &second, 3 * SECOND, alive), HOLTER_E_BUSY);
	ck_assert_int_eq(rec_lease_renew(&lease, &second, 3 * SECOND, REC_LEASE_NS), HOLTER_E_BUSY);
	ck_assert_uint_eq(lease.pid, 100);
}
END_TEST

START_TEST(the_dead_lose_it_at_once)
{
	rec_lease_take(&lease, &first, SECOND, alive);
	began = 0;
	ck_assert(!rec_lease_is_held(&lease, SECOND + 1, alive));
	ck_assert_int_eq(rec_lease_take(&lease, &second, SECOND + 1, alive), 0);
	ck_assert_uint_eq(lease.pid, 200);
	ck_assert_uint_eq(lease.start_time, 6000);
	ck_assert_uint_eq(lease.generation, 2);
}
END_TEST

START_TEST(a_pid_used_again_is_not_the_holder)
{
	rec_lease_take(&lease, &first, SECOND, alive);
	began = 5001;
	ck_assert_int_eq(rec_lease_take(&lease, &second, SECOND + 1, alive), 0);
}
END_TEST

START_TEST(the_silent_lose_it_when_it_expires)
{
	rec_lease_take(&lease, &first, SECOND, alive);
	ck_assert_int_eq(rec_lease_take(&lease, &second, SECOND + REC_LEASE_NS - 1, alive),
			 HOLTER_E_BUSY);
	ck_assert_int_eq(rec_lease_take(&lease, &second, SECOND + REC_LEASE_NS, alive), 0);
	/* The first one notices when it wakes up. */
	ck_assert_int_eq(rec_lease_renew(&lease, &first, 4 * SECOND, REC_LEASE_NS), HOLTER_E_BUSY);
	ck_assert_uint_eq(lease.pid, 200);
	ck_assert_uint_eq(lease.start_time, 6000);
	rec_lease_release(&lease, &first);
	ck_assert_uint_eq(lease.pid, 200);
}
END_TEST

START_TEST(a_dump_stretches_it)
{
	rec_lease_take(&lease, &first, SECOND, alive);
	rec_lease_renew(&lease, &first, 2 * SECOND, REC_LEASE_BUSY_NS);
	ck_assert_int_eq(rec_lease_take(&lease, &second, 40 * SECOND, alive), HOLTER_E_BUSY);
	ck_assert_int_eq(rec_lease_take(&lease, &second, 63 * SECOND, alive), 0);
}
END_TEST

START_TEST(given_up_it_is_free)
{
	rec_lease_take(&lease, &thread, SECOND, alive);
	ck_assert_uint_eq(lease.tid, 101);
	/* A process of the same pid is another holder. */
	ck_assert_int_eq(rec_lease_take(&lease, &first, SECOND + 1, alive), HOLTER_E_BUSY);
	rec_lease_release(&lease, &thread);
	ck_assert_uint_eq(lease.pid, 0);
	ck_assert_int_eq(rec_lease_take(&lease, &first, SECOND + 2, alive), 0);
}
END_TEST

START_TEST(exec_ends_a_leader_thread_but_not_its_process)
{
	struct rec_lease_holder next = { 100, 105, 5000 };

	rec_lease_take(&lease, &thread, SECOND, alive);
	ck_assert_int_eq(rec_lease_take(&lease, &next, SECOND + 1, alive), HOLTER_E_BUSY);
	dead_tid = 101;
	ck_assert_int_eq(rec_lease_take(&lease, &next, SECOND + 1, alive), 0);
	ck_assert_uint_eq(lease.tid, 105);
}
END_TEST

START_TEST(the_kernel_knows_who_lives)
{
	uint32_t pid = (uint32_t)getpid();

	ck_assert(rec_lease_holder_lives(pid, 0, 0));
	ck_assert(rec_lease_holder_lives(pid, pid, 0));
	ck_assert(!rec_lease_holder_lives(pid, 1u << 29, 0));
	ck_assert(!rec_lease_holder_lives(1u << 29, 0, 0));
	ck_assert(!rec_lease_holder_lives(pid, 0, 1));
}
END_TEST

START_TEST(scribbling_does_not_hold_it_for_ever)
{
	rec_lease_take(&lease, &first, SECOND, alive);
	lease.expires_ns = UINT64_MAX;
	ck_assert(!rec_lease_is_held(&lease, SECOND, alive));
	ck_assert_int_eq(rec_lease_take(&lease, &second, SECOND, alive), 0);
}
END_TEST

#define CANDIDATES 8
static uint32_t winners;

static void *candidate(void *number)
{
	struct rec_lease_holder me = { 1000 + (uint32_t)(uintptr_t)number, 0, 7000 };

	if (rec_lease_take(&lease, &me, SECOND, alive) == 0)
		__atomic_fetch_add(&winners, 1, __ATOMIC_RELAXED);
	return NULL;
}

START_TEST(one_of_many_candidates_wins)
{
	for (int round = 0; round < 500; round++) {
		pthread_t threads[CANDIDATES];

		setup();
		winners = 0;
		/* An expired lease of somebody who lives: the hardest case. */
		lease.pid = 100;
		lease.expires_ns = SECOND - 1;
		for (uintptr_t i = 0; i < CANDIDATES; i++)
			ck_assert_int_eq(pthread_create(&threads[i], NULL, candidate, (void *)i),
					 0);
		for (unsigned i = 0; i < CANDIDATES; i++)
			pthread_join(threads[i], NULL);
		ck_assert_uint_eq(winners, 1);
		ck_assert_uint_ge(lease.pid, 1000);
		ck_assert_uint_eq(lease.generation, 1);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lease");
	TCase *tests = tcase_create("lease");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, nobody_holds_a_new_lease);
	tcase_add_test(tests, a_living_holder_keeps_it);
	tcase_add_test(tests, the_dead_lose_it_at_once);
	tcase_add_test(tests, a_pid_used_again_is_not_the_holder);
	tcase_add_test(tests, the_silent_lose_it_when_it_expires);
	tcase_add_test(tests, a_dump_stretches_it);
	tcase_add_test(tests, given_up_it_is_free);
	tcase_add_test(tests, exec_ends_a_leader_thread_but_not_its_process);
	tcase_add_test(tests, the_kernel_knows_who_lives);
	tcase_add_test(tests, scribbling_does_not_hold_it_for_ever);
	tcase_add_test(tests, one_of_many_candidates_wins);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
