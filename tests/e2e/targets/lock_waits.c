/*
 * One wait for every kind of lock and every way to lock it: exactly one JavaMonitorEnter each, with
 * who held the lock, and what the holder has to tell at its unlock (LockHeld).
 */
#include <pthread.h>
#include <threads.h>

#include "tests/e2e/targets/asleep.h"

#define HELD_MS 15

enum how {
	LOCK,
	TIMED,
	CLOCK,
	READ,
	WRITE,
	TIMED_READ,
	TIMED_WRITE,
	CLOCK_READ,
	CLOCK_WRITE,
	SPIN,
	C11,
	C11_TIMED,
	HOWS
};

static const char *const names[HOWS] = {
	"w-lock",	 "w-timed",	 "w-clock",	  "w-read", "w-write", "w-timed-read",
	"w-timed-write", "w-clock-read", "w-clock-write", "w-spin", "w-c11",   "w-c11-timed",
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static mtx_t c11;

static __attribute__((noinline)) int wait_for_it(enum how how)
{
	struct timespec wall = asleep_until(CLOCK_REALTIME, 60000);
	struct timespec mono = asleep_until(CLOCK_MONOTONIC, 60000);

	switch (how) {
	case LOCK:
		return pthread_mutex_lock(&mutex);
	case TIMED:
		return pthread_mutex_timedlock(&mutex, &wall);
	case CLOCK:
		return pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &mono);
	case READ:
		return pthread_rwlock_rdlock(&rwlock);
	case WRITE:
		return pthread_rwlock_wrlock(&rwlock);
	case TIMED_READ:
		return pthread_rwlock_timedrdlock(&rwlock, &wall);
	case TIMED_WRITE:
		return pthread_rwlock_timedwrlock(&rwlock, &wall);
	case CLOCK_READ:
		return pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &mono);
	case CLOCK_WRITE:
		return pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &mono);
	case SPIN:
		return pthread_spin_lock(&spin);
	case C11:
		return mtx_lock(&c11);
	default:
		return mtx_timedlock(&c11, &wall);
	}
}

static void take(enum how how)
{
	if (how <= CLOCK)
		pthread_mutex_lock(&mutex);
	else if (how <= CLOCK_WRITE)
		pthread_rwlock_wrlock(&rwlock);
	else if (how == SPIN)
		pthread_spin_lock(&spin);
	else
		mtx_lock(&c11);
}

static __attribute__((noinline)) void give(enum how how)
{
	if (how <= CLOCK)
		pthread_mutex_unlock(&mutex);
	else if (how <= CLOCK_WRITE)
		pthread_rwlock_unlock(&rwlock);
	else if (how == SPIN)
		pthread_spin_unlock(&spin);
	else
		mtx_unlock(&c11);
	__asm__ volatile("" ::: "memory"); /* no tail call: give() is to be seen on the stack */
}

static volatile int is_spinning;

static void *waiter(void *argument)
{
	enum how how = *(enum how *)argument;

	pthread_setname_np(pthread_self(), names[how]);
	if (how == SPIN)
		is_spinning = 1;
	else
		asleep_soon();
	truth("%s got it: %d", names[how], wait_for_it(how));
	give(how);
	return NULL;
}

static void contend(enum how how)
{
	pthread_t thread;

	take(how);
	TRUTH_CHECK(pthread_create(&thread, NULL, waiter, &how) == 0);
	if (how == SPIN)
		while (!is_spinning)
			sched_yield();
	else
		asleep_wait();
	asleep_pass_ms(HELD_MS);
	give(how);
	TRUTH_CHECK(pthread_join(thread, NULL) == 0);
}

static const void *address_of(enum how how)
{
	return how <= CLOCK	    ? (void *)&mutex
	       : how <= CLOCK_WRITE ? (void *)&rwlock
	       : how == SPIN	    ? (void *)&spin
				    : (void *)&c11;
}

static void tell(enum how how)
{
	const char *class = how <= CLOCK	 ? "pthread_mutex_t"
			    : how <= CLOCK_WRITE ? "pthread_rwlock_t"
			    : how == SPIN	 ? "pthread_spinlock_t"
						 : "pthread_mutex_t";
	const char *owner = how == SPIN ? "" : " previousOwner.osName=holder";

	truth("expect jdk.JavaMonitorEnter count=1 thread=%s monitorClass.name=%s address=%lu "
	      "duration>=%dms%s",
	      names[how], class, (unsigned long)address_of(how), how == SPIN ? 1 : HELD_MS, owner);
	truth("expect jdk.JavaMonitorEnter count=1 thread=%s", names[how]);
	truth("expect-stack jdk.JavaMonitorEnter thread=%s wait_for_it waiter ...", names[how]);
	truth("expect holter.LockHeld count=0 thread=%s", names[how]);
}

static void *holder(void *unused)
{
	pthread_setname_np(pthread_self(), "holder");
	for (int how = 0; how < HOWS; how++)
		contend((enum how)how);
	for (int how = 0; how < HOWS; how++)
		tell((enum how)how);
	truth("expect holter.LockHeld count=3 thread=holder lockClass.name=pthread_mutex_t "
	      "address=%lu duration>=%dms",
	      (unsigned long)&mutex, HELD_MS);
	truth("expect holter.LockHeld count=2 thread=holder lockClass.name=pthread_mutex_t "
	      "address=%lu duration>=%dms",
	      (unsigned long)&c11, HELD_MS);
	truth("expect holter.LockHeld count=6 thread=holder lockClass.name=pthread_rwlock_t "
	      "address=%lu duration>=%dms",
	      (unsigned long)&rwlock, HELD_MS);
	truth("expect-stack holter.LockHeld count=11 thread=holder give contend holder ...");
	return unused;
}

int main(void)
{
	pthread_t thread;

	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	mtx_init(&c11, mtx_timed);
	TRUTH_CHECK(pthread_create(&thread, NULL, holder, NULL) == 0);
	TRUTH_CHECK(pthread_join(thread, NULL) == 0);
	truth_flush();
	return 0;
}
