/*
 * One record into the thread's chunk, without clock and stack: what rec_append() itself costs, with
 * the change of a full chunk in it, beside 32 bytes of plain stores and beside two clock readings.
 *
 * In: optional number of rounds. Out: `append VARIANT NS`, the least of interleaved rounds.
 */
#include "tests/unit/region_fill.h"

#define REPEAT 100000
#define WAYS 4

static struct rec_region region;
static struct fill_thread thread;
static uint64_t plain[1024][4];
static volatile uint64_t sink;

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* The loop alone: its value changes as an event's would. */
static void do_nothing(uint64_t ticks)
{
	for (uint64_t i = 0; i < REPEAT; i++)
		__asm__ volatile("" : : "r"(ticks + i) : "memory");
}

static void do_plain(uint64_t ticks)
{
	for (uint64_t i = 0; i < REPEAT; i++) {
		uint64_t *at = plain[i % 1024];

		at[0] = ticks + i;
		at[1] = i;
		at[2] = 37;
		at[3] = ticks;
		__asm__ volatile("" : : : "memory");
	}
}

static void do_append(uint64_t ticks)
{
	_Static_assert(sizeof(struct ev_SocketRead) == 16, "two words");

	for (uint64_t i = 0; i < REPEAT; i++) {
		/* As whole words, as the hooks do: halves that were just written are waited for. */
		uint64_t event[2] = { 500ull << 32, 7 | i << 32 };

		fill_record(&thread, EV_SocketRead, 0, ticks + i, event, sizeof(event));
	}
}

static void do_clocks(uint64_t ticks)
{
	for (uint64_t i = 0; i < REPEAT; i++)
		sink = __builtin_ia32_rdtsc() - ticks + __builtin_ia32_rdtsc();
}

int main(int argc, char **argv)
{
	static void (*const work[WAYS])(uint64_t) = { do_nothing, do_plain, do_append, do_clocks };
	static const char *const names[WAYS] = { "bare", "store32", "record", "two-rdtsc" };
	double least[WAYS] = { 1e18, 1e18, 1e18, 1e18 };
	int rounds = argc > 1 ? atoi(argv[1]) : 60;

	fill_create(&region, 4u << 20);
	fill_thread(&thread, &region, fill_process(&region, (uint32_t)getpid(), 1, 0, "bench"), 77,
		    "bench", fill_base(&region));
	for (int i = 0; i < rounds * WAYS; i++) {
		double start = now_ns();

		work[i % WAYS](fill_base(&region) + 1000000000);
		start = (now_ns() - start) / REPEAT;
		if (start < least[i % WAYS])
			least[i % WAYS] = start;
	}
	for (int i = 0; i < WAYS; i++)
		printf("append %s %.2f\n", names[i], least[i]);
	fill_destroy(&region);
	return 0;
}
