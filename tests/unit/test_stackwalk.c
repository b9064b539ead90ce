/*
 * The stack walker: chains of calls of every shape come out whole; depth, threads, small stacks,
 * forked children, handlers that walk, interrupt walks or leave them; and the memo of the last
 * stack says what a walk says, whatever was called and returned meanwhile.
 */
#include <check.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/base/hash.h"
#include "tests/unit/walk_shapes.h"

static bool is_optimized(void)
{
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	return true;
#else
	return false;
#endif
}

static void chains_of_all_shapes(void)
{
	for (int length = 0; length <= 30; length++)
		chain(length, 0123456701234567012345ull, check_complete);
	for (int shape = 0; shape < 8; shape++) {
		chain(30, 01111111111111111111111ull * (uint64_t)shape, check_complete);
		chain(29, 01111111111111111111111ull * (uint64_t)shape, check_complete);
	}
}

START_TEST(known_chains_are_whole)
{
	chains_of_all_shapes();
	ck_assert_uint_eq(checks, 31 + 16);
}
END_TEST

START_TEST(frames_are_counted_exactly)
{
	uint64_t pcs[REC_STACK_DEPTH_MAX];
	uint32_t truncated, whole = rec_stack_walk(pcs, REC_STACK_DEPTH_MAX, &truncated);

	ck_assert_uint_gt(whole, 3);
	ck_assert_uint_eq(truncated, 0);
	ck_assert_uint_eq(rec_stack_walk(pcs, whole, &truncated), whole);
	ck_assert_uint_eq(truncated, 0);
	ck_assert_uint_eq(rec_stack_walk(pcs, whole - 1, &truncated), whole - 1);
	ck_assert_uint_eq(truncated, 1);
	ck_assert_uint_eq(rec_stack_walk(pcs, 1, &truncated), 1);
	ck_assert_uint_eq(rec_stack_walk(pcs, 0, &truncated), 0);
	ck_assert_uint_eq(truncated, 1);
}
END_TEST

/* ---- The memo: random calls and returns between captures ---- */

static uint64_t dice;

static uint32_t throw_dice(uint32_t sides)
{
	dice += 0x9e3779b97f4a7c15ull;
	return (uint32_t)(hash_mix(dice) % sides);
}

/* The captured stack must be what a plain walk says, cut at the depth. */
static NOINLINE void compare_here(void)
{
	static uint64_t pcs[REC_STACK_DEPTH_MAX], kept[REC_DEPOT_BYTES_MAX / 8];
	uint32_t truncated, flags = 9, depth = rec_live.stack_depth;
	uint32_t id = rec_stack_capture(rec_thread_self());
	uint32_t count = rec_stack_walk(pcs, depth, &truncated);
	int bytes = rec_depot_read(&region, id, REC_DEPOT_STACK, kept, &flags);

	if (bytes != (int)count * 8 || memcmp(kept + 1, pcs + 1, (size_t)bytes - 8) != 0 ||
	    flags != truncated) {
		complain("captured", kept, bytes > 0 ? (uint32_t)bytes / 8 : 0);
		complain("walked", pcs, count);
		abort();
	}
	checks++;
}

static NOINLINE int wander(int depth);

static NOINLINE int wander_alloca(int depth)
{
	volatile char *room = alloca(throw_dice(6) * 16 + 16);

	room[0] = 1;
	return wander(depth) ^ room[0];
}

static NOINLINE int wander_plain(int depth)
{
	volatile int room[6] = { depth };

	return wander(depth) ^ room[0];
}

static NOINLINE int wander_same(int depth)
{
	return wander(depth) ^ 1;
}

/* At each level some captures, calls and returns; the last frames' slots are used again and again.
 */
static NOINLINE int wander(int depth)
{
	int r = 0;

	for (uint32_t turns = 1 + throw_dice(3); turns > 0 && checks < 60000; turns--) {
		if (throw_dice(3) == 0)
			compare_here();
		if (depth > 0 && throw_dice(8) != 0) {
			switch (throw_dice(3)) {
			case 0:
				r ^= wander_alloca(depth - 1);
				break;
			case 1:
				r ^= wander_plain(depth - 1);
				break;
			default:
				r ^= wander_same(depth - 1);
			}
		}
	}
	return r;
}

START_TEST(memo_never_lies)
{
	static const uint8_t depths[] = { 64, 12, 86, 87, 200, 1, 64 };

	rec_live.stack_depth = depths[_i];
	dice = (uint64_t)_i;
	while (checks < 20000)
		wander(_i == 6 ? 70 : 40);
}
END_TEST

/* ---- Depth ---- */

static NOINLINE int recurse(int n)
{
	volatile int keep = n;

	if (n == 0)
		compare_here();
	else
		recurse(n - 1);
	return keep;
}

START_TEST(depth_is_capped)
{
	for (int depth = 1; depth <= 255; depth += 3) {
		rec_live.stack_depth = (uint8_t)(depth > 200 ? 200 : depth);
		for (int n = 0; n < 260; n += 7)
			recurse(n);
	}
}
END_TEST

/* ---- Threads ---- */

static void *thread_chains(void *unused)
{
	ENTER();
	shadow_count = 0; /* its caller is libc */
	rec_thread_attach();
	chains_of_all_shapes();
	return unused;
}

START_TEST(threads_have_whole_stacks)
{
	pthread_t threads[8];

	/* As a constructor does: while a process joins, its other threads are not waited for long.
	 */
	ck_assert_uint_ne(rec_process_forked(), REC_NONE);
	for (int i = 0; i < 8; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, thread_chains, NULL), 0);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(checks, 8 * (31 + 16));
}
END_TEST

static void *thread_small(void *unused)
{
	shadow_count = 0;
	rec_thread_attach();
	chain(9, 0021021021, check_complete);
	return unused;
}

START_TEST(smallest_thread_survives)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (!is_optimized())
		return;
	pthread_attr_init(&attributes);
	ck_assert_int_eq(pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN), 0);
	ck_assert_int_eq(pthread_create(&thread, &attributes, thread_small, NULL), 0);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(checks, 1);
}
END_TEST

START_TEST(stack_given_by_the_program)
{
	size_t size = 256 << 10;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	ck_assert_int_eq(pthread_attr_setstack(&attributes, memory, size), 0);
	ck_assert_int_eq(pthread_create(&thread, &attributes, thread_chains, NULL), 0);
	pthread_join(thread, NULL);
	ck_assert_uint_gt(checks, 10);
}
END_TEST

START_TEST(forked_child_walks)
{
	int status;
	pid_t child;

	chain(20, 0123456, check_complete);
	child = fork();
	if (child == 0) {
		chain(20, 0123456, check_complete);
		chains_of_all_shapes();
		_exit(7);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}
END_TEST

/* ---- Signals ---- */

static volatile int handled;

static void on_signal_check(int signal)
{
	uint32_t before = shadow_count;

	(void)signal;
	/* Its return address is in libc; what was interrupted goes on in the shadow. */
	ENTER();
	handled++;
	chain(5, 0012, check_complete);
	LEAVE();
	ck_assert_uint_eq(shadow_count, before);
}

static void raise_here(void)
{
	ENTER();
	raise(SIGUSR1);
	LEAVE();
}

static void install(int signal, void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	ck_assert_int_eq(sigaction(signal, &action, NULL), 0);
}

static void use_alternate_stack(size_t size)
{
	char *memory = mmap(NULL, size + 3 * 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = { .ss_sp = memory + 4096, .ss_size = size };

	/* Unmapped before, and right behind where the size allows it. */
	ck_assert_ptr_ne(memory, MAP_FAILED);
	mprotect(memory, 4096, PROT_NONE);
	mprotect(memory + 4096 + ((size + 4095) & ~4095ul), 4096, PROT_NONE);
	ck_assert_int_eq(sigaltstack(&stack, NULL), 0);
}

START_TEST(handler_continues_into_what_it_interrupted)
{
	if (_i)
		use_alternate_stack(128 << 10);
	install(SIGUSR1, on_signal_check, _i ? SA_ONSTACK : 0);
	for (int i = 0; i < 20; i++)
		chain(20, 0123456701234567012345ull >> i, raise_here);
	ck_assert_int_eq(handled, 20);
}
END_TEST

static void on_signal_capture(int signal)
{
	(void)signal;
	handled++;
	rec_stack_capture(rec_thread_self());
}

/* The handler's room ends where the page below is unmapped: too much use of it is a fault. */
START_TEST(tiny_alternate_stack_survives)
{
	if (!is_optimized())
		return; /* a debugging or sanitizing build needs more than is promised */
	use_alternate_stack((getauxval(AT_MINSIGSTKSZ) + 512 + (size_t)_i * 64) & ~63ul);
	install(SIGUSR1, on_signal_capture, SA_ONSTACK);
	rec_stack_capture(rec_thread_self());
	for (int i = 0; i < 10; i++) {
		rec_cfi_invalidate();
		chain(10, 0123456701234567012345ull >> i, raise_here);
	}
	ck_assert_int_eq(handled, 10);
}
END_TEST

static volatile uint64_t flood_walks;
static sigjmp_buf flood_exit;
static volatile int flood_jumps;

static void on_flood(int signal)
{
	(void)signal;
	handled++;
	flood_walks += rec_stack_capture(rec_thread_self()) != 0;
	if (flood_jumps) {
		flood_jumps = 0;
		siglongjmp(flood_exit, 1);
	}
}

static uint64_t captured_well, captured_not;

/* A capture under fire: nothing (a handler stood in the way) or the truth. */
static NOINLINE void capture_in_flood(void)
{
	static uint64_t kept[REC_DEPOT_BYTES_MAX / 8];
	uint32_t id;
	int bytes;

	ENTER();
	id = rec_stack_capture(rec_thread_self());
	bytes = id ? rec_depot_read(&region, id, REC_DEPOT_STACK, kept, NULL) : 0;
	captured_not += id == 0;
	captured_well += id != 0;
	if (id != 0 && (bytes < 8 || !is_true(kept, (uint32_t)bytes / 8, 1))) {
		complain("flood", kept, bytes > 0 ? (uint32_t)bytes / 8 : 0);
		abort();
	}
	LEAVE();
}

static void *shoot(void *target)
{
	while (!__atomic_load_n(&captured_not, __ATOMIC_RELAXED) || captured_well < 100000) {
		pthread_kill(*(pthread_t *)target, SIGUSR2);
		for (int i = 0; i < 200; i++)
			__builtin_ia32_pause();
		if (__atomic_load_n(&captured_well, __ATOMIC_RELAXED) >= 100000)
			break;
	}
	return NULL;
}

START_TEST(handlers_walk_while_walks_go_on)
{
	pthread_t self = pthread_self(), shooter;

	if (_i)
		use_alternate_stack(128 << 10);
	install(SIGUSR2, on_flood, _i ? SA_ONSTACK | SA_RESTART : SA_RESTART);
	capture_in_flood();
	ck_assert_int_eq(pthread_create(&shooter, NULL, shoot, &self), 0);
	for (int i = 0; captured_well < 100000; i++)
		chain(i % 25, 0123456701234567012345ull >> i % 40, capture_in_flood);
	pthread_join(shooter, NULL);
	ck_assert_int_gt(handled, 10);
	ck_assert_uint_gt(flood_walks, 0);
}
END_TEST

/* A walk that a handler leaves for ever must not cost the thread its stacks. */
START_TEST(walks_left_by_siglongjmp_are_forgotten)
{
	uint32_t truncated;
	uint64_t pcs[8];

	for (volatile int i = 0; i < 300; i++) {
		volatile uint32_t kept = shadow_count;
		struct itimerval timer = { .it_value = { .tv_usec = 50 + i } };

		install(SIGALRM, on_flood, SA_NODEFER);
		flood_jumps = 1;
		if (sigsetjmp(flood_exit, 1) == 0) {
			setitimer(ITIMER_REAL, &timer, NULL);
			for (;;) {
				rec_cfi_invalidate();
				rec_stack_capture(rec_thread_self());
			}
		}
		shadow_count = kept;
		for (int n = 0; n < 70; n++)
			if (rec_stack_capture(rec_thread_self()))
				break;
		check_here(true);
	}
	ck_assert_uint_gt(rec_stack_walk(pcs, 8, &truncated), 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stackwalk");
	TCase *tests = tcase_create("stackwalk");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, known_chains_are_whole);
	tcase_add_test(tests, frames_are_counted_exactly);
	tcase_add_loop_test(tests, memo_never_lies, 0, 7);
	tcase_add_test(tests, depth_is_capped);
	tcase_add_test(tests, threads_have_whole_stacks);
	tcase_add_test(tests, smallest_thread_survives);
	tcase_add_test(tests, stack_given_by_the_program);
	tcase_add_test(tests, forked_child_walks);
	tcase_add_loop_test(tests, handler_continues_into_what_it_interrupted, 0, 2);
	tcase_add_loop_test(tests, tiny_alternate_stack_survives, 0, 32);
	tcase_add_loop_test(tests, handlers_walk_while_walks_go_on, 0, 2);
	tcase_add_test(tests, walks_left_by_siglongjmp_are_forgotten);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
