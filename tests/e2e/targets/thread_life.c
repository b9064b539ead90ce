/*
 * Threads of every kind and every end: one ThreadStart with its creator's stack and one ThreadEnd
 * each, names as they were given, stacks and results as without the recorder.
 */
#include <limits.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <threads.h>

#include "tests/e2e/targets/asleep.h"

#define MANY 300

static pthread_key_t key;
static volatile int destructors, cleanups, count;
static volatile long sink;

/* The name under which a thread's events are looked for; the last of its acts. */
static void *returns(void *name)
{
	pthread_setname_np(pthread_self(), name);
	pthread_setspecific(key, name);
	return (void *)77;
}

static void *exits(void *name)
{
	pthread_setname_np(pthread_self(), name);
	pthread_exit((void *)78);
}

static void cleanup(void *unused)
{
	(void)unused;
	cleanups++;
}

static void *is_cancelled(void *name)
{
	pthread_setname_np(pthread_self(), name);
	pthread_cleanup_push(cleanup, NULL);
	asleep_soon();
	for (;;)
		pause();
	pthread_cleanup_pop(0);
	return NULL;
}

static int c11_returns(void *name)
{
	pthread_setname_np(pthread_self(), name);
	return 79;
}

static int c11_exits(void *name)
{
	pthread_setname_np(pthread_self(), name);
	thrd_exit(80);
}

/* Uses nearly all of the smallest stack there is. */
static void *small(void *name)
{
	volatile char use[4096];

	prctl(PR_SET_NAME, name);
	for (size_t i = 0; i < sizeof(use); i++)
		use[i] = (char)i;
	sink = use[100];
	free(malloc(1000));
	return (void *)81;
}

static void *named_by_other(void *unused)
{
	asleep_soon();
	pause();
	return unused;
}

static void *counts(void *unused)
{
	__atomic_fetch_add(&count, 1, __ATOMIC_SEQ_CST);
	return unused;
}

static void on_key(void *value)
{
	free(malloc(10)); /* recorded after the thread's code is over */
	destructors += value != NULL;
}

static __attribute__((noinline)) pthread_t create(const pthread_attr_t *attr, void *(*body)(void *),
						  const char *name)
{
	pthread_t thread;

	TRUTH_CHECK(pthread_create(&thread, attr, body, (void *)name) == 0);
	return thread;
}

static void join(pthread_t thread, const char *name)
{
	void *result = NULL;

	TRUTH_CHECK(pthread_join(thread, &result) == 0);
	truth("%s: %ld", name, (long)result);
}

static void tell(const char *name, const char *creator)
{
	truth("expect jdk.ThreadStart count=1 thread=%s thread.osName=%s "
	      "parentThread.osThreadId=%d",
	      name, name, getpid());
	truth("expect jdk.ThreadEnd count=1 thread=%s thread.osName=%s", name, name);
	truth("expect-stack jdk.ThreadStart thread=%s %s ...", name, creator);
}

static void c11(void)
{
	thrd_t thread;
	int result;

	TRUTH_CHECK(thrd_create(&thread, c11_returns, "t-c11") == thrd_success);
	TRUTH_CHECK(thrd_join(thread, &result) == thrd_success);
	truth("t-c11: %d", result);
	TRUTH_CHECK(thrd_create(&thread, c11_exits, "t-c11-exit") == thrd_success);
	TRUTH_CHECK(thrd_join(thread, &result) == thrd_success);
	truth("t-c11-exit: %d", result);
	tell("t-c11", "c11 main");
	tell("t-c11-exit", "c11 main");
}

static void many(void)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < MANY; i++) {
		create(&attr, counts, NULL);
		while (__atomic_load_n(&count, __ATOMIC_SEQ_CST) != i + 1)
			sched_yield();
	}
	truth("%d threads", count);
}

static void refused(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	TRUTH_CHECK(pthread_attr_setstacksize(&attr, (size_t)1 << 46) == 0);
	int error = pthread_create(&thread, &attr, returns, NULL);

	truth("too large: %s", strerrorname_np(error));
	truth("expect holter.CallFailed count=1 call=pthread_create error=%d", error);
}

int main(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_key_create(&key, on_key);
	join(create(NULL, returns, "t-return"), "t-return");
	join(create(NULL, exits, "t-exit"), "t-exit");
	thread = create(NULL, is_cancelled, "t-cancel");
	asleep_wait();
	TRUTH_CHECK(pthread_cancel(thread) == 0);
	join(thread, "t-cancel");
	pthread_attr_init(&attr);
	TRUTH_CHECK(pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN) == 0);
	join(create(&attr, small, "t-small"), "t-small");
	thread = create(NULL, named_by_other, NULL);
	asleep_wait();
	TRUTH_CHECK(pthread_setname_np(thread, "t-named") == 0);
	truth("long name: %s", strerrorname_np(pthread_setname_np(thread, "much too long a name")));
	pthread_cancel(thread);
	join(thread, "t-named");
	c11();
	many();
	refused();
	truth("%d destructors, %d cleanups", destructors, cleanups);
	tell("t-return", "create main");
	tell("t-exit", "create main");
	tell("t-cancel", "create main");
	tell("t-small", "create main");
	tell("t-named", "create main");
	truth("expect jdk.ThreadStart count=%d", MANY + 7);
	/* The last of the detached ones may still be ending. */
	truth("expect jdk.ThreadEnd count>=%d", MANY + 6);
	truth("expect-stack jdk.ThreadStart count=%d create many main ...", MANY);
	truth_flush();
	return 0;
}
