/*
 * The stack walker where nothing is usual: coroutines, code made at run time, garbage in rbp,
 * stacks whose neighbours are unmapped, frames counted from rbx, libraries that come and go.
 */
#include <check.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "recorder/base/hash.h"
#include "tests/unit/walk_shapes.h"

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
	for (uint64_t i = 0; i < 20000; i++) {
		ck_assert_int_eq(code(call_from_made, hash_mix(i) >> i % 40), 5);
		ck_assert_int_eq(code(call_from_made, here - 4096 + (hash_mix(i) & 0x1fff)), 5);
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

/* ---- A frame counted from rbx, as in the dynamic linker's lazy binding ---- */

int call_by_rbx(int (*call)(void *));
uint64_t rbx_return; /* the return address of its last call */
__asm__(".pushsection .text\n"
	".type call_by_rbx, @function\n"
	"call_by_rbx:\n"
	".cfi_startproc\n"
	"mov (%rsp), %rax\n"
	"mov %rax, rbx_return(%rip)\n"
	"push %rbx\n"
	".cfi_adjust_cfa_offset 8\n"
	".cfi_offset %rbx, -16\n"
	"mov %rsp, %rbx\n"
	".cfi_def_cfa_register %rbx\n"
	"sub $200, %rsp\n"
	"and $-64, %rsp\n"
	"call *%rdi\n"
	"mov %rbx, %rsp\n"
	".cfi_def_cfa_register %rsp\n"
	"pop %rbx\n"
	".cfi_adjust_cfa_offset -8\n"
	".cfi_restore %rbx\n"
	"ret\n"
	".cfi_endproc\n"
	".size call_by_rbx, . - call_by_rbx\n"
	".popsection\n");

static int checked_by_rbx(void *unused)
{
	(void)unused;
	shadow[shadow_count++] = rbx_return;
	ENTER();
	check_here(true);
	LEAVE();
	LEAVE();
	return 1;
}

static void link_by_rbx(void)
{
	ENTER();
	call_by_rbx(checked_by_rbx);
	LEAVE();
}

static int called_by_rbx(void *unused)
{
	(void)unused;
	shadow[shadow_count++] = rbx_return;
	ENTER();
	chain(6, 0215021, link_by_rbx); /* rbx is used meanwhile */
	LEAVE();
	LEAVE();
	return 1;
}

START_TEST(frames_counted_from_rbx)
{
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(call_by_rbx(called_by_rbx), 1);
	ck_assert_uint_eq(checks, 3);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("walk_foreign");
	TCase *tests = tcase_create("walk_foreign");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, coroutines_have_whole_stacks);
	tcase_add_test(tests, made_code_with_frame_pointer);
	tcase_add_test(tests, garbage_frame_pointers_do_not_fault);
	tcase_add_test(tests, garbage_at_the_edge_of_a_stack);
	tcase_add_loop_test(tests, libraries_come_and_go, 0, 2);
	tcase_add_test(tests, frames_counted_from_rbx);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
