/*
 * Threads whose last events come after the recorder's key destructor: each event must be told of
 * the thread that made it, also when what such a thread left is used by a later one.
 *
 * In: nothing. Out: the sizes allocated by each kind of thread, for judge.py.
 */
#include <limits.h>
#include <pthread.h>

#include "truth.h"

#define LATE_THREADS 100
#define LATER_THREADS 10
#define LATE_BYTES 7777
#define LATER_BYTES 5555

static pthread_key_t key;

/* Made after the recorder's key, so in each round it runs behind the recorder's. */
static void in_last_round(void *value)
{
	intptr_t round = (intptr_t)value;

	if (round < PTHREAD_DESTRUCTOR_ITERATIONS)
		pthread_setspecific(key, (void *)(round + 1));
	else
		free(malloc(LATE_BYTES));
}

static void *run_late(void *unused)
{
	pthread_setname_np(pthread_self(), "late");
	pthread_setspecific(key, (void *)1);
	return unused;
}

static void *run_later(void *unused)
{
	pthread_setname_np(pthread_self(), "later");
	free(malloc(LATER_BYTES));
	return unused;
}

static void run(int count, void *(*routine)(void *))
{
	pthread_t thread;

	for (int i = 0; i < count; i++)
		if (pthread_create(&thread, NULL, routine, NULL) != 0 ||
		    pthread_join(thread, NULL) != 0)
			truth_fail("thread");
}

int main(void)
{
	pthread_key_create(&key, in_last_round);
	run(LATE_THREADS, run_late);
	run(LATER_THREADS, run_later);
	truth("expect profiler.Malloc count=%d size=%d thread=late", LATE_THREADS, LATE_BYTES);
	truth("expect profiler.Malloc count=%d size=%d thread=later", LATER_THREADS, LATER_BYTES);
	truth_flush();
	return 0;
}
