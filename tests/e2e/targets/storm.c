/*
 * Eight threads record at full speed until standard input ends; dumps are made meanwhile
 * (survive.sh). Each thread counts what it did, so that the program itself notices anything that
 * went wrong.
 */
#include "tests/e2e/targets/truth.h"

#include <pthread.h>
#include <sys/socket.h>

#define THREADS 8

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long under_lock;
static int stop;

struct worker {
	pthread_t thread;
	unsigned long rounds;
};

static void *work(void *argument)
{
	struct worker *self = argument;
	char byte = 'x', back;
	int pair[2];

	TRUTH_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	while (self->rounds < 1000 || !__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		unsigned char *block = malloc(100 + self->rounds % 1000);

		block[0] = (unsigned char)self->rounds;
		pthread_mutex_lock(&lock);
		under_lock++;
		pthread_mutex_unlock(&lock);
		TRUTH_CHECK(write(pair[0], &byte, 1) == 1);
		TRUTH_CHECK(read(pair[1], &back, 1) == 1 && back == byte);
		block = realloc(block, 3000);
		TRUTH_CHECK(block[0] == (unsigned char)self->rounds);
		free(block);
		self->rounds++;
	}
	close(pair[0]);
	close(pair[1]);
	return NULL;
}

int main(void)
{
	static struct worker worker[THREADS];
	unsigned long total = 0;

	for (int i = 0; i < THREADS; i++)
		TRUTH_CHECK(pthread_create(&worker[i].thread, NULL, work, &worker[i]) == 0);
	truth_ready();
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++) {
		TRUTH_CHECK(pthread_join(worker[i].thread, NULL) == 0);
		total += worker[i].rounds;
	}
	TRUTH_CHECK(total == under_lock && total > 0);
	return 0;
}
