/*
 * What the recorder adds to an uncontended lock and unlock: bare, through a shim that only passes
 * on, recorder off, locks=try, locks=timed. A second thread lives, so libc takes no short cuts.
 *
 * In: see bench_calls.h; optional number of rounds. Out: one line a case and variant: `CASE VARIANT
 * NS`, the least of interleaved rounds. Cases: a mutex, a read lock, a signalled semaphore.
 */
#include <pthread.h>
#include <semaphore.h>

#include "tests/bench/bench_calls.h"

#define REPEAT 20000
#define CASES 3

struct way {
	const char *name;
	int (*lock)(pthread_mutex_t *);
	int (*unlock)(pthread_mutex_t *);
	int (*rdlock)(pthread_rwlock_t *);
	int (*rwunlock)(pthread_rwlock_t *);
	int (*sem_wait)(sem_t *);
	uint8_t mode; /* enum rec_lock_mode; 255: leave alone */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore, never;

static double measure_mutex(const struct way *way)
{
	double start = bench_now_ns();

	for (int i = 0; i < REPEAT; i++) {
		way->lock(&mutex);
		way->unlock(&mutex);
	}
	return (bench_now_ns() - start) / REPEAT;
}

static double measure_rwlock(const struct way *way)
{
	double start = bench_now_ns();

	for (int i = 0; i < REPEAT; i++) {
		way->rdlock(&rwlock);
		way->rwunlock(&rwlock);
	}
	return (bench_now_ns() - start) / REPEAT;
}

static double measure_semaphore(const struct way *way)
{
	double start = bench_now_ns();

	for (int i = 0; i < REPEAT; i++) {
		sem_post(&semaphore);
		way->sem_wait(&semaphore);
	}
	return (bench_now_ns() - start) / REPEAT;
}

static void add(struct way *ways, size_t *count, const char *name, void *library, uint8_t mode)
{
	struct way *way = &ways[*count];

	if (!library)
		return;
	way->name = name;
	way->mode = mode;
	*(void **)&way->lock = dlsym(library, "pthread_mutex_lock");
	*(void **)&way->unlock = dlsym(library, "pthread_mutex_unlock");
	*(void **)&way->rdlock = dlsym(library, "pthread_rwlock_rdlock");
	*(void **)&way->rwunlock = dlsym(library, "pthread_rwlock_unlock");
	*(void **)&way->sem_wait = dlsym(library, "sem_wait");
	*count += way->lock && way->unlock && way->rdlock && way->rwunlock && way->sem_wait;
}

static void *second_thread(void *unused)
{
	while (sem_wait(&never) != 0)
		;
	return unused;
}

int main(int argc, char **argv)
{
	static double (*const cases[CASES])(const struct way *) = { measure_mutex, measure_rwlock,
								    measure_semaphore };
	static const char *const names[CASES] = { "mutex", "rwlock-read", "semaphore" };
	int rounds = argc > 1 ? atoi(argv[1]) : 60;
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	void *recorder = bench_recorder();
	double least[CASES][8];
	struct way ways[8];
	size_t count = 0;
	pthread_t thread;

	sem_init(&semaphore, 0, 0);
	sem_init(&never, 0, 0);
	if (pthread_create(&thread, NULL, second_thread, NULL) != 0)
		return 1;
	add(ways, &count, "bare", libc, 255);
	add(ways, &count, "bare-again", libc, 255);
	add(ways, &count, "no-op", bench_library("noop_shim.so"), 255);
	add(ways, &count, "off", recorder, REC_LOCK_OFF);
	add(ways, &count, "try", recorder, REC_LOCK_TRY);
	add(ways, &count, "timed", recorder, REC_LOCK_TIMED);
	for (int round = 0; round < rounds; round++) {
		for (size_t i = 0; i < count * CASES; i++) {
			const struct way *way = &ways[i / CASES];
			double *best = &least[i % CASES][i / CASES];

			if (way->mode != 255)
				bench_region.settings->lock_mode = way->mode;
			double taken = cases[i % CASES](way);

			if (round == 0 || taken < *best)
				*best = taken;
		}
	}
	for (int k = 0; k < CASES; k++)
		for (size_t i = 0; i < count; i++)
			printf("%s %s %.1f\n", names[k], ways[i].name, least[k][i]);
	return 0;
}
