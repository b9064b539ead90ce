/*
 * Looks up the real functions (real.h).
 *
 * In: hooks.def. Out: pre_real. Each pointer starts at a resolver of its own, so a hook that runs
 * before our constructor (another library's initialiser, .preinit_array) still ends in the real
 * function.
 */
#include "preload/real.h"

#include <errno.h>

#include "preload/boot.h"
#include "recorder/base/util.h"

/*
 * The thread is inside dlsym. Volatile: gcc takes dlsym for a leaf function and would delete a
 * plain guard around it. initial-exec: a first dynamic TLS access allocates.
 */
static __thread volatile uint32_t looking __attribute__((tls_model("initial-exec")));
static uint32_t missing_count;

static void *look_up(const char *name, const char *version)
{
	int saved = errno;
	void *found;

	looking = looking + 1;
	found = version ? dlvsym(RTLD_NEXT, name, version) : dlsym(RTLD_NEXT, name);
	looking = looking - 1;
	errno = saved;
	return found;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* What a hook calls whose function this libc does not have. */
#define MISSING(symbol, ret, params)                                                               \
	static ret missing_##symbol params                                                         \
	{                                                                                          \
		errno = ENOSYS;                                                                    \
		return (ret)(intptr_t)-1;                                                          \
	}
#define HOOK(class, name, ret, params, args) MISSING(name, ret, params)
#define HOOKV(class, symbol, name, version, is_default, ret, params, args)                         \
	MISSING(symbol, ret, params)
#define HOOKN(class, name, params, args)
#include "preload/hooks.def"
#pragma GCC diagnostic pop

/* Sets one pointer; the resolvers below call it, and pre_real_resolve() for all. */
#define SETTER(symbol, name, version, fallback)                                                    \
	static void set_##symbol(void)                                                             \
	{                                                                                          \
		void *found = look_up(name, version);                                              \
		if (found) {                                                                       \
			pre_real.symbol = (__typeof__(pre_real.symbol))found;                      \
		} else {                                                                           \
			pre_real.symbol = fallback;                                                \
			missing_count++;                                                           \
		}                                                                                  \
	}
#define HOOK(class, name, ret, params, args) SETTER(name, #name, NULL, missing_##name)
#define HOOKV(class, symbol, name, version, is_default, ret, params, args)                         \
	SETTER(symbol, #name, version, missing_##symbol)
#define HOOKN(class, name, params, args) SETTER(name, #name, NULL, NULL)
#include "preload/hooks.def"

/* While dlsym runs in this thread, the memory rows are served by the arena. */
#define BOOT_MEMORY(name, args)                                                                    \
	if (looking)                                                                               \
		return pre_boot_##name args;
#define BOOT_LOCK(name, args)
#define BOOT_THREAD(name, args)
#define BOOT_SOCKET(name, args)
#define BOOT_FILE(name, args)
#define BOOT_PROCESS(name, args)
#define BOOT_LIBRARY(name, args)
#define BOOT_SIGNAL(name, args)
#define HOOK(class, name, ret, params, args)                                                       \
	static ret resolve_##name params                                                           \
	{                                                                                          \
		BOOT_##class(name, args) set_##name();                                             \
		return pre_real.name args;                                                         \
	}
#define HOOKV(class, symbol, name, version, is_default, ret, params, args)                         \
	static ret resolve_##symbol params                                                         \
	{                                                                                          \
		set_##symbol();                                                                    \
		return pre_real.symbol args;                                                       \
	}
#define HOOKN(class, name, params, args)                                                           \
	static void resolve_##name params                                                          \
	{                                                                                          \
		set_##name();                                                                      \
		pre_real.name args;                                                                \
	}
#include "preload/hooks.def"

struct pre_real pre_real = {
#define HOOK(class, name, ret, params, args) .name = resolve_##name,
#define HOOKV(class, symbol, name, version, is_default, ret, params, args)                         \
	.symbol = resolve_##symbol,
#define HOOKN(class, name, params, args) .name = resolve_##name,
#include "preload/hooks.def"
};

unsigned pre_real_resolve(void)
{
	missing_count = 0;
#define HOOK(class, name, ret, params, args) set_##name();
#define HOOKV(class, symbol, name, version, is_default, ret, params, args) set_##symbol();
#define HOOKN(class, name, params, args) set_##name();
#include "preload/hooks.def"
	pre_boot_guard();
	return missing_count;
}

unsigned pre_real_missing(void)
{
	return missing_count;
}

void (*pre_real_throw(void))(void *, void *, void (*)(void *))
{
	void (*found)(void *, void *, void (*)(void *));
	void *library;

	found = __atomic_load_n(&pre_real.cxa_throw, __ATOMIC_ACQUIRE);
	if (found)
		return found;
	found = (__typeof__(found))look_up("__cxa_throw", NULL);
	if (!found) {
		/* Loaded after us by dlopen, RTLD_LOCAL: not behind us in the global scope. */
		library = pre_real.dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
		if (library)
			found = (__typeof__(found))dlsym(library, "__cxa_throw");
	}
	__atomic_store_n(&pre_real.cxa_throw, found, __ATOMIC_RELEASE);
	return found;
}
