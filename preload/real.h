/*
 * The real functions behind the hooks.
 *
 * In: hooks.def. Out: pre_real.<name>, always callable: until a function has been looked up its
 * pointer leads to a resolver. Also the arena that serves the allocations which looking up itself
 * makes. Never here: events.
 */
#ifndef HOLTER_PRELOAD_REAL_H
#define HOLTER_PRELOAD_REAL_H

#include <dlfcn.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>

/* A hook: exported, never inlined into another one. */
#define PRE_HOOK __attribute__((visibility("default"), noinline))

struct pre_real {
#define HOOK(class, name, ret, params, args) ret(*name) params;
#define HOOKV(class, symbol, name, version, is_default, ret, params, args) ret(*symbol) params;
#define HOOKN(class, name, params, args) void(*name) params;
#include "preload/hooks.def"
	void (*cxa_throw)(void *object, void *type, void (*destructor)(void *));
};

/* Written while one thread runs (constructor), or by resolvers with equal values. */
extern struct pre_real pre_real __attribute__((visibility("hidden")));

/**
 * pre_real_resolve() - looks up every real function.
 *
 * Return: how many were not found; their pointers stay at a resolver that answers ENOSYS.
 * Context: constructor; may call our own malloc hooks, which then use the arena below.
 */
unsigned pre_real_resolve(void);

/**
 * pre_real_throw() - the real __cxa_throw: the C++ library may have been loaded after us.
 *
 * Return: NULL when there is none. Context: any thread; takes the loader's lock the first time.
 */
void (*pre_real_throw(void))(void *, void *, void (*)(void *));

/* Which hooks have no real function: bit per row of hooks.def, for holter.Coverage. */
unsigned pre_real_missing(void);

#endif
