/*
 * Stacks of every kind, each ending in one allocation of a size of its own: a chain of 30
 * functions, frames of changing and of aligned size, arguments on the stack, a callback of libc,
 * handlers on both stacks, threads with little room, a coroutine, code made at run time.
 *
 * Truth: which functions each allocation's stack holds, in order, without a gap unless said.
 */
#include <alloca.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "truth.h"

#define SHAPE static __attribute__((noinline))

static volatile int wanted;
static void *volatile kept[64];
static int kept_count;

SHAPE int allocate(int n)
{
	kept[kept_count++ & 63] = malloc((size_t)wanted);
	return n + 1;
}

/* ---- Thirty of a kind ---- */

#define LINK(name, next)                                                                           \
	SHAPE int name(int n)                                                                      \
	{                                                                                          \
		volatile int room[1 + sizeof(#next) * 3];                                          \
		room[0] = n;                                                                       \
		return next(n + 1) + room[0];                                                      \
	}
#define TEN(p, last)                                                                               \
	LINK(p##0, last)                                                                           \
	LINK(p##1, p##0)                                                                           \
	LINK(p##2, p##1)                                                                           \
	LINK(p##3, p##2)                                                                           \
	LINK(p##4, p##3)                                                                           \
	LINK(p##5, p##4)                                                                           \
	LINK(p##6, p##5)                                                                           \
	LINK(p##7, p##6)                                                                           \
	LINK(p##8, p##7)                                                                           \
	LINK(p##9, p##8)
#define TEN_NAMES(p) #p "0 " #p "1 " #p "2 " #p "3 " #p "4 " #p "5 " #p "6 " #p "7 " #p "8 " #p "9 "
TEN(inner, allocate)
TEN(middle, inner9)
TEN(outer, middle9)

/* ---- Odd shapes ---- */

SHAPE int of_changing_size(int n)
{
	volatile char *room = alloca((size_t)(n % 5) * 100 + 16);

	room[0] = (char)n;
	return inner3(n) + room[0];
}

SHAPE int with_arguments(int a, int b, int c, int d, int e, int f, int g, int h)
{
	return of_changing_size(a) + b * c + d * e + f * g * h;
}

SHAPE int of_aligned_size(int n)
{
	volatile char room[100] __attribute__((aligned(64)));

	room[n % 100] = 1;
	return with_arguments(n, n, n, n, n, n, n, room[n % 100]) + room[0];
}

SHAPE int comparer(const void *a, const void *b)
{
	(void)b;
	return *(const int *)a < 0 ? 0 : of_aligned_size(3) & 1;
}

SHAPE void sorter(void)
{
	int numbers[2] = { 2, 1 };

	qsort(numbers, 2, sizeof(int), comparer);
	truth("sorted %d", numbers[0] > 0);
}

/* ---- Handlers ---- */

SHAPE void handler(int signal)
{
	inner3(signal);
}

SHAPE int raiser(int n)
{
	return raise(SIGUSR1) + n;
}

LINK(before_raise, raiser)

static void handle(int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	TRUTH_CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	before_raise(1);
}

/* ---- Threads and coroutines ---- */

SHAPE void *in_thread(void *unused)
{
	inner3(1);
	return unused;
}

static void run_thread(size_t stack_bytes)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	TRUTH_CHECK(pthread_attr_setstacksize(&attributes, stack_bytes) == 0);
	TRUTH_CHECK(pthread_create(&thread, &attributes, in_thread, NULL) == 0);
	pthread_join(thread, NULL);
}

static ucontext_t context, back;

SHAPE void in_coroutine(void)
{
	inner3(1);
}

static void run_coroutine(void)
{
	static char stack[65536] __attribute__((aligned(16)));

	getcontext(&context);
	context.uc_stack.ss_sp = stack;
	context.uc_stack.ss_size = sizeof(stack);
	context.uc_link = &back;
	makecontext(&context, in_coroutine, 0);
	swapcontext(&back, &context);
}

/* push rbp; mov rsp, rbp; call *rdi; pop rbp; ret */
static const unsigned char made_bytes[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };

SHAPE int from_made(void)
{
	return inner3(1);
}

SHAPE int calls_made(void)
{
	int (*made)(int (*)(void));
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	TRUTH_CHECK(page != MAP_FAILED);
	memcpy(page + 64, made_bytes, sizeof(made_bytes));
	*(void **)&made = page + 64;
	return made(from_made) + 1;
}

#define STACK(size, functions) truth("expect-stack profiler.Malloc size=%d " functions, size)

int main(void)
{
	static char alternate[128 << 10];
	stack_t stack = { .ss_sp = alternate, .ss_size = sizeof(alternate) };

	wanted = 9001;
	outer9(1);
	STACK(9001, "allocate " TEN_NAMES(inner) TEN_NAMES(middle) TEN_NAMES(outer) "main ...");
	wanted = 9002;
	of_aligned_size(3);
	STACK(9002, "allocate inner0 inner1 inner2 inner3 of_changing_size with_arguments "
		    "of_aligned_size main ...");
	wanted = 9003;
	sorter();
	STACK(9003, "allocate inner0 inner1 inner2 inner3 of_changing_size with_arguments "
		    "of_aligned_size comparer ... sorter main ...");
	wanted = 9004;
	handle(0);
	STACK(9004,
	      "allocate inner0 inner1 inner2 inner3 handler ... raiser before_raise ... main ...");
	wanted = 9005;
	TRUTH_CHECK(sigaltstack(&stack, NULL) == 0);
	handle(SA_ONSTACK);
	STACK(9005,
	      "allocate inner0 inner1 inner2 inner3 handler ... raiser before_raise ... main ...");
	wanted = 9006;
	run_thread(256 << 10);
	STACK(9006, "allocate inner0 inner1 inner2 inner3 in_thread ...");
	wanted = 9007;
	run_thread((size_t)PTHREAD_STACK_MIN);
	STACK(9007, "allocate inner0 inner1 inner2 inner3 in_thread ...");
	wanted = 9008;
	run_coroutine();
	STACK(9008, "allocate inner0 inner1 inner2 inner3 in_coroutine ...");
	wanted = 9009;
	calls_made();
	STACK(9009, "allocate inner0 inner1 inner2 inner3 from_made ... calls_made main ...");
	for (int size = 9001; size <= 9009; size++)
		truth("expect profiler.Malloc count=1 size=%d", size);
	truth_flush();
	return 0;
}
