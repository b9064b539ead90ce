/*
 * The cheapest shim there can be: every function of hooks.def, passed straight on. What a program
 * costs under it is the price of interposition itself; Holter's own is measured from there.
 *
 * In: hooks.def, real.c, boot.c. Out: noop_shim.so for bench.sh.
 */
#include "preload/real.h"

/* Under names of our own, so that no prototype, attribute or builtin of libc is met. */
#define HOOK(class, name, ret, params, args)                                                       \
	PRE_HOOK ret noop_##name params __asm__(#name);                                            \
	PRE_HOOK ret noop_##name params                                                            \
	{                                                                                          \
		return pre_real.name args;                                                         \
	}
#define NOOP_VERSION_0(symbol, name, version)                                                      \
	__asm__(".symver noop_" #symbol ", " #name "@" version);
#define NOOP_VERSION_1(symbol, name, version)                                                      \
	__asm__(".symver noop_" #symbol ", " #name "@@" version);
#define HOOKV(class, symbol, name, version, is_default, ret, params, args)                         \
	PRE_HOOK ret noop_##symbol params;                                                         \
	PRE_HOOK ret noop_##symbol params                                                          \
	{                                                                                          \
		return pre_real.symbol args;                                                       \
	}                                                                                          \
	NOOP_VERSION_##is_default(symbol, name, version)
#define HOOKN(class, name, params, args)                                                           \
	PRE_HOOK void noop_##name params __asm__(#name) __attribute__((noreturn));                 \
	PRE_HOOK void noop_##name params                                                           \
	{                                                                                          \
		pre_real.name args;                                                                \
		__builtin_unreachable();                                                           \
	}
#include "preload/hooks.def"

__attribute__((constructor(101))) static void noop_begin(void)
{
	pre_real_resolve();
}
