/*
 * Hook of C++ throw.
 *
 * In: __cxa_throw with the thrown object. Out: ExceptionThrow with the class's mangled name and,
 * where it can be read without running code of the program, the text of what(); then a jump to the
 * real throw, so that unwinding begins in the frame that called us. Never here: demangling; calls
 * of the object's functions.
 */
#include "preload/hook_throw.h"

#include <errno.h>
#include <link.h>

#include "preload/hook.h"

#pragma weak _dl_find_object /* glibc 2.35 */

typedef void (*throw_function)(void *object, void *type, void (*destructor)(void *));

#define CALLERS 16u
#define KEY_BUSY 1u
#define ANCESTORS_MAX 16

/* std::type_info, and __si_class_type_info of a class with one base, as the C++ ABI lays them out.
 */
struct type_info {
	const struct type_info *const *vtable; /* [-1] is the type_info of this type_info */
	const char *name;
	const struct type_info *base; /* only with one base */
};

/*
 * Mutable globals: the function found in the global scope; where there is none, what serves which
 * object (a plugin with a C++ library of its own). A key is the object's base with the number of
 * unloadings above it, 0 = free, KEY_BUSY = being written; `real` changes only under the latter.
 */
static throw_function global_real;
static uint64_t unloadings;
static struct caller {
	uint64_t key;
	throw_function real;
} callers[CALLERS];

void __cxa_throw(void *object, void *type, void (*destructor)(void *));

void pre_throw_forget(void)
{
	__atomic_fetch_add(&unloadings, 1, __ATOMIC_ACQ_REL);
	__atomic_store_n(&global_real, NULL, __ATOMIC_RELEASE);
	__atomic_store_n(&pre_real.cxa_throw, NULL, __ATOMIC_RELEASE);
}

static uint64_t key_of(uint64_t base)
{
	return base | __atomic_load_n(&unloadings, __ATOMIC_ACQUIRE) << 48;
}

static throw_function known_to(uint64_t key)
{
	for (size_t i = 0; i < CALLERS; i++) {
		throw_function real;

		if (__atomic_load_n(&callers[i].key, __ATOMIC_ACQUIRE) != key)
			continue;
		real = __atomic_load_n(&callers[i].real, __ATOMIC_ACQUIRE);
		if (__atomic_load_n(&callers[i].key, __ATOMIC_RELAXED) == key)
			return real;
	}
	return NULL;
}

/* Takes an entry that is free or older than the last unloading. */
static void remember(uint64_t key, throw_function real)
{
	for (size_t i = 0; i < CALLERS; i++) {
		uint64_t old = __atomic_load_n(&callers[i].key, __ATOMIC_ACQUIRE);

		if (old == KEY_BUSY || (old != 0 && old >> 48 == key >> 48) ||
		    !__atomic_compare_exchange_n(&callers[i].key, &old, KEY_BUSY, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		__atomic_store_n(&callers[i].real, real, __ATOMIC_RELEASE);
		__atomic_store_n(&callers[i].key, key, __ATOMIC_RELEASE);
		return;
	}
}

/*
 * As the dynamic linker would bind the caller without us: the global scope behind us, then the
 * caller's own libraries; at last any C++ library there is. dlerror's state is left empty.
 */
static __attribute__((noinline)) throw_function look_up(const void *caller)
{
	struct dl_find_object object;
	int saved = errno;
	throw_function real;
	uint64_t key = 0;

	if (_dl_find_object && _dl_find_object((void *)(uintptr_t)caller, &object) == 0)
		key = key_of((uint64_t)object.dlfo_map_start);
	real = key ? known_to(key) : NULL;
	if (real)
		return real;
	real = (throw_function)dlsym(RTLD_NEXT, "__cxa_throw");
	if (real) {
		__atomic_store_n(&global_real, real, __ATOMIC_RELEASE);
	} else {
		if (key != 0)
			real = (throw_function)dlsym(object.dlfo_link_map, "__cxa_throw");
		if (!real || real == __cxa_throw)
			real = pre_real_throw();
		dlerror();
		if (real && key != 0)
			remember(key, real);
	}
	errno = saved;
	return real;
}

/* A type's name without the mark of types that are local to their object. */
static const char *name_of(const struct type_info *type)
{
	return type->name[0] == '*' ? type->name + 1 : type->name;
}

static bool has_one_base(const struct type_info *type)
{
	const struct type_info *meta = type->vtable[-1];

	return meta && strcmp(name_of(meta), "N10__cxxabiv120__si_class_type_infoE") == 0;
}

/*
 * what() of an object derived from std::runtime_error or std::logic_error by single inheritance:
 * both keep a pointer to their text behind the vtable's. Others could only be asked by calling
 * them.
 */
static const char *message_of(const void *object, const struct type_info *type)
{
	for (int i = 0; type && i < ANCESTORS_MAX && has_one_base(type); i++) {
		const char *name = name_of(type);

		if (strcmp(name, "St13runtime_error") == 0 || strcmp(name, "St11logic_error") == 0)
			return ((const char *const *)object)[1];
		type = type->base;
	}
	return NULL;
}

static __attribute__((noinline)) void emit_throw(const void *object, const struct type_info *type)
{
	struct rec_thread *thread = pre_thread();
	const char *message;
	const char *name;
	uint64_t now;

	if (thread == &rec_thread_mute || !rec_sampled(thread, EV_ExceptionThrow))
		return;
	name = name_of(type);
	message = message_of(object, type);
	now = rec_clock_now();
	struct ev_ExceptionThrow event = {
		.stack = rec_stack(thread, EV_ExceptionThrow),
		.message =
			message ? rec_string(thread, message, strnlen(message, REC_DEPOT_BYTES_MAX))
				: 0,
		.thrownClass = rec_string(thread, name, strnlen(name, REC_DEPOT_BYTES_MAX)),
	};

	rec_emit_ExceptionThrow(thread, now, now, &event);
}

PRE_HOOK void __cxa_throw(void *object, void *type, void (*destructor)(void *))
{
	throw_function real = __atomic_load_n(&global_real, __ATOMIC_ACQUIRE);

	if (unlikely(pre_gate_any(PRE_GATE(THROW))) && rec_enabled(EV_ExceptionThrow) && type)
		emit_throw(object, type);
	if (unlikely(!real))
		real = look_up(__builtin_return_address(0));
	if (!real)
		pre_real.abort(); /* nobody could have built this */
	real(object, type, destructor);
}
