/*
 * Blocks made in one thread and freed or resized in another, in children too: what lives at the end
 * is known, and nothing else is taken for alive (sampled, every few KiB).
 */
#include "tests/e2e/targets/truth.h"

#include <pthread.h>
#include <sys/wait.h>

#define ROUNDS 30
#define BLOCKS 2000
#define SIZE 3000

static void *blocks[BLOCKS];
static void *(*volatile do_malloc)(size_t) = malloc;

static __attribute__((noinline)) void *make(size_t size)
{
	void *block = do_malloc(size);

	TRUTH_CHECK(block != NULL);
	return block;
}

static void *producer(void *unused)
{
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = make(SIZE);
	return unused;
}

static void *resizer(void *unused)
{
	for (int i = 0; i < BLOCKS; i += 2) {
		blocks[i] = realloc(blocks[i], SIZE + 1 + (size_t)i % 7 * 5000);
		TRUTH_CHECK(blocks[i] != NULL);
		/* One that cannot be: the old block lives on. */
		TRUTH_CHECK(realloc(blocks[i], (size_t)1 << 60) == NULL);
	}
	return unused;
}

static void *consumer(void *unused)
{
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	return unused;
}

static void in_thread(void *(*body)(void *))
{
	pthread_t thread;

	TRUTH_CHECK(pthread_create(&thread, NULL, body, NULL) == 0);
	TRUTH_CHECK(pthread_join(thread, NULL) == 0);
}

/* A child frees what it inherited and allocates at the same addresses. */
static void child(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		consumer(NULL);
		for (int i = 0; i < BLOCKS; i++)
			blocks[i] = do_malloc(SIZE);
		_exit(blocks[0] == NULL);
	}
	TRUTH_CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

int main(void)
{
	const long live = (long)BLOCKS * 2 * SIZE;
	void **kept = calloc(BLOCKS, sizeof(*kept));

	for (int i = 0; i < ROUNDS; i++) {
		in_thread(producer);
		in_thread(resizer);
		in_thread(consumer);
	}
	for (int i = 0; i < BLOCKS; i++)
		kept[i] = make(2 * SIZE);
	in_thread(producer);
	child();
	in_thread(consumer);
	/* Mean distance 16 KiB: about 620 samples live, so 25 % are six standard deviations. */
	truth("expect holter.LiveAllocation count>=300 process=%d size=%d sum:weight>=%ld "
	      "sum:weight<=%ld",
	      getpid(), 2 * SIZE, live / 100 * 75, live / 100 * 125);
	truth("expect-stack holter.LiveAllocation count>=300 make main ...");
	/* The child's own are told as its own. */
	truth("expect holter.LiveAllocation count=0 process=%d size<=%d", getpid(), SIZE + 1);
	truth("expect holter.LiveAllocation count>=1 process!=%d size=%d", getpid(), SIZE);
	truth("expect profiler.Free count>=1000");
	truth_ready();
	return kept[0] == NULL;
}
