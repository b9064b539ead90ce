/*
 * One wait for every way to wait for a condition, both ABIs of glibc included: exactly one
 * JavaMonitorWait each, with who signalled, the timeout, and whether it ran out.
 */
#include <pthread.h>
#include <threads.h>

#include "tests/e2e/targets/asleep.h"

/* The condition of before 2003: 8 bytes, the first of them 0 at the start. */
struct old_cond {
	void *inner;
};
int old_wait(struct old_cond *cond, pthread_mutex_t *mutex);
int old_timedwait(struct old_cond *cond, pthread_mutex_t *mutex, const struct timespec *until);
int old_signal(struct old_cond *cond);
int old_broadcast(struct old_cond *cond);
__asm__(".symver old_wait, pthread_cond_wait@GLIBC_2.2.5");
__asm__(".symver old_timedwait, pthread_cond_timedwait@GLIBC_2.2.5");
__asm__(".symver old_signal, pthread_cond_signal@GLIBC_2.2.5");
__asm__(".symver old_broadcast, pthread_cond_broadcast@GLIBC_2.2.5");

enum how { WAIT, TIMED, MONOTONIC, CLOCK, OLD, OLD_TIMED, C11, C11_TIMED, HOWS };

static const char *const names[HOWS] = { "c-wait", "c-timed",	  "c-mono", "c-clock",
					 "c-old",  "c-old-timed", "c-c11",  "c-c11-timed" };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER, mono_cond;
static struct {
	struct old_cond cond;
	unsigned char behind[64]; /* must be neither read for anything nor written */
} old;
static cnd_t c11_cond;
static mtx_t c11_mutex;
static int passed; /* guarded by the mutex of the case */

static const void *address_of(enum how how)
{
	return how == OLD || how == OLD_TIMED ? (void *)&old.cond
	       : how == MONOTONIC	      ? (void *)&mono_cond
	       : how >= C11		      ? (void *)&c11_cond
					      : (void *)&cond;
}

static int is_c11(enum how how)
{
	return how >= C11;
}

static void lock(enum how how)
{
	is_c11(how) ? mtx_lock(&c11_mutex) : pthread_mutex_lock(&mutex);
}

static void unlock(enum how how)
{
	is_c11(how) ? mtx_unlock(&c11_mutex) : pthread_mutex_unlock(&mutex);
}

static __attribute__((noinline)) int wait_ms(enum how how, long ms)
{
	struct timespec wall = asleep_until(CLOCK_REALTIME, ms);
	struct timespec mono = asleep_until(CLOCK_MONOTONIC, ms);

	switch (how) {
	case WAIT:
		return pthread_cond_wait(&cond, &mutex);
	case TIMED:
		return pthread_cond_timedwait(&cond, &mutex, &wall);
	case MONOTONIC:
		return pthread_cond_timedwait(&mono_cond, &mutex, &mono);
	case CLOCK:
		return pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &mono);
	case OLD:
		return old_wait(&old.cond, &mutex);
	case OLD_TIMED:
		return old_timedwait(&old.cond, &mutex, &wall);
	case C11:
		return cnd_wait(&c11_cond, &c11_mutex);
	default:
		return cnd_timedwait(&c11_cond, &c11_mutex, &wall);
	}
}

static void *waiter(void *argument)
{
	enum how how = *(enum how *)argument;
	int before = passed;

	pthread_setname_np(pthread_self(), names[how]);
	lock(how);
	asleep_soon();
	while (passed == before)
		truth("%s: %d", names[how], wait_ms(how, 60000));
	unlock(how);
	return NULL;
}

/* Odd ones are told by broadcast. */
static void notify(enum how how)
{
	if (how == OLD)
		old_signal(&old.cond);
	else if (how == OLD_TIMED)
		old_broadcast(&old.cond);
	else if (how == C11)
		cnd_signal(&c11_cond);
	else if (how == C11_TIMED)
		cnd_broadcast(&c11_cond);
	else if (how == MONOTONIC)
		pthread_cond_signal(&mono_cond);
	else
		how % 2 ? pthread_cond_broadcast(&cond) : pthread_cond_signal(&cond);
}

static void tell(enum how how)
{
	char timeout[64] = "";

	/* Milliseconds, rounded: what was asked for, not what was left. */
	if (how != WAIT && how != OLD && how != C11)
		strcpy(timeout, " timeout>=59990ms timeout<=60010ms");
	truth("expect jdk.JavaMonitorWait count=1 thread=%s monitorClass.name=pthread_cond_t "
	      "timedOut=false address=%lu notifier.osName=notifier duration>=10ms%s",
	      names[how], (unsigned long)address_of(how), timeout);
	truth("expect jdk.JavaMonitorWait count=1 thread=%s", names[how]);
	truth("expect-stack jdk.JavaMonitorWait thread=%s wait_ms waiter ...", names[how]);
}

static void *notifier(void *unused)
{
	pthread_setname_np(pthread_self(), "notifier");
	for (int i = 0; i < HOWS; i++) {
		enum how how = (enum how)i;
		pthread_t thread;

		TRUTH_CHECK(pthread_create(&thread, NULL, waiter, &how) == 0);
		asleep_wait();
		asleep_pass_ms(10);
		lock(how);
		passed++;
		notify(how);
		unlock(how);
		TRUTH_CHECK(pthread_join(thread, NULL) == 0);
		tell(how);
	}
	return unused;
}

static void *timing_out(void *unused)
{
	pthread_setname_np(pthread_self(), "timing-out");
	for (int i = 0; i < HOWS; i++) {
		if (i == WAIT || i == OLD || i == C11)
			continue;
		lock((enum how)i);
		truth("%s: %d", names[i], wait_ms((enum how)i, 30));
		truth("%s: %d", names[i], wait_ms((enum how)i, -1000));
		unlock((enum how)i);
	}
	truth("expect jdk.JavaMonitorWait count=5 thread=timing-out timedOut=true notifier=null "
	      "timeout>=29ms timeout<=31ms duration>=28ms");
	truth("expect jdk.JavaMonitorWait count=5 thread=timing-out timedOut=true timeout=0ms");
	return unused;
}

int main(void)
{
	pthread_condattr_t attr;
	pthread_t thread;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&mono_cond, &attr);
	memset(old.behind, 0xa5, sizeof(old.behind));
	mtx_init(&c11_mutex, mtx_plain);
	cnd_init(&c11_cond);
	TRUTH_CHECK(pthread_create(&thread, NULL, notifier, NULL) == 0);
	TRUTH_CHECK(pthread_join(thread, NULL) == 0);
	TRUTH_CHECK(pthread_create(&thread, NULL, timing_out, NULL) == 0);
	TRUTH_CHECK(pthread_join(thread, NULL) == 0);
	for (size_t i = 0; i < sizeof(old.behind); i++)
		TRUTH_CHECK(old.behind[i] == 0xa5);
	truth_flush();
	return 0;
}
