/*
 * Functions of every shape that a compiler makes, which keep their shadow (walk_shadow.h).
 *
 * In: chain() with a length, shapes and a function to call at the end. Never here: tests.
 */
#ifndef HOLTER_TESTS_WALK_SHAPES_H
#define HOLTER_TESTS_WALK_SHAPES_H

#include <alloca.h>

#include "tests/unit/walk_shadow.h"

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
