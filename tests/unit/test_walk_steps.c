/*
 * Every instruction of a piece of work as a place to walk from: the processor's trap flag raises a
 * signal after each one, and its handler compares the walk with libunwind's, frame by frame.
 *
 * So prologues, epilogues, the PLT, lazy binding, signal frames and everything that a sampling test
 * meets only by chance is met for certain.
 *
 * link: -lunwind
 */
#define UNW_LOCAL_ONLY
#include <alloca.h>
#include <check.h>
#include <libunwind.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "recorder/capture/capture.h"
#include "recorder/capture/cfi.h"
#include "recorder/capture/stackwalk.h"

#define DEPTH 100u
#define NOINLINE __attribute__((noinline))

static uint64_t steps, different, deeper, shorter;
static struct rec_region region;
static int say = 5;

static void complain(const char *what, const uint64_t *ours, uint32_t count, const uint64_t *theirs,
		     uint32_t count_theirs)
{
	if (say-- <= 0)
		return;
	fprintf(stderr, "step %lu: %s\n", steps, what);
	for (uint32_t i = 0; i < count || i < count_theirs; i++) {
		uint64_t low = 0, high = 0;

		rec_cfi_object(i < count ? ours[i] : theirs[i], &low, &high);
		fprintf(stderr, "  %2u %#lx %#lx (%#lx)\n", i, i < count ? ours[i] : 0,
			i < count_theirs ? theirs[i] : 0, (i < count ? ours[i] : theirs[i]) - low);
	}
}

static void on_trap(int signal)
{
	static uint64_t ours[DEPTH], theirs[DEPTH], kept[REC_DEPOT_BYTES_MAX / 8];
	uint32_t truncated, count, count_theirs = 0, equal = 1;
	uint32_t id = rec_stack_capture(rec_thread_self());
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t pc;
	int bytes;

	(void)signal;
	steps++;
	count = rec_stack_walk(ours, DEPTH, &truncated);
	unw_getcontext(&context);
	unw_init_local(&cursor, &context);
	do {
		unw_get_reg(&cursor, UNW_REG_IP, &pc);
		if (pc == 0)
			break;
		theirs[count_theirs++] = pc;
	} while (count_theirs < DEPTH && unw_step(&cursor) > 0);
	/* The first frame is this handler, at another line. One that a signal interrupted is, in
	 * ours, one further, as if it were a return address. */
	while (equal < count && equal < count_theirs && ours[equal] - theirs[equal] <= (equal > 0))
		equal++;
	if (equal < count && equal == count_theirs) {
		deeper++;
		complain("libunwind stops", ours, count, theirs, count_theirs);
	} else if (equal == count && equal < count_theirs && truncated) {
		shorter++;
	} else if (equal < count_theirs || truncated) {
		different++;
		complain("different", ours, count, theirs, count_theirs);
	}
	bytes = rec_depot_read(&region, id, REC_DEPOT_STACK, kept, NULL);
	if (bytes != (int)count * 8 || memcmp(kept + 1, ours + 1, (size_t)bytes - 8) != 0) {
		different++;
		complain("captured", kept, bytes > 0 ? (uint32_t)bytes / 8 : 0, ours, count);
	}
}

/* With call frame information, since their own instructions are steps too. */
void step_on(void);
void step_off(void);
__asm__(".macro step name, op, bits\n"
	".type \\name, @function\n"
	"\\name:\n"
	".cfi_startproc\n"
	"pushfq\n"
	".cfi_adjust_cfa_offset 8\n"
	"\\op $\\bits, (%rsp)\n"
	"popfq\n"
	".cfi_adjust_cfa_offset -8\n"
	"ret\n"
	".cfi_endproc\n"
	".size \\name, . - \\name\n"
	".endm\n"
	".pushsection .text\n"
	"step step_on, orl, 0x100\n"
	"step step_off, andl, ~0x100\n"
	".popsection\n");

static NOINLINE int leaf(int a, int b, int c, int d, int e, int f, int g, int h)
{
	return a + b * c - d + e * f + g - h;
}

static NOINLINE int with_alloca(int n)
{
	volatile char *room = alloca((size_t)n * 16);

	room[0] = (char)n;
	return leaf(n, room[0], 3, 4, 5, 6, 7, 8);
}

static NOINLINE int with_alignment(int n)
{
	volatile char room[200] __attribute__((aligned(64)));

	room[n] = 1;
	return with_alloca(n) + leaf(1, 2, 3, n, 5, 6, 7, room[n]);
}

static NOINLINE int with_early_return(int n)
{
	int k = n * 3;

	if (n < 2)
		return leaf(n, 1, 2, 3, 4, 5, 6, 7);
	k += with_early_return(n - 1);
	if (k & 1)
		return k ^ leaf(n, k, 2, 3, 4, 5, 6, 7);
	return with_alignment(n) + k;
}

static int compare_ints(const void *a, const void *b)
{
	return leaf(*(const int *)a, 1, 0, *(const int *)b, 0, 0, 0, 0);
}

/* First calls of these go through lazy binding, where the program is so linked. */
static NOINLINE int work(int n)
{
	int numbers[] = { 5, 3, 9, 1, 7 };
	wchar_t wide[8];
	char text[64];
	int r = with_early_return(n);

	qsort(numbers, 5, sizeof(int), compare_ints);
	r += numbers[n % 5] + (int)strtol("1234", NULL, 10);
	snprintf(text, sizeof(text), "%d %s %5.2f", r, "x", 3.25);
	r += (int)strlen(text) + (int)labs(-5) + (int)wcslen(wmemset(wide, 0, 8));
	r += (int)difftime(5, 3) + (int)strtod("2.5", NULL) + (int)ffsll(64);
	free(malloc(100));
	r += getpid() & 1;
	return r;
}

static sigjmp_buf way_out;

static NOINLINE void leave(void)
{
	siglongjmp(way_out, 1);
}

static void on_user(int signal)
{
	leaf(signal, 1, 2, 3, 4, 5, 6, 7);
}

static void setup(void)
{
	struct sigaction action = { .sa_handler = on_trap, .sa_flags = SA_NODEFER };

	ck_assert_int_eq(rec_region_create(&region, 1u << 20, (uint32_t)getpid(), 1), 0);
	unlink(region.header->path);
	ck_assert_int_eq(rec_process_attach(&region), 0);
	rec_live.stack_depth = DEPTH;
	rec_stack_own_code(1, 1);
	rec_thread_attach();
	ck_assert_int_eq(sigaction(SIGTRAP, &action, NULL), 0);
}

static void judge(uint64_t at_least)
{
	ck_assert_uint_ge(steps, at_least);
	ck_assert_uint_eq(different, 0);
	ck_assert_uint_eq(deeper, 0);
	ck_assert_uint_eq(shorter, 0);
}

START_TEST(every_instruction_of_calls)
{
	volatile int r;

	if (_i)
		rec_live.stack_depth = 64;
	step_on();
	r = work(4);
	step_off();
	ck_assert_int_ne(r, 0);
	judge(2000);
}
END_TEST

START_TEST(every_instruction_of_a_handler)
{
	signal(SIGUSR1, on_user);
	step_on();
	raise(SIGUSR1);
	step_off();
	judge(20);
}
END_TEST

/*
 * In the last instructions of longjmp its description counts from rdi and finds the return address
 * in a register: there we stop, and say so, where libunwind finds one frame and then a wrong one.
 */
START_TEST(every_instruction_of_a_long_jump)
{
	if (sigsetjmp(way_out, 1) == 0) {
		step_on();
		leave();
	}
	step_off();
	ck_assert_uint_ge(steps, 20);
	ck_assert_uint_eq(different, 0);
	ck_assert_uint_le(shorter, 12);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("walk_steps");
	TCase *tests = tcase_create("walk_steps");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_set_timeout(tests, 120);
	tcase_add_loop_test(tests, every_instruction_of_calls, 0, 2);
	tcase_add_test(tests, every_instruction_of_a_handler);
	tcase_add_test(tests, every_instruction_of_a_long_jump);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
