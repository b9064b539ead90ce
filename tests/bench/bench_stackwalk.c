/*
 * Cost of a stack of 22 frames without frame pointers: the captured stack (walk, memo, depot) and
 * the walk alone, beside unw_backtrace() and glibc's backtrace() in the same run.
 *
 * Out: one line a case: `stackwalk CASE NS`; each the least of several interleaved rounds, the cost
 * of the calls that build the stack taken off. In: optional number of rounds.
 *
 * link: -lunwind
 */
#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <libunwind.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "recorder/capture/capture.h"
#include "recorder/capture/cfi.h"
#include "recorder/capture/stackwalk.h"

#define REPEAT 4096
#define DEPTH 22
#define NOINLINE __attribute__((noinline))

static struct rec_region region;
static struct rec_thread *thread;
static volatile uint64_t sink;
static uint64_t pcs[128];
static int repeat_leaf = 1;
static void (*action)(void);
/* libunwind exports a function of the same name, so it is asked for by library. */
static int (*libc_backtrace)(void **, int);

static void do_nothing(void)
{
	sink++;
}

static void do_capture(void)
{
	sink += rec_stack_capture(thread);
}

static void do_walk(void)
{
	uint32_t truncated;

	sink += rec_stack_walk(pcs, 64, &truncated);
}

static void do_unwind(void)
{
	sink += (uint64_t)unw_backtrace((void **)pcs, 64);
}

static void do_backtrace(void)
{
	sink += (uint64_t)libc_backtrace((void **)pcs, 64);
}

/* Two leaves at the same depth that differ in address only. */
static NOINLINE int leaf_a(int n)
{
	for (int i = 0; i < repeat_leaf; i++)
		action();
	return n + (int)sink;
}

static NOINLINE int leaf_b(int n)
{
	for (int i = 0; i < repeat_leaf; i++)
		action();
	return n - (int)sink;
}

static int alternate;

static NOINLINE int leaf(int n)
{
	if (!alternate)
		return leaf_a(n) + 1;
	for (int i = 0; i < alternate; i += 2)
		n += leaf_a(n) + leaf_b(n);
	return n;
}

/* Chains of functions with frames of different sizes; each is a frame of its own. */
#define LINK(name, next, words)                                                                    \
	static NOINLINE int name(int n)                                                            \
	{                                                                                          \
		volatile int room[words];                                                          \
		room[0] = n;                                                                       \
		return next(n + 1) + room[0];                                                      \
	}
#define CHAIN(p)                                                                                   \
	LINK(p##0, leaf, 1)                                                                        \
	LINK(p##1, p##0, 5)                                                                        \
	LINK(p##2, p##1, 9)                                                                        \
	LINK(p##3, p##2, 1)                                                                        \
	LINK(p##4, p##3, 30)                                                                       \
	LINK(p##5, p##4, 2)                                                                        \
	LINK(p##6, p##5, 7)                                                                        \
	LINK(p##7, p##6, 1)                                                                        \
	LINK(p##8, p##7, 64)                                                                       \
	LINK(p##9, p##8, 3)                                                                        \
	LINK(p##10, p##9, 11)                                                                      \
	LINK(p##11, p##10, 1)                                                                      \
	LINK(p##12, p##11, 5)                                                                      \
	LINK(p##13, p##12, 14)                                                                     \
	LINK(p##14, p##13, 1)
CHAIN(one)
CHAIN(two)

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* ns of one action; `way`: 0 same stack, 1 other leaf, 2 all different. */
static double measure(int way, void (*what)(void))
{
	double start;

	action = what;
	repeat_leaf = way == 0 ? REPEAT : 1;
	alternate = way == 1 ? REPEAT : 0;
	start = now_ns();
	if (way < 2) {
		sink += (uint64_t)one14(1);
	} else {
		for (int i = 0; i < REPEAT; i += 2)
			sink += (uint64_t)(one14(1) + two14(1));
	}
	return (now_ns() - start) / REPEAT;
}

/* ns a frame of a walk with an empty cache. */
static double measure_cold(void)
{
	double best = 1e9;

	action = do_walk;
	repeat_leaf = 1;
	alternate = 0;
	for (int i = 0; i < 50; i++) {
		double start;

		rec_cfi_invalidate();
		start = now_ns();
		sink += (uint64_t)one14(1);
		start = now_ns() - start;
		best = start < best ? start : best;
	}
	return best / DEPTH;
}

static const struct {
	const char *name;
	void (*what)(void);
} subjects[] = { { "capture", do_capture },
		 { "walk", do_walk },
		 { "unw_backtrace", do_unwind },
		 { "backtrace", do_backtrace },
		 { "nothing", do_nothing } };
static const char *const ways[] = { "same", "leaf", "different" };

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 15;
	double best[5][3];
	uint32_t truncated;

	if (rec_region_create(&region, 16u << 20, (uint32_t)getpid(), 1) != 0 ||
	    rec_process_attach(&region) != 0)
		return 1;
	unlink(region.header->path);
	rec_stack_own_code(1, 1);
	*(void **)&libc_backtrace = dlsym(dlopen("libc.so.6", RTLD_LAZY), "backtrace");
	if (!libc_backtrace)
		return 1;
	thread = rec_thread_attach();
	for (int i = 0; i < 15; i++)
		best[i / 3][i % 3] = 1e9;
	for (int round = 0; round < rounds; round++)
		for (int i = 0; i < 15; i++) {
			double cost = measure(i % 3, subjects[i / 3].what);

			if (cost < best[i / 3][i % 3])
				best[i / 3][i % 3] = cost;
		}
	for (int i = 0; i < 12; i++)
		printf("stackwalk %s-%s %.1f\n", subjects[i / 3].name, ways[i % 3],
		       best[i / 3][i % 3] - best[4][i % 3]);
	printf("stackwalk cold-frame %.1f\n", measure_cold());
	action = do_walk;
	sink += (uint64_t)one14(1);
	printf("stackwalk frames %u\n", rec_stack_walk(pcs, 64, &truncated) + 18);
	return 0;
}
