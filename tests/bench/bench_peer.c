/*
 * Calls that recorders see, from a program that knows of none: what LD_PRELOAD brings is what is
 * measured, so that recorders which cannot be loaded into one process stand beside each other.
 *
 *   bench_peer [ROUNDS]        one line a case: `CASE NS`, the least of the rounds
 *   bench_peer reads N         makes N reads of /dev/null under 20 frames, prints nothing
 *   bench_peer pairs N         makes N pairs of malloc and free under 20 frames, prints nothing
 *
 * In: nothing. Out: see above; cases malloc-pair, malloc-batch (freed 1,000 blocks later), mutex.
 * Compiled without frame pointers, as programs are.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define REPEAT 10000
#define BATCH 1000
#define DEPTH 20

static void *blocks[BATCH];
static void *volatile sink; /* no pair is optimised away */
static volatile int depth_sink;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t never;
static int null_fd;

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void make_pairs(int count)
{
	for (int i = 0; i < count; i++) {
		sink = malloc(64);
		free(sink);
	}
}

static void make_batches(int count)
{
	for (int k = 0; k < count / BATCH; k++) {
		for (int i = 0; i < BATCH; i++)
			blocks[i] = malloc(32 + (size_t)(i & 15) * 16);
		for (int i = 0; i < BATCH; i++)
			free(blocks[i]);
	}
}

static void make_locks(int count)
{
	for (int i = 0; i < count; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
}

static void make_reads(int count)
{
	char buffer[64];

	for (int i = 0; i < count; i++)
		if (read(null_fd, buffer, sizeof(buffer)) < 0)
			return;
}

/* Calls itself, so that there is a stack to walk. */
static __attribute__((noinline)) int at_depth(int depth, void (*work)(int), int count)
{
	if (depth == 0)
		work(count);
	else
		at_depth(depth - 1, work, count);
	depth_sink = depth; /* no tail call */
	return depth_sink;
}

static void *second_thread(void *unused)
{
	while (sem_wait(&never) != 0)
		;
	return unused;
}

int main(int argc, char **argv)
{
	static void (*const work[])(int) = { make_pairs, make_batches, make_locks };
	static const char *const names[] = { "malloc-pair", "malloc-batch", "mutex" };
	double least[3] = { 1e18, 1e18, 1e18 };
	int rounds = argc > 1 ? atoi(argv[1]) : 20;
	pthread_t thread;

	null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (argc > 2) {
		at_depth(DEPTH, strcmp(argv[1], "reads") == 0 ? make_reads : make_pairs,
			 atoi(argv[2]));
		return 0;
	}
	sem_init(&never, 0, 0);
	if (pthread_create(&thread, NULL, second_thread, NULL) != 0)
		return 1;
	for (int i = 0; i < rounds * 3; i++) {
		double start = now_ns();

		at_depth(DEPTH, work[i % 3], REPEAT);
		start = (now_ns() - start) / REPEAT;
		if (start < least[i % 3])
			least[i % 3] = start;
	}
	for (int i = 0; i < 3; i++)
		printf("%s %.1f\n", names[i], least[i]);
	return 0;
}
