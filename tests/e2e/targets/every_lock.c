/*
 * Calls every hook of locks, waits, threads and memory, so that it succeeds and so that it fails,
 * and prints what came back: it must be the same with and without the recorder.
 */
#include "tests/e2e/targets/truth.h"

#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <threads.h>
#include <time.h>

/* Functions of pthread return their error: errno must stay. */
#define SAY(call)                                                                                  \
	do {                                                                                       \
		long result_;                                                                      \
		errno = 77;                                                                        \
		result_ = (long)(call);                                                            \
		truth("%s = %ld errno %d", #call, result_, errno);                                 \
	} while (0)

static struct timespec past = { 1, 0 };

static struct timespec soon(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	time.tv_nsec += 3000000;
	time.tv_sec += time.tv_nsec / 1000000000;
	time.tv_nsec %= 1000000000;
	return time;
}

static void *run(void *(*body)(void *), void *argument)
{
	pthread_t thread;
	void *result;

	TRUTH_CHECK(pthread_create(&thread, NULL, body, argument) == 0);
	TRUTH_CHECK(pthread_join(thread, &result) == 0);
	return result;
}

/* From another thread, while the main thread holds it. */
static void *try_mutex(void *mutex)
{
	struct timespec until = soon(CLOCK_REALTIME), until_monotonic = soon(CLOCK_MONOTONIC);

	SAY(pthread_mutex_trylock(mutex));
	SAY(pthread_mutex_timedlock(mutex, &past));
	SAY(pthread_mutex_timedlock(mutex, &until));
	SAY(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &until_monotonic));
	return NULL;
}

static void *die_holding(void *mutex)
{
	pthread_mutex_lock(mutex);
	return NULL;
}

static void mutex_calls(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutexattr_t kind;
	const int kinds[] = { PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_RECURSIVE };

	SAY(pthread_mutex_lock(&mutex));
	run(try_mutex, &mutex);
	SAY(pthread_mutex_unlock(&mutex));
	pthread_mutexattr_init(&kind);
	for (int i = 0; i < 2; i++) {
		pthread_mutexattr_settype(&kind, kinds[i]);
		TRUTH_CHECK(pthread_mutex_init(&mutex, &kind) == 0);
		SAY(pthread_mutex_lock(&mutex));
		SAY(pthread_mutex_lock(&mutex)); /* EDEADLK, or once more */
		SAY(pthread_mutex_trylock(&mutex));
		SAY(pthread_mutex_unlock(&mutex));
		SAY(pthread_mutex_unlock(&mutex));
		if (kinds[i] == PTHREAD_MUTEX_RECURSIVE)
			SAY(pthread_mutex_unlock(&mutex));
		SAY(pthread_mutex_unlock(&mutex)); /* EPERM */
	}
	pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_NORMAL);
	pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
	TRUTH_CHECK(pthread_mutex_init(&mutex, &kind) == 0);
	run(die_holding, &mutex);
	SAY(pthread_mutex_lock(&mutex)); /* EOWNERDEAD, and it is ours */
	SAY(pthread_mutex_consistent(&mutex));
	SAY(pthread_mutex_unlock(&mutex));
	run(die_holding, &mutex);
	SAY(pthread_mutex_trylock(&mutex));
	SAY(pthread_mutex_unlock(&mutex)); /* not made consistent: ENOTRECOVERABLE from now on */
	SAY(pthread_mutex_lock(&mutex));
	pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_STALLED);
	pthread_mutexattr_setprotocol(&kind, PTHREAD_PRIO_INHERIT);
	TRUTH_CHECK(pthread_mutex_init(&mutex, &kind) == 0);
	SAY(pthread_mutex_lock(&mutex));
	run(try_mutex, &mutex);
	SAY(pthread_mutex_unlock(&mutex));
}

static void *try_rwlock(void *lock)
{
	struct timespec until = soon(CLOCK_REALTIME), until_monotonic = soon(CLOCK_MONOTONIC);

	SAY(pthread_rwlock_tryrdlock(lock));
	SAY(pthread_rwlock_trywrlock(lock));
	SAY(pthread_rwlock_timedrdlock(lock, &until));
	SAY(pthread_rwlock_timedwrlock(lock, &until));
	SAY(pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &until_monotonic));
	SAY(pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &until_monotonic));
	return NULL;
}

static void *try_spin(void *lock)
{
	SAY(pthread_spin_trylock(lock));
	return NULL;
}

static void other_lock_calls(void)
{
	pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
	pthread_barrier_t barrier;
	pthread_spinlock_t spin;

	SAY(pthread_rwlock_rdlock(&lock));
	SAY(pthread_rwlock_rdlock(&lock));
	SAY(pthread_rwlock_unlock(&lock));
	SAY(pthread_rwlock_unlock(&lock));
	SAY(pthread_rwlock_wrlock(&lock));
	SAY(pthread_rwlock_wrlock(&lock)); /* EDEADLK */
	run(try_rwlock, &lock);
	SAY(pthread_rwlock_unlock(&lock));
	pthread_spin_init(&spin, 0);
	SAY(pthread_spin_lock(&spin));
	run(try_spin, (void *)(uintptr_t)&spin);
	SAY(pthread_spin_unlock(&spin));
	SAY(pthread_spin_trylock(&spin));
	SAY(pthread_spin_unlock(&spin));
	pthread_barrier_init(&barrier, NULL, 1);
	SAY(pthread_barrier_wait(&barrier));
}

static void wait_calls(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	struct timespec until;
	sem_t sem;

	SAY(pthread_cond_signal(&cond));
	SAY(pthread_cond_broadcast(&cond));
	pthread_mutex_lock(&mutex);
	until = soon(CLOCK_REALTIME);
	SAY(pthread_cond_timedwait(&cond, &mutex, &until));
	until = soon(CLOCK_MONOTONIC);
	SAY(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &until));
	until.tv_nsec = 2000000000;
	SAY(pthread_cond_timedwait(&cond, &mutex, &until)); /* EINVAL */
	pthread_mutex_unlock(&mutex);
	sem_init(&sem, 0, 1);
	SAY(sem_wait(&sem));
	SAY(sem_trywait(&sem));
	until = soon(CLOCK_REALTIME);
	SAY(sem_timedwait(&sem, &until));
	until = soon(CLOCK_MONOTONIC);
	SAY(sem_clockwait(&sem, CLOCK_MONOTONIC, &until));
	SAY(sem_post(&sem));
	SAY(sem_timedwait(&sem, &until));
}

static cnd_t c11_cond;
static mtx_t c11_mutex;
static int c11_told;

static int c11_waiter(void *unused)
{
	mtx_lock(&c11_mutex);
	while (!c11_told)
		cnd_wait(&c11_cond, &c11_mutex);
	mtx_unlock(&c11_mutex);
	(void)unused;
	return 5;
}

static void c11_calls(void)
{
	struct timespec until, pause = { 0, 1000000 };
	thrd_t thread;
	int result = 0;

	mtx_init(&c11_mutex, mtx_timed);
	cnd_init(&c11_cond);
	SAY(thrd_create(&thread, c11_waiter, NULL));
	SAY(mtx_lock(&c11_mutex));
	c11_told = 1;
	SAY(cnd_signal(&c11_cond));
	SAY(cnd_broadcast(&c11_cond));
	SAY(mtx_unlock(&c11_mutex));
	SAY(thrd_join(thread, &result));
	truth("result %d", result);
	until = soon(CLOCK_REALTIME);
	SAY(mtx_timedlock(&c11_mutex, &until));
	until = soon(CLOCK_REALTIME);
	SAY(cnd_timedwait(&c11_cond, &c11_mutex, &until));
	SAY(mtx_unlock(&c11_mutex));
	SAY(thrd_sleep(&pause, NULL));
}

static void *sleeper(void *unused)
{
	struct timespec pause = { 0, 20000000 };

	nanosleep(&pause, NULL);
	return unused;
}

static void thread_calls(void)
{
	struct timespec pause = { 0, 1000000 }, bad = { 0, -1 };
	pthread_t thread;
	void *result = NULL;
	char name[16] = "";

	SAY(pthread_create(&thread, NULL, sleeper, (void *)7));
	SAY(pthread_timedjoin_np(thread, &result, &past));
	SAY(pthread_clockjoin_np(thread, &result, CLOCK_MONOTONIC, &past));
	SAY(pthread_join(thread, &result));
	truth("result %ld", (long)result);
	SAY(pthread_setname_np(pthread_self(), "every-lock"));
	SAY(pthread_setname_np(pthread_self(), "a name that is too long"));
	SAY(prctl(PR_SET_NAME, "renamed", 0, 0, 0));
	SAY(prctl(PR_GET_NAME, name, 0, 0, 0));
	truth("name %s", name);
	SAY(nanosleep(&pause, NULL));
	SAY(nanosleep(&bad, NULL));
	SAY(clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL));
	SAY(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &past, NULL));
	SAY(usleep(1000));
	SAY(sleep(0));
}

static void memory_calls(void)
{
	volatile size_t huge = SIZE_MAX / 2;
	void *block = NULL, *page;

	SAY(malloc(huge) == NULL);
	SAY(calloc(huge, 4) == NULL);
	SAY(realloc(NULL, huge) == NULL);
	SAY(reallocarray(NULL, huge, 4) == NULL);
	SAY(posix_memalign(&block, 3, 10));
	SAY(posix_memalign(&block, 64, 10));
	SAY((uintptr_t)block % 64);
	free(block);
	block = malloc(100);
	SAY(malloc_usable_size(block) >= 100);
	SAY(malloc_usable_size(NULL));
	block = realloc(block, 0);
	SAY(block == NULL);
	SAY((uintptr_t)(block = aligned_alloc(256, 512)) % 256);
	free(block);
	SAY((uintptr_t)(block = memalign(512, 10)) % 512);
	free(block);
	SAY((uintptr_t)(block = valloc(10)) % 4096);
	free(block);
	SAY((uintptr_t)(block = pvalloc(10)) % 4096);
	SAY(malloc_usable_size(block) >= 4096);
	free(block);
	page = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	SAY(page != MAP_FAILED);
	page = mremap(page, 8192, 16384, MREMAP_MAYMOVE);
	SAY(page != MAP_FAILED);
	SAY(munmap(page, 16384));
	SAY(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
	SAY(mmap64(NULL, 4096, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED);
	SAY(munmap((void *)1, 1));
	SAY(mremap((void *)1, 1, 1, 0) == MAP_FAILED);
}

int main(void)
{
	mutex_calls();
	other_lock_calls();
	wait_calls();
	c11_calls();
	thread_calls();
	memory_calls();
	truth("expect jdk.JavaMonitorEnter count>=1 monitorClass.name=pthread_rwlock_t");
	truth("expect jdk.JavaMonitorEnter count>=1 monitorClass.name=pthread_mutex_t");
	truth("expect jdk.ThreadPark count>=1 parkedClass.name=sem_t");
	truth("expect jdk.JavaMonitorWait count>=3 timedOut=true");
	truth("expect holter.MemoryMap count>=1 call=mremap");
	truth_flush();
	return 0;
}
