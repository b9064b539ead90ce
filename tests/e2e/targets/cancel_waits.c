/*
 * Cancellation in every wait that is a cancellation point: it takes place, cleanup handlers run
 * once, mutexes are as they should be; also where the wait would not have to wait.
 */
#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>

#include "tests/e2e/targets/asleep.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t empty, full;
static pthread_t sleeper;
static int cleanups;

static void in_cond(void)
{
	pthread_cond_wait(&cond, &mutex);
}

static void in_timed_cond(void)
{
	struct timespec until = asleep_until(CLOCK_REALTIME, 60000);

	pthread_cond_timedwait(&cond, &mutex, &until);
}

static void in_clock_cond(void)
{
	struct timespec until = asleep_until(CLOCK_MONOTONIC, 60000);

	pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &until);
}

static void in_sem(void)
{
	sem_wait(&empty);
}

static void in_timed_sem(void)
{
	struct timespec until = asleep_until(CLOCK_REALTIME, 60000);

	sem_timedwait(&empty, &until);
}

static void in_full_sem(void)
{
	sem_wait(&full);
}

static void in_join(void)
{
	pthread_join(sleeper, NULL);
}

static void in_sleep(void)
{
	sleep(60);
}

static void in_nanosleep(void)
{
	struct timespec time = { 60, 0 };

	nanosleep(&time, NULL);
}

static void in_clock_nanosleep(void)
{
	struct timespec time = { 60, 0 };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

static void in_usleep(void)
{
	usleep(900000);
}

struct one {
	const char *name;
	void (*wait)(void);
	int has_mutex;
};

static const struct one ones[] = {
	{ "cond", in_cond, 1 },
	{ "timed cond", in_timed_cond, 1 },
	{ "clock cond", in_clock_cond, 1 },
	{ "sem", in_sem, 0 },
	{ "timed sem", in_timed_sem, 0 },
	{ "full sem", in_full_sem, 0 },
	{ "join", in_join, 0 },
	{ "sleep", in_sleep, 0 },
	{ "nanosleep", in_nanosleep, 0 },
	{ "clock_nanosleep", in_clock_nanosleep, 0 },
	{ "usleep", in_usleep, 0 },
};

static void cleanup(void *argument)
{
	const struct one *one = argument;

	cleanups++;
	if (one->has_mutex) /* taken again before the handlers run */
		truth("%s: unlock %d", one->name, pthread_mutex_unlock(&mutex));
}

/* Pending: cancelled before it comes to the wait. */
static volatile int is_pending, may_go;

static void *waiter(void *argument)
{
	const struct one *one = argument;
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	if (one->has_mutex)
		pthread_mutex_lock(&mutex);
	pthread_cleanup_push(cleanup, (void *)one);
	while (is_pending && !may_go)
		sched_yield();
	asleep_soon();
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
	one->wait();
	truth("%s: came back", one->name);
	pthread_cleanup_pop(1);
	return NULL;
}

static void cancel(const struct one *one, int pending)
{
	pthread_t thread;
	void *result;

	is_pending = pending;
	may_go = 0;
	cleanups = 0;
	TRUTH_CHECK(pthread_create(&thread, NULL, waiter, (void *)one) == 0);
	if (!pending)
		asleep_wait();
	TRUTH_CHECK(pthread_cancel(thread) == 0);
	may_go = 1;
	TRUTH_CHECK(pthread_join(thread, &result) == 0);
	truth("%s%s: %s, %d cleanups, mutex %d", one->name, pending ? " pending" : "",
	      result == PTHREAD_CANCELED ? "cancelled" : "ended", cleanups,
	      pthread_mutex_trylock(&mutex));
	pthread_mutex_unlock(&mutex);
}

static void *pauses(void *unused)
{
	pause();
	return unused;
}

int main(void)
{
	int value;

	sem_init(&empty, 0, 0);
	sem_init(&full, 0, 1);
	TRUTH_CHECK(pthread_create(&sleeper, NULL, pauses, NULL) == 0);
	for (size_t i = 0; i < sizeof(ones) / sizeof(ones[0]); i++) {
		if (ones[i].wait != in_full_sem)
			cancel(&ones[i], 0);
		cancel(&ones[i], 1);
	}
	sem_getvalue(&full, &value);
	truth("semaphore %d", value);
	truth_flush();
	return 0;
}
