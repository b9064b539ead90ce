/*
 * Every function of the malloc family, with what it returns in good and bad cases, and exactly the
 * events that each call must make (alloc=all).
 */
#include "tests/e2e/targets/truth.h"

#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>

static volatile uintptr_t sink;
/* Hidden from the compiler, which knows what malloc is. */
static void *(*volatile do_malloc)(size_t) = malloc;
static void *(*volatile do_calloc)(size_t, size_t) = calloc;
static void *(*volatile do_realloc)(void *, size_t) = realloc;
static void *(*volatile do_reallocarray)(void *, size_t, size_t) = reallocarray;
static void (*volatile do_free)(void *) = free;

static void keep(void *pointer)
{
	sink = (uintptr_t)pointer;
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i])
			return false;
	return true;
}

/* Sizes name the calls; each occurs once unless told otherwise. */
static void good_calls(void)
{
	void *p = do_malloc(10007), *q;

	memset(p, 7, 10007);
	p = do_realloc(p, 20011); /* grows */
	TRUTH_CHECK(((unsigned char *)p)[10006] == 7);
	p = do_realloc(p, 301); /* shrinks */
	TRUTH_CHECK(((unsigned char *)p)[300] == 7);
	TRUTH_CHECK(malloc_usable_size(p) >= 301);
	TRUTH_CHECK(do_realloc(p, 0) == NULL); /* frees */
	p = do_realloc(NULL, 302);
	do_free(p);
	p = do_calloc(7, 1009);
	TRUTH_CHECK(is_zero(p, 7 * 1009));
	p = do_reallocarray(p, 11, 1013);
	do_free(p);
	TRUTH_CHECK(posix_memalign(&q, 256, 3001) == 0 && (uintptr_t)q % 256 == 0);
	do_free(q);
	q = aligned_alloc(512, 512 * 7);
	TRUTH_CHECK((uintptr_t)q % 512 == 0);
	do_free(q);
	q = memalign(64, 3011);
	TRUTH_CHECK((uintptr_t)q % 64 == 0);
	do_free(q);
	q = valloc(3019);
	TRUTH_CHECK((uintptr_t)q % 4096 == 0);
	do_free(q);
	q = pvalloc(3023);
	TRUTH_CHECK((uintptr_t)q % 4096 == 0);
	do_free(q);
	q = do_malloc(0);
	TRUTH_CHECK(q != NULL);
	do_free(q);
	do_free(NULL);
	truth("expect profiler.Malloc count=1 thread=family size=10007 weight=10007");
	truth("expect profiler.Malloc count=1 thread=family size=20011");
	truth("expect profiler.Malloc count=1 thread=family size=301");
	truth("expect profiler.Malloc count=1 thread=family size=302");
	truth("expect profiler.Malloc count=1 thread=family size=%d", 7 * 1009);
	truth("expect profiler.Malloc count=1 thread=family size=%d", 11 * 1013);
	truth("expect profiler.Malloc count=1 thread=family size=3001");
	truth("expect profiler.Malloc count=1 thread=family size=%d", 512 * 7);
	truth("expect profiler.Malloc count=1 thread=family size=3011");
	truth("expect profiler.Malloc count=1 thread=family size=3019");
	truth("expect profiler.Malloc count=1 thread=family size=3023");
	truth("expect profiler.Malloc count=1 thread=family size=0");
}

static void say(const char *what, void *pointer)
{
	truth("%s: %s %s", what, pointer ? "a block" : "NULL", strerrorname_np(errno));
	errno = 0;
}

/* Failures leave the old block alone and make no event but CallFailed. */
static void bad_calls(void)
{
	const size_t huge = (size_t)1 << 62;
	unsigned char *p = do_malloc(4001);
	void *q = &q;

	memset(p, 9, 4001);
	errno = 0;
	say("malloc", do_malloc(huge));
	say("malloc", do_malloc(SIZE_MAX));
	say("malloc", do_malloc((size_t)1 << 63));
	say("calloc", do_calloc(huge, 16));
	say("calloc", do_calloc(huge, 1));
	say("realloc", do_realloc(p, huge));
	say("reallocarray", do_reallocarray(p, huge, 16));
	truth("posix_memalign %d %d", posix_memalign(&q, 3, 100), q == &q);
	truth("posix_memalign %d %d", posix_memalign(&q, 64, huge), q == &q);
	errno = 0;
	say("memalign", memalign(64, huge));
	say("aligned_alloc", aligned_alloc(64, huge));
	say("valloc", valloc(huge));
	say("pvalloc", pvalloc(SIZE_MAX));
	TRUTH_CHECK(p[0] == 9 && p[4000] == 9);
	errno = 33;
	do_free(p);
	truth("errno %d", errno);
	truth("expect profiler.Malloc count=1 thread=family size=4001");
	truth("expect profiler.Malloc count=13 thread=family");
	truth("expect profiler.Free count=13 thread=family");
	truth("expect holter.CallFailed count=3 call=malloc error=%d", ENOMEM);
	truth("expect holter.CallFailed count=2 call=calloc error=%d", ENOMEM);
	truth("expect holter.CallFailed count=1 call=realloc error=%d", ENOMEM);
	truth("expect holter.CallFailed count=1 call=memalign error=%d", EINVAL);
	truth("expect holter.CallFailed count=5 call=memalign error=%d", ENOMEM);
}

static void *family(void *unused)
{
	pthread_setname_np(pthread_self(), "family");
	good_calls();
	bad_calls();
	keep(unused);
	return NULL;
}

int main(void)
{
	pthread_t thread;

	TRUTH_CHECK(pthread_create(&thread, NULL, family, NULL) == 0);
	pthread_join(thread, NULL);
	truth_flush();
	return 0;
}
