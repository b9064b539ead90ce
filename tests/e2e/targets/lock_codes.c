/*
 * Prints what every lock function returns for every kind of mutex and in every state that matters:
 * the recorder must change none of it, with locks=try and with locks=timed.
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <threads.h>

#include "tests/e2e/targets/asleep.h"

static const char *name_of(int error)
{
	return error == 0 ? "0" : strerrorname_np(error) ? strerrorname_np(error) : "?";
}

#define SAY(what, call) truth("%s %s: %s", what, #call, name_of(call))

/* Runs something in another thread and waits for its end. */
static void elsewhere(void *(*body)(void *), void *argument)
{
	pthread_t thread;

	TRUTH_CHECK(pthread_create(&thread, NULL, body, argument) == 0);
	TRUTH_CHECK(pthread_join(thread, NULL) == 0);
}

static struct timespec invalid = { 1, 2000000000 }, expired = { 1, 0 };

struct one {
	const char *name;
	pthread_mutex_t *mutex;
};

/* What a thread meets that does not own the mutex; it ends without unlocking what it got. */
static void *by_other(void *argument)
{
	struct one *one = argument;
	struct timespec wall = asleep_until(CLOCK_REALTIME, 20);
	struct timespec mono = asleep_until(CLOCK_MONOTONIC, 20);

	SAY(one->name, pthread_mutex_trylock(one->mutex));
	SAY(one->name, pthread_mutex_timedlock(one->mutex, &expired));
	SAY(one->name, pthread_mutex_timedlock(one->mutex, &invalid));
	SAY(one->name, pthread_mutex_timedlock(one->mutex, &wall));
	SAY(one->name, pthread_mutex_clocklock(one->mutex, CLOCK_MONOTONIC, &mono));
	SAY(one->name, pthread_mutex_clocklock(one->mutex, CLOCK_MONOTONIC, &invalid));
	SAY(one->name, pthread_mutex_clocklock(one->mutex, CLOCK_BOOTTIME, &mono));
	SAY(one->name, pthread_mutex_unlock(one->mutex));
	return NULL;
}

static void *lock_and_die(void *argument)
{
	struct one *one = argument;

	SAY(one->name, pthread_mutex_lock(one->mutex));
	return NULL;
}

static void free_mutex(struct one *one)
{
	struct timespec mono = asleep_until(CLOCK_MONOTONIC, 20);

	SAY(one->name, pthread_mutex_lock(one->mutex));
	SAY(one->name, pthread_mutex_unlock(one->mutex));
	SAY(one->name, pthread_mutex_trylock(one->mutex));
	SAY(one->name, pthread_mutex_unlock(one->mutex));
	/* A lock that is free is taken whatever the time says; but a clock is looked at first. */
	SAY(one->name, pthread_mutex_timedlock(one->mutex, &expired));
	SAY(one->name, pthread_mutex_unlock(one->mutex));
	SAY(one->name, pthread_mutex_timedlock(one->mutex, &invalid));
	SAY(one->name, pthread_mutex_unlock(one->mutex));
	SAY(one->name, pthread_mutex_clocklock(one->mutex, CLOCK_MONOTONIC, &mono));
	SAY(one->name, pthread_mutex_unlock(one->mutex));
	SAY(one->name, pthread_mutex_clocklock(one->mutex, CLOCK_BOOTTIME, &mono));
	SAY(one->name, pthread_mutex_clocklock(one->mutex, 77, &mono));
}

static void owned_mutex(struct one *one, int type)
{
	struct timespec wall = asleep_until(CLOCK_REALTIME, 20);

	SAY(one->name, pthread_mutex_lock(one->mutex));
	if (type == PTHREAD_MUTEX_ERRORCHECK || type == PTHREAD_MUTEX_RECURSIVE) {
		SAY(one->name, pthread_mutex_lock(one->mutex));
		SAY(one->name, pthread_mutex_trylock(one->mutex));
	}
	SAY(one->name, pthread_mutex_timedlock(one->mutex, &wall));
	if (!strstr(one->name, "PP")) /* glibc returns what it happens to find there */
		elsewhere(by_other, one);
	truth("%s count %u", one->name, one->mutex->__data.__count);
	for (int i = 0; i < 4; i++)
		SAY(one->name, pthread_mutex_unlock(one->mutex));
}

static void dead_owner(struct one *one)
{
	elsewhere(lock_and_die, one);
	SAY(one->name, pthread_mutex_lock(one->mutex));
	SAY(one->name, pthread_mutex_consistent(one->mutex));
	SAY(one->name, pthread_mutex_unlock(one->mutex));
	elsewhere(lock_and_die, one);
	SAY(one->name, pthread_mutex_timedlock(one->mutex, &expired));
	SAY(one->name, pthread_mutex_unlock(one->mutex)); /* not made consistent */
	SAY(one->name, pthread_mutex_lock(one->mutex));
	SAY(one->name, pthread_mutex_trylock(one->mutex));
	SAY(one->name, pthread_mutex_timedlock(one->mutex, &expired));
}

static void mutex_kind(const char *name, int type, int protocol, int robust, int shared)
{
	struct one one = { name, NULL };
	pthread_mutexattr_t attr;
	int error;

	one.mutex = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	TRUTH_CHECK(one.mutex != MAP_FAILED);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, type);
	pthread_mutexattr_setprotocol(&attr, protocol);
	pthread_mutexattr_setrobust(&attr, robust);
	pthread_mutexattr_setpshared(&attr, shared);
	error = pthread_mutex_init(one.mutex, &attr);
	truth("%s init: %s", name, name_of(error));
	if (error == 0) {
		free_mutex(&one);
		owned_mutex(&one, type);
		if (robust == PTHREAD_MUTEX_ROBUST)
			dead_owner(&one);
		SAY(name, pthread_mutex_destroy(one.mutex));
	}
	munmap(one.mutex, 4096);
}

static void mutexes(void)
{
	const int stalled = PTHREAD_MUTEX_STALLED, robust = PTHREAD_MUTEX_ROBUST;
	const int none = PTHREAD_PRIO_NONE, pi = PTHREAD_PRIO_INHERIT;
	const int own = PTHREAD_PROCESS_PRIVATE, shared = PTHREAD_PROCESS_SHARED;

	mutex_kind("normal", PTHREAD_MUTEX_NORMAL, none, stalled, own);
	mutex_kind("adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, none, stalled, own);
	mutex_kind("recursive", PTHREAD_MUTEX_RECURSIVE, none, stalled, own);
	mutex_kind("errorcheck", PTHREAD_MUTEX_ERRORCHECK, none, stalled, own);
	mutex_kind("shared", PTHREAD_MUTEX_NORMAL, none, stalled, shared);
	mutex_kind("robust", PTHREAD_MUTEX_NORMAL, none, robust, own);
	mutex_kind("robust errorcheck", PTHREAD_MUTEX_ERRORCHECK, none, robust, own);
	mutex_kind("robust recursive shared", PTHREAD_MUTEX_RECURSIVE, none, robust, shared);
	mutex_kind("PI", PTHREAD_MUTEX_NORMAL, pi, stalled, own);
	mutex_kind("PI errorcheck", PTHREAD_MUTEX_ERRORCHECK, pi, stalled, own);
	mutex_kind("PI recursive", PTHREAD_MUTEX_RECURSIVE, pi, stalled, own);
	mutex_kind("PP", PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_PROTECT, stalled, own);
	mutex_kind("PP recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_PROTECT, stalled, own);
	mutex_kind("PI robust", PTHREAD_MUTEX_NORMAL, pi, robust, shared);
}

/* The owner is another process, killed while it held the mutex and this one waited. */
static void killed_owner(void)
{
	pthread_mutex_t *mutex =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	volatile int *state = (volatile int *)(mutex + 1);
	pthread_mutexattr_t attr;
	int status;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(mutex, &attr);
	pid_t child = fork();

	if (child == 0) {
		pthread_mutex_lock(mutex);
		*state = 1;
		/* FUTEX_WAITERS: the parent waits. */
		while (!((unsigned)mutex->__data.__lock & 0x80000000u))
			sched_yield();
		kill(getpid(), SIGKILL);
	}
	while (*state == 0)
		sched_yield();
	SAY("killed", pthread_mutex_lock(mutex));
	TRUTH_CHECK(waitpid(child, &status, 0) == child);
	SAY("killed", pthread_mutex_consistent(mutex));
	SAY("killed", pthread_mutex_unlock(mutex));
}

static void *rwlock_other(void *argument)
{
	pthread_rwlock_t *lock = argument;
	struct timespec wall = asleep_until(CLOCK_REALTIME, 20);
	struct timespec mono = asleep_until(CLOCK_MONOTONIC, 20);

	SAY("other", pthread_rwlock_tryrdlock(lock));
	SAY("other", pthread_rwlock_trywrlock(lock));
	SAY("other", pthread_rwlock_timedrdlock(lock, &wall));
	SAY("other", pthread_rwlock_timedwrlock(lock, &expired));
	SAY("other", pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &mono));
	SAY("other", pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &mono));
	SAY("other", pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &invalid));
	return NULL;
}

static void rwlocks(void)
{
	pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
	struct timespec mono = asleep_until(CLOCK_MONOTONIC, 20);

	SAY("free", pthread_rwlock_timedrdlock(&lock, &invalid)); /* looked at first */
	SAY("free", pthread_rwlock_timedwrlock(&lock, &invalid));
	SAY("free", pthread_rwlock_clockrdlock(&lock, CLOCK_BOOTTIME, &mono));
	SAY("free", pthread_rwlock_clockwrlock(&lock, 77, &mono));
	SAY("free", pthread_rwlock_timedrdlock(&lock, &expired));
	SAY("read", pthread_rwlock_rdlock(&lock));
	SAY("read", pthread_rwlock_tryrdlock(&lock));
	SAY("read", pthread_rwlock_trywrlock(&lock));
	SAY("read", pthread_rwlock_timedwrlock(&lock, &expired));
	for (int i = 0; i < 3; i++)
		SAY("read", pthread_rwlock_unlock(&lock));
	SAY("write", pthread_rwlock_wrlock(&lock));
	SAY("write", pthread_rwlock_wrlock(&lock)); /* EDEADLK */
	SAY("write", pthread_rwlock_rdlock(&lock));
	SAY("write", pthread_rwlock_timedwrlock(&lock, &mono));
	elsewhere(rwlock_other, &lock);
	SAY("write", pthread_rwlock_unlock(&lock));
	SAY("write", pthread_rwlock_timedwrlock(&lock, &expired));
	SAY("write", pthread_rwlock_unlock(&lock));
	SAY("write", pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &mono));
	SAY("write", pthread_rwlock_unlock(&lock));
	SAY("end", pthread_rwlock_destroy(&lock));
}

static void spins(void)
{
	pthread_spinlock_t lock;

	pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
	SAY("spin", pthread_spin_lock(&lock));
	SAY("spin", pthread_spin_trylock(&lock));
	SAY("spin", pthread_spin_unlock(&lock));
	SAY("spin", pthread_spin_trylock(&lock));
	SAY("spin", pthread_spin_unlock(&lock));
}

static int c11_other(void *argument)
{
	truth("c11 other %d", mtx_timedlock(argument, &expired));
	truth("c11 other %d", mtx_timedlock(argument, &invalid));
	return 7;
}

static void c11(void)
{
	mtx_t mutex;
	thrd_t thread;
	int result = 0;

	truth("c11 %d", mtx_init(&mutex, mtx_timed | mtx_recursive));
	truth("c11 %d", mtx_lock(&mutex));
	truth("c11 %d", mtx_timedlock(&mutex, &expired));
	TRUTH_CHECK(thrd_create(&thread, c11_other, &mutex) == thrd_success);
	TRUTH_CHECK(thrd_join(thread, &result) == thrd_success);
	truth("c11 result %d", result);
	for (int i = 0; i < 2; i++)
		truth("c11 %d", mtx_unlock(&mutex));
	truth("c11 %d", mtx_timedlock(&mutex, &invalid));
	truth("c11 %d", mtx_unlock(&mutex));
}

static void others(void)
{
	sem_t sem;
	pthread_barrier_t barrier;
	struct timespec mono = asleep_until(CLOCK_MONOTONIC, 20), rest = { 0, 0 };

	sem_init(&sem, 0, 2);
	truth("sem %d", sem_wait(&sem));
	truth("sem %d", sem_timedwait(&sem, &expired));
	errno = 0;
	truth("sem %d %s", sem_timedwait(&sem, &expired), name_of(errno));
	truth("sem %d %s", sem_timedwait(&sem, &invalid), name_of(errno));
	truth("sem %d %s", sem_clockwait(&sem, CLOCK_MONOTONIC, &mono), name_of(errno));
	truth("sem %d %s", sem_clockwait(&sem, 77, &mono), name_of(errno));
	pthread_barrier_init(&barrier, NULL, 1);
	truth("barrier %d", pthread_barrier_wait(&barrier));
	SAY("join", pthread_join(pthread_self(), NULL));
	errno = 0;
	truth("sleep %d %s", nanosleep(&invalid, &rest), name_of(errno));
	truth("sleep %d %s", nanosleep((void *)8, NULL), name_of(errno));
	truth("sleep %s", name_of(clock_nanosleep(77, 0, &mono, NULL)));
	truth("sleep %s", name_of(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &expired, NULL)));
	truth("sleep %s", name_of(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &mono, NULL)));
	truth("sleep %d", thrd_sleep(&invalid, NULL));
	errno = 33;
	truth("sleep %u", sleep(0));
	truth("sleep %d %d", usleep(0), errno);
}

int main(void)
{
	mutexes(); /* still the only thread at first: libc takes its short cuts */
	mutexes();
	killed_owner();
	rwlocks();
	spins();
	c11();
	others();
	truth_flush();
	return 0;
}
