/*
 * Hooks of the malloc family: the whole family, so that no block is freed by another allocator.
 *
 * In: calls of the program. Out: blocks to record, to memory_track.c. A call that is not recorded
 * is a few instructions and a jump to the real function. An allocation is told after the real call,
 * a free before it: between the two the address is the program's alone. Never here: our own
 * allocations.
 */
#include <errno.h>
#include <gnu/libc-version.h>
#include <malloc.h>
#include <stdlib.h>

#include "preload/call_failed.h"
#include "preload/memory_track.h"
#include "preload/object.h"
#include "preload/real.h"
#include "recorder/sys/lean.h"

/* Cold ends of the hooks; not inlined, so that the quick path needs no frame. */
#define KEPT static __attribute__((noinline))

static void *allocated(void *pointer, uint64_t size, enum ev_name name)
{
	if (likely(pointer != NULL))
		pre_memory_allocated(pointer, size);
	else if (rec_gate(EV_GATE_ERROR))
		pre_call_failed(rec_thread_self(), name, errno, -1);
	return pointer;
}

KEPT void *malloc_kept(size_t size)
{
	return allocated(pre_real.malloc(size), size, EV_NAME_malloc);
}

PRE_HOOK SYS_LEAN void *malloc(size_t size)
{
	if (likely(pre_memory_passes(size)))
		return pre_real.malloc(size);
	return malloc_kept(size);
}

KEPT void free_kept(void *pointer)
{
	if (pointer)
		pre_memory_freeing(pointer);
	pre_real.free(pointer);
}

PRE_HOOK SYS_LEAN void free(void *pointer)
{
	if (likely(pre_memory_free_passes(pointer)))
		pre_real.free(pointer);
	else
		free_kept(pointer);
}

KEPT void *calloc_kept(size_t count, size_t size)
{
	void *pointer = pre_real.calloc(count, size);

	/* Where the product overflows, the real one has failed. */
	return allocated(pointer, count * size, EV_NAME_calloc);
}

PRE_HOOK SYS_LEAN void *calloc(size_t count, size_t size)
{
	size_t bytes;

	if (likely(!__builtin_mul_overflow(count, size, &bytes) && pre_memory_passes(bytes)))
		return pre_real.calloc(count, size);
	return calloc_kept(count, size);
}

/* Tells what became of a block that was to be resized; `result` is the real function's. */
static void *resized(const struct pre_forgotten *forgotten, void *result, size_t size)
{
	/* Size 0 frees in glibc; otherwise no result means that the old block lives on. */
	if (forgotten->address != 0 && (result || size == 0))
		pre_memory_freed(forgotten);
	else if (forgotten->address != 0)
		pre_memory_restore(forgotten);
	if (!result && size == 0 && forgotten->address != 0)
		return NULL;
	return allocated(result, size, EV_NAME_realloc);
}

KEPT void *realloc_kept(void *pointer, size_t size)
{
	struct pre_forgotten forgotten = { 0 };

	if (pointer)
		pre_memory_forget(pointer, &forgotten);
	return resized(&forgotten, pre_real.realloc(pointer, size), size);
}

PRE_HOOK SYS_LEAN void *realloc(void *pointer, size_t size)
{
	if (likely(pre_memory_free_passes(pointer) && pre_memory_passes(size)))
		return pre_real.realloc(pointer, size);
	return realloc_kept(pointer, size);
}

/*
 * glibc's reallocarray calls realloc as the program would: that call is seen by our hook of it, or
 * goes to an allocator that stands before us, whose blocks are not ours to touch. So it is recorded
 * here only where the allocator behind us brings its own.
 */
static bool is_reallocarray_foreign;

static __attribute__((constructor(102))) void look_at_reallocarray(void)
{
	const struct link_map *libc = pre_object_of((void *)gnu_get_libc_version);
	const struct link_map *real = pre_object_of((void *)pre_real.reallocarray);

	is_reallocarray_foreign = libc && real && libc != real;
}

KEPT void *reallocarray_kept(void *pointer, size_t count, size_t size)
{
	struct pre_forgotten forgotten = { 0 };
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes) ||
	    (pre_memory_free_passes(pointer) && pre_memory_passes(bytes)))
		return pre_real.reallocarray(pointer, count, size);
	if (pointer)
		pre_memory_forget(pointer, &forgotten);
	return resized(&forgotten, pre_real.reallocarray(pointer, count, size), bytes);
}

PRE_HOOK void *reallocarray(void *pointer, size_t count, size_t size)
{
	if (likely(!is_reallocarray_foreign))
		return pre_real.reallocarray(pointer, count, size);
	return reallocarray_kept(pointer, count, size);
}

KEPT int posix_memalign_kept(void **result, size_t align, size_t size)
{
	int error = pre_real.posix_memalign(result, align, size);

	if (error == 0 && *result)
		pre_memory_allocated(*result, size);
	else if (error != 0 && rec_gate(EV_GATE_ERROR))
		pre_call_failed(rec_thread_self(), EV_NAME_memalign, error, -1);
	return error;
}

PRE_HOOK int posix_memalign(void **result, size_t align, size_t size)
{
	if (likely(pre_memory_passes(size)))
		return pre_real.posix_memalign(result, align, size);
	return posix_memalign_kept(result, align, size);
}

KEPT void *aligned_alloc_kept(size_t align, size_t size)
{
	return allocated(pre_real.aligned_alloc(align, size), size, EV_NAME_memalign);
}

PRE_HOOK void *aligned_alloc(size_t align, size_t size)
{
	if (likely(pre_memory_passes(size)))
		return pre_real.aligned_alloc(align, size);
	return aligned_alloc_kept(align, size);
}

KEPT void *memalign_kept(size_t align, size_t size)
{
	return allocated(pre_real.memalign(align, size), size, EV_NAME_memalign);
}

PRE_HOOK void *memalign(size_t align, size_t size)
{
	if (likely(pre_memory_passes(size)))
		return pre_real.memalign(align, size);
	return memalign_kept(align, size);
}

KEPT void *valloc_kept(size_t size)
{
	return allocated(pre_real.valloc(size), size, EV_NAME_memalign);
}

PRE_HOOK void *valloc(size_t size)
{
	if (likely(pre_memory_passes(size)))
		return pre_real.valloc(size);
	return valloc_kept(size);
}

KEPT void *pvalloc_kept(size_t size)
{
	return allocated(pre_real.pvalloc(size), size, EV_NAME_memalign);
}

PRE_HOOK void *pvalloc(size_t size)
{
	if (likely(pre_memory_passes(size)))
		return pre_real.pvalloc(size);
	return pvalloc_kept(size);
}

/* Hooked only so that the family is whole: it must be answered by the allocator that made the
 * block. */
PRE_HOOK size_t malloc_usable_size(void *pointer)
{
	return pre_real.malloc_usable_size(pointer);
}
