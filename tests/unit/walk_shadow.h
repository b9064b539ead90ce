/*
 * Functions that keep a shadow of their stack, of every shape a compiler makes, and the check that
 * a walk and a captured stack hold exactly that: the truth for the tests of the walker.
 *
 * In: chain() with a length, shapes and a function to call at the end. Never here: tests.
 */
#ifndef HOLTER_TESTS_WALK_SHADOW_H
#define HOLTER_TESTS_WALK_SHADOW_H

#include <alloca.h>
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "recorder/capture/capture.h"
#include "recorder/capture/cfi.h"
#include "recorder/capture/stackwalk.h"

#define SHADOW_MAX 192
#define NOINLINE __attribute__((noinline))

static struct rec_region region;
static uint64_t exe_low, exe_high;
static uint64_t checks; /* walks compared */

/* Return addresses of the functions under way, outermost first. */
static __thread uint64_t shadow[SHADOW_MAX];
static __thread uint32_t shadow_count;

#define ENTER() (shadow[shadow_count++] = (uint64_t)__builtin_return_address(0))
#define LEAVE() ((void)shadow_count--)

static void setup(void)
{
	ck_assert_int_eq(rec_region_create(&region, 1u << 20, (uint32_t)getpid(), 1), 0);
	unlink(region.header->path);
	region.header->children = 1;
	ck_assert_int_eq(rec_process_attach(&region), 0);
	rec_stack_own_code(1, 1);
	ck_assert(rec_cfi_object((uint64_t)&setup, &exe_low, &exe_high));
	rec_live.stack_depth = 200;
}

static bool in_exe(uint64_t pc)
{
	return pc >= exe_low && pc < exe_high;
}

/*
 * Does the walk hold the shadow stack, in order, without a foreign frame of this program between?
 * Code of libraries may lie between; frames [0, skip) are the checker's own.
 */
static bool is_true(const uint64_t *pcs, uint32_t count, uint32_t skip)
{
	uint32_t left = shadow_count;

	for (uint32_t i = skip; i < count && left > 0; i++) {
		if (pcs[i] == shadow[left - 1])
			left--;
		else if (in_exe(pcs[i]) && in_exe(pcs[i - 1]))
			return false;
	}
	return left == 0;
}

static void complain(const char *what, const uint64_t *pcs, uint32_t count)
{
	fprintf(stderr, "%s: %u frames, shadow %u\n", what, count, shadow_count);
	for (uint32_t i = 0; i < count || i < shadow_count; i++)
		fprintf(stderr, "  %2u %#lx %#lx\n", i, i < count ? pcs[i] : 0,
			i < shadow_count ? shadow[shadow_count - 1 - i] : 0);
}

/* Walks and captures here; both must be the truth. Returns the captured stack's frames. */
static NOINLINE uint32_t check_here(bool is_complete)
{
	static __thread uint64_t pcs[REC_STACK_DEPTH_MAX], kept[REC_DEPOT_BYTES_MAX / 8];
	uint32_t truncated, flags = 9, count, id;
	int bytes;

	ENTER();
	errno = 1234;
	count = rec_stack_walk(pcs, REC_STACK_DEPTH_MAX, &truncated);
	id = rec_stack_capture(rec_thread_self());
	ck_assert_int_eq(errno, 1234);
	if (!is_true(pcs, count, 1) || truncated == is_complete) {
		complain("walk", pcs, count);
		abort();
	}
	bytes = rec_depot_read(&region, id, REC_DEPOT_STACK, kept, &flags);
	if (bytes != (int)count * 8 || memcmp(kept + 1, pcs + 1, (size_t)bytes - 8) != 0 ||
	    flags != truncated) {
		fprintf(stderr, "id %#x, %d bytes, flags %u\n", id, bytes, flags);
		complain("captured", kept, bytes > 0 ? (uint32_t)bytes / 8 : 0);
		complain("walked", pcs, count);
		abort();
	}
	__atomic_fetch_add(&checks, 1, __ATOMIC_RELAXED);
	LEAVE();
	return count;
}

/* ---- Functions of every shape; `left` links follow, then `last` is called ---- */

static __thread void (*last)(void);
static __thread uint64_t order; /* which shapes come: 3 bits each, rotating */
static NOINLINE int link_next(int left, int a, int b, int c, int d, int e, int f, int g);

static NOINLINE int shape_plain(int left)
{
	ENTER();
	int r = link_next(left, 1, 2, 3, 4, 5, 6, 7) + left;

	LEAVE();
	return r;
}

/* CFA by rbp, the room of a size that changes. */
static NOINLINE int shape_alloca(int left)
{
	ENTER();
	volatile char *room = alloca((size_t)(left % 7) * 48 + 8);

	room[0] = (char)left;
	int r = link_next(left, 1, 2, 3, 4, 5, 6, 7) + room[0];

	LEAVE();
	return r;
}

/* All callee-saved registers live over the call, and arguments on the stack. */
static NOINLINE int shape_pushes(int left)
{
	ENTER();
	int a = left * 3, b = left * 5, c = left * 7, d = left * 11, e = left * 13, f = left * 17;
	int r = link_next(left, a, b, c, d, e, f, a ^ b);

	LEAVE();
	return r + a + b * c + d * e + f;
}

static NOINLINE int shape_big(int left)
{
	ENTER();
	volatile char room[3000];

	room[left] = 1;
	int r = link_next(left, 1, 2, 3, 4, 5, 6, 7) + room[left];

	LEAVE();
	return r;
}

/* The stack realigned: CFA by an expression. */
static NOINLINE int shape_aligned(int left)
{
	ENTER();
	volatile char room[100] __attribute__((aligned(64)));

	room[left % 100] = 1;
	int r = link_next(left, 1, 2, 3, 4, 5, 6, (int)(uintptr_t)room & 63) + room[left % 100];

	LEAVE();
	return r;
}

static __thread int sort_left;

static int shape_compare(const void *a, const void *b)
{
	ENTER();
	int r = 0;

	if (sort_left >= 0) {
		int left = sort_left;

		sort_left = -1;
		r = link_next(left, 1, 2, 3, 4, 5, 6, 7);
	}
	LEAVE();
	return (*(const int *)a > *(const int *)b) + (r & 0);
}

/* Through libc and back: a callback of qsort, which is called by way of the PLT. */
static NOINLINE int shape_qsort(int left)
{
	int numbers[2] = { 2, 1 };

	ENTER();
	sort_left = left;
	qsort(numbers, 2, sizeof(int), shape_compare);
	LEAVE();
	return numbers[0];
}

static NOINLINE int link_next(int left, int a, int b, int c, int d, int e, int f, int g)
{
	static int (*const shapes[8])(int) = { shape_plain,  shape_alloca,  shape_pushes,
					       shape_big,    shape_aligned, shape_qsort,
					       shape_pushes, shape_alloca };
	int r;

	ENTER();
	if (left <= 0) {
		last();
		r = 1;
	} else {
		int shape = (int)(order & 7);

		order = order >> 3 | order << 61;
		r = shapes[shape](left - 1);
	}
	LEAVE();
	return r + a + b + c + d + e + f + g;
}

/* A chain of `length` links of the shapes in `order`, ending with `what`. */
static inline __attribute__((always_inline)) void chain(int length, uint64_t shapes,
							void (*what)(void))
{
	order = shapes;
	last = what;
	link_next(length, 1, 2, 3, 4, 5, 6, 7);
}

static void check_complete(void)
{
	ENTER();
	check_here(true);
	LEAVE();
}

#endif
