/*
 * Waits for semaphores, barriers and threads, and sleeps: exactly one event each; what needs no
 * waiting makes none.
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <threads.h>

#include "tests/e2e/targets/asleep.h"

static sem_t sem;
static pthread_barrier_t barrier;
static thrd_t c11_thread;
static pthread_t other;
static struct timespec until;

static __attribute__((noinline)) int sem_plain(void)
{
	return sem_wait(&sem);
}

static __attribute__((noinline)) int sem_timed(void)
{
	until = asleep_until(CLOCK_REALTIME, 60000);
	return sem_timedwait(&sem, &until);
}

static __attribute__((noinline)) int sem_clock(void)
{
	until = asleep_until(CLOCK_MONOTONIC, 60000);
	return sem_clockwait(&sem, CLOCK_MONOTONIC, &until);
}

static __attribute__((noinline)) int at_barrier(void)
{
	return pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD ? 0 : 1;
}

static __attribute__((noinline)) int join_plain(void)
{
	return pthread_join(other, NULL);
}

static __attribute__((noinline)) int join_timed(void)
{
	until = asleep_until(CLOCK_REALTIME, 60000);
	return pthread_timedjoin_np(other, NULL, &until);
}

static __attribute__((noinline)) int join_clock(void)
{
	until = asleep_until(CLOCK_MONOTONIC, 60000);
	return pthread_clockjoin_np(other, NULL, CLOCK_MONOTONIC, &until);
}

static __attribute__((noinline)) int join_c11(void)
{
	int result = 0;

	return thrd_join(c11_thread, &result) == thrd_success ? result : -1;
}

struct one {
	const char *name;
	const char *class;
	int (*wait)(void);
	int kind; /* 0 semaphore, 1 barrier, 2 thread, 3 C11 thread */
	int has_deadline;
};

static const struct one ones[] = {
	{ "p-sem", "sem_t", sem_plain, 0, 0 },
	{ "p-sem-timed", "sem_t", sem_timed, 0, 1 },
	{ "p-sem-clock", "sem_t", sem_clock, 0, 1 },
	{ "p-barrier", "pthread_barrier_t", at_barrier, 1, 0 },
	{ "p-join", "pthread_t", join_plain, 2, 0 },
	{ "p-join-timed", "pthread_t", join_timed, 2, 1 },
	{ "p-join-clock", "pthread_t", join_clock, 2, 1 },
	{ "p-join-c11", "pthread_t", join_c11, 3, 0 },
};

static volatile int may_end;

static void *body(void *unused)
{
	while (!may_end)
		asleep_pass_ms(1);
	return unused;
}

static int c11_body(void *unused)
{
	body(unused);
	return 42;
}

static void *waiter(void *argument)
{
	const struct one *one = argument;

	pthread_setname_np(pthread_self(), one->name);
	asleep_soon();
	truth("%s: %d", one->name, one->wait());
	return NULL;
}

static void release(int kind)
{
	if (kind == 0)
		sem_post(&sem);
	else if (kind == 1)
		pthread_barrier_wait(&barrier);
	may_end = 1;
}

static void contend(const struct one *one)
{
	pthread_t thread;

	may_end = 0;
	if (one->kind == 2)
		TRUTH_CHECK(pthread_create(&other, NULL, body, NULL) == 0);
	if (one->kind == 3)
		TRUTH_CHECK(thrd_create(&c11_thread, c11_body, NULL) == thrd_success);
	TRUTH_CHECK(pthread_create(&thread, NULL, waiter, (void *)one) == 0);
	asleep_wait();
	asleep_pass_ms(12);
	release(one->kind);
	TRUTH_CHECK(pthread_join(thread, NULL) == 0);
	truth("expect jdk.ThreadPark count=1 thread=%s parkedClass.name=%s duration>=12ms%s",
	      one->name, one->class, one->has_deadline ? " timeout>=59990ms timeout<=60010ms" : "");
	truth("expect jdk.ThreadPark count=1 thread=%s", one->name);
}

static void on_signal(int number)
{
	(void)number;
}

/* Sleeps that are cut short by a signal, and those that are not. */
static void *sleeper(void *unused)
{
	struct timespec time = { 0, 11000000 }, rest = { 0, 0 }, mono;

	pthread_setname_np(pthread_self(), "sleeper");
	truth("nanosleep %d", nanosleep(&time, NULL));
	time.tv_nsec = 12000000;
	truth("clock_nanosleep %d", clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL));
	mono = asleep_until(CLOCK_MONOTONIC, 20);
	truth("clock_nanosleep %d", clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &mono, NULL));
	truth("usleep %d", usleep(14000));
	time.tv_nsec = 15000000;
	truth("thrd_sleep %d", thrd_sleep(&time, NULL));
	time.tv_sec = 50;
	time.tv_nsec = 0;
	asleep_soon();
	truth("nanosleep %d %s", nanosleep(&time, &time), strerrorname_np(errno));
	TRUTH_CHECK(time.tv_sec == 49);
	asleep_soon();
	truth("sleep %d", sleep(70) > 60);
	time.tv_sec = 80;
	asleep_soon();
	truth("clock_nanosleep %s",
	      strerrorname_np(clock_nanosleep(CLOCK_REALTIME, 0, &time, &rest)));
	truth("expect jdk.ThreadSleep count=1 thread=sleeper time=11ms duration>=11ms");
	truth("expect jdk.ThreadSleep count=1 thread=sleeper time=12ms duration>=12ms");
	truth("expect jdk.ThreadSleep count=1 thread=sleeper time>=18ms time<=20ms");
	truth("expect jdk.ThreadSleep count=1 thread=sleeper time=14ms duration>=14ms");
	truth("expect jdk.ThreadSleep count=1 thread=sleeper time=15ms duration>=15ms");
	truth("expect jdk.ThreadSleep count=1 thread=sleeper time>=49999ms time<=50001ms");
	truth("expect jdk.ThreadSleep count=1 thread=sleeper time=70s duration<=20s");
	truth("expect jdk.ThreadSleep count=1 thread=sleeper time>=80s time<=81s duration<=20s");
	truth("expect jdk.ThreadSleep count=8 thread=sleeper");
	truth("expect-stack jdk.ThreadSleep count=8 thread=sleeper sleeper ...");
	return unused;
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t thread;

	sem_init(&sem, 0, 0);
	pthread_barrier_init(&barrier, NULL, 2);
	for (size_t i = 0; i < sizeof(ones) / sizeof(ones[0]); i++)
		contend(&ones[i]);
	for (int i = 0; i < 5; i++)
		sem_post(&sem);
	for (int i = 0; i < 5; i++) /* free: no wait, no event */
		sem_wait(&sem);
	truth("expect jdk.ThreadPark count=3 parkedClass.name=sem_t");
	sigaction(SIGUSR1, &action, NULL);
	TRUTH_CHECK(pthread_create(&thread, NULL, sleeper, NULL) == 0);
	for (int i = 0; i < 3; i++) {
		asleep_wait();
		asleep_pass_ms(20);
		pthread_kill(thread, SIGUSR1);
	}
	TRUTH_CHECK(pthread_join(thread, NULL) == 0);
	truth_flush();
	return 0;
}
