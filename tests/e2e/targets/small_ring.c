/*
 * Far more threads than a ring of 1 MiB has chunks, all alive at once: those that find no chunk
 * lose their events, and what the dump has and what it reports as lost must add up to what was
 * made.
 *
 * Each thread makes few enough events to stay in one chunk, so nothing is overwritten; the case
 * turns off every event but jdk.ThreadSleep, which nothing but usleep() below makes.
 */
#include "tests/e2e/targets/truth.h"

#include <pthread.h>

#define THREADS 400
#define CALLS 20

static pthread_barrier_t all_done;

static void *sleeper(void *unused)
{
	for (int i = 0; i < CALLS; i++)
		usleep(1);
	pthread_barrier_wait(&all_done);
	pthread_barrier_wait(&all_done);
	(void)unused;
	return NULL;
}

int main(void)
{
	static pthread_t thread[THREADS];
	pthread_attr_t attributes;

	pthread_barrier_init(&all_done, NULL, THREADS + 1);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	for (int i = 0; i < THREADS; i++)
		TRUTH_CHECK(pthread_create(&thread[i], &attributes, sleeper, NULL) == 0);
	pthread_barrier_wait(&all_done);
	truth("expect-made jdk.ThreadSleep made=%d", THREADS * CALLS);
	truth("expect jdk.ThreadSleep count>=%d count<=%d", 100 * CALLS, 128 * CALLS);
	truth("expect jdk.DataLoss sum:events>=%d", (THREADS - 128) * CALLS);
	truth("allow-loss");
	truth_ready();
	pthread_barrier_wait(&all_done);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
