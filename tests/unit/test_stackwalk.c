/*
 * The stack walker: chains of calls of every shape come out whole, against a shadow stack that the
 * called functions keep themselves; threads, small stacks, alternate stacks, coroutines, code made
 * at run time, garbage in rbp, libraries that come and go, handlers that interrupt walks or leave
 * them.
 *
 * Captured stacks (memo, depot) are compared with the same truth as plain walks, each time.
 */
#include <alloca.h>
#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "recorder/base/hash.h"
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

static bool is_optimized(void)
{
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__)
	return true;
#else
	return false;
#endif
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

/* ---- Stacks of the program's own making ---- */

static ucontext_t main_context, coroutine_context;
static int coroutine_length;

static void coroutine(void)
{
	uint32_t kept = shadow_count;

	shadow_count = 0; /* called by libc's __start_context */
	chain(coroutine_length, 0123456701234567012345ull, check_complete);
	swapcontext(&coroutine_context, &main_context);
	chain(coroutine_length / 2, 0012345, check_complete);
	shadow_count = kept;
}

/* Both neighbours of the stack are unmapped. */
static char *isolated_stack(size_t size)
{
	char *memory = mmap(NULL, size + 2 * 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(memory, MAP_FAILED);
	munmap(memory, 4096);
	munmap(memory + 4096 + size, 4096);
	return memory + 4096;
}

START_TEST(coroutines_have_whole_stacks)
{
	uint32_t kept = shadow_count;

	for (coroutine_length = 1; coroutine_length < 28; coroutine_length++) {
		size_t size = (size_t)(64 + coroutine_length % 3 * 4) << 10;
		char *stack = isolated_stack(size);

		getcontext(&coroutine_context);
		coroutine_context.uc_stack.ss_sp = stack;
		coroutine_context.uc_stack.ss_size = size;
		coroutine_context.uc_link = &main_context;
		makecontext(&coroutine_context, coroutine, 0);
		swapcontext(&main_context, &coroutine_context);
		shadow_count = kept;
		chain(10, 0123, check_complete);
		swapcontext(&main_context, &coroutine_context);
		shadow_count = kept;
		chain(11, 0123, check_complete);
		munmap(stack, size);
	}
}
END_TEST

/* ---- Code without call frame information ---- */

typedef int made_code(int (*call)(void), uint64_t rbp);

static made_code *make_code(const uint8_t *bytes, size_t size)
{
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(page, MAP_FAILED);
	memcpy(page + 64, bytes, size);
	return (made_code *)(page + 64);
}

static uint32_t made_frames;
static uint64_t made_low;

static int call_from_made(void)
{
	uint64_t pcs[64];
	uint32_t truncated, count;

	for (int i = 0; i < 3; i++) {
		count = rec_stack_walk(pcs, 64, &truncated);
		rec_stack_capture(rec_thread_self());
	}
	ck_assert_uint_gt(count, 1);
	ck_assert_uint_eq(pcs[1] & ~4095ul, made_low); /* the made frame itself is always there */
	made_frames = count | truncated << 16;
	return 5;
}

/* push rbp; mov rsp, rbp; call *rdi; pop rbp; ret */
static const uint8_t framed[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
/* push rbp; mov rsi, rbp; call *rdi; pop rbp; ret: rbp is what the test wants */
static const uint8_t garbage[] = { 0x55, 0x48, 0x89, 0xf5, 0xff, 0xd7, 0x5d, 0xc3 };

START_TEST(made_code_with_frame_pointer)
{
	made_code *code = make_code(framed, sizeof(framed));
	uint64_t pcs[64];
	uint32_t truncated, count = rec_stack_walk(pcs, 64, &truncated);

	made_low = (uint64_t)code & ~4095ul;
	ck_assert_int_eq(code(call_from_made, 0), 5);
	ck_assert_uint_eq(made_frames & 0xffff, count + 2);
	ck_assert_uint_eq(made_frames >> 16, 0);
}
END_TEST

START_TEST(garbage_frame_pointers_do_not_fault)
{
	made_code *code = make_code(garbage, sizeof(garbage));
	char *page = isolated_stack(4096);
	uint64_t here = (uint64_t)__builtin_frame_address(0);
	uint64_t values[] = { 1,
			      8,
			      4096,
			      (uint64_t)page,
			      (uint64_t)page - 8,
			      (uint64_t)page + 4088,
			      (uint64_t)page + 4095,
			      (uint64_t)page + 4096,
			      UINT64_MAX,
			      UINT64_MAX - 7,
			      INT64_MAX,
			      0xffff800000000000ull,
			      0x7ffffffff000ull,
			      here + 1,
			      here + 8,
			      here & ~4095ul,
			      here + (1 << 20),
			      here + (1ull << 29),
			      (uint64_t)&garbage_frame_pointers_do_not_fault };

	made_low = (uint64_t)code & ~4095ul;
	memset(page, 0x41, 4096);
	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		ck_assert_int_eq(code(call_from_made, values[i]), 5);
	for (int i = 0; i < 20000; i++) {
		dice += 0x9e3779b97f4a7c15ull;
		ck_assert_int_eq(code(call_from_made, hash_mix(dice) >> i % 40), 5);
		ck_assert_int_eq(code(call_from_made, here - 4096 + (hash_mix(dice) & 0x1fff)), 5);
	}
}
END_TEST

/* The same on a stack whose every neighbour is unmapped. */
static void garbage_coroutine(void)
{
	made_code *code = make_code(garbage, sizeof(garbage));
	uint64_t low = (uint64_t)coroutine_context.uc_stack.ss_sp;

	made_low = (uint64_t)code & ~4095ul;
	for (uint64_t rbp = low - 64; rbp < low + 16384 + 64; rbp++)
		if (rbp % 8 == 0 || rbp % 61 == 0)
			code(call_from_made, rbp);
}

START_TEST(garbage_at_the_edge_of_a_stack)
{
	char *stack = isolated_stack(16384);

	getcontext(&coroutine_context);
	coroutine_context.uc_stack.ss_sp = stack;
	coroutine_context.uc_stack.ss_size = 16384;
	coroutine_context.uc_link = &main_context;
	makecontext(&coroutine_context, garbage_coroutine, 0);
	swapcontext(&main_context, &coroutine_context);
}
END_TEST

/* ---- Libraries that come and go ---- */

#define LIBRARY(frame)                                                                             \
	"int pass(int (*f)(void *), void *a); int pass(int (*f)(void *), void *a)"                 \
	"{ volatile char room[" frame "]; room[0] = 1; return f(a) + room[0]; }\n"
static char library_path[2][64];
static volatile int storm_over;

static void make_libraries(void)
{
	static const char *const text[2] = { LIBRARY("24"), LIBRARY("600") };
	char folder[] = "/tmp/holter-walk-XXXXXX", command[256];

	ck_assert_ptr_nonnull(mkdtemp(folder));
	for (int i = 0; i < 2; i++) {
		FILE *source;

		snprintf(library_path[i], sizeof(library_path[i]), "%s/%d.so", folder, i);
		snprintf(command, sizeof(command),
			 "cc -O2 -fomit-frame-pointer -shared -fPIC -xc -o %s -", library_path[i]);
		source = popen(command, "w");
		ck_assert_ptr_nonnull(source);
		fputs(text[i], source);
		ck_assert_int_eq(pclose(source), 0);
	}
}

static int called_by_library(void *unused)
{
	(void)unused;
	ENTER();
	check_here(true);
	LEAVE();
	return 1;
}

static NOINLINE void visit_library(int which)
{
	void *library = dlopen(library_path[which], RTLD_NOW);
	int (*pass)(int (*)(void *), void *);

	ENTER();
	ck_assert_ptr_nonnull(library);
	rec_cfi_refresh();
	*(void **)&pass = dlsym(library, "pass");
	ck_assert_int_eq(pass(called_by_library, NULL), 2);
	rec_cfi_invalidate();
	dlclose(library);
	rec_cfi_invalidate();
	LEAVE();
}

static void *storm(void *number)
{
	shadow_count = 0;
	rec_thread_attach();
	for (uint32_t i = 0; !storm_over; i++)
		visit_library((int)(i + (uintptr_t)number) & 1);
	return NULL;
}

static void *bystander(void *unused)
{
	shadow_count = 0;
	rec_thread_attach();
	for (uint32_t i = 0; !storm_over; i++)
		chain((int)(i % 25), 0123456701234567012345ull >> i % 40, check_complete);
	return unused;
}

/* The same address has different rules in turn; walkers stand in the library, others beside. */
START_TEST(libraries_come_and_go)
{
	pthread_t threads[4];

	rec_cfi_use_snapshot(_i != 0);
	make_libraries();
	for (int i = 0; i < 200; i++)
		visit_library(i & 1);
	for (uintptr_t i = 0; i < 4; i++)
		ck_assert_int_eq(
			pthread_create(&threads[i], NULL, i < 3 ? storm : bystander, (void *)i), 0);
	sleep(getenv("HOLTER_LONG") ? 20 : 2);
	storm_over = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_gt(checks, 400);
	for (int i = 0; i < 2; i++)
		unlink(library_path[i]);
	*strrchr(library_path[0], '/') = 0;
	rmdir(library_path[0]);
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
	tcase_add_test(tests, coroutines_have_whole_stacks);
	tcase_add_test(tests, made_code_with_frame_pointer);
	tcase_add_test(tests, garbage_frame_pointers_do_not_fault);
	tcase_add_test(tests, garbage_at_the_edge_of_a_stack);
	tcase_add_loop_test(tests, libraries_come_and_go, 0, 2);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
