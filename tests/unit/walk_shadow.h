/*
 * Functions that keep a shadow of their stack, of every shape a compiler makes, and the check that
 * a walk and a captured stack hold exactly that: the truth for the tests of the walker.
 *
 * In: ENTER() and LEAVE() in each function. Out: check_here(), which ends the test when it is not
 * so.
 */
#ifndef HOLTER_TESTS_WALK_SHADOW_H
#define HOLTER_TESTS_WALK_SHADOW_H

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

#endif
