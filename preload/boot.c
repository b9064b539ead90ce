/*
 * Bump allocator for the time before the real allocator is known (boot.h).
 *
 * In: requests of dlsym. Out: blocks with their size in front. Nothing is ever given back.
 */
#include "preload/boot.h"

#include <errno.h>

#include "recorder/base/util.h"
#include "recorder/sys/raw.h"

#define BOOT_BYTES 65536u
#define BOOT_HEAD 16u

static uint8_t boot_arena[BOOT_BYTES] __attribute__((aligned(PAGE_BYTES)));
static uint32_t boot_used;	    /* bytes handed out; several threads may look up at once */
static struct pre_real boot_behind; /* the real functions behind the guards */

static bool boot_owns(const void *pointer)
{
	return (uintptr_t)pointer - (uintptr_t)boot_arena < BOOT_BYTES;
}

static size_t boot_size(const void *pointer)
{
	return *(const size_t *)(const void *)((const uint8_t *)pointer - BOOT_HEAD);
}

static void *boot_take(size_t align, size_t size)
{
	if (align < BOOT_HEAD)
		align = BOOT_HEAD;
	if (size > BOOT_BYTES || align > PAGE_BYTES || (align & (align - 1)) != 0)
		goto none;
	uint32_t need = (uint32_t)(align_up(size, BOOT_HEAD) + align + BOOT_HEAD);
	uint32_t at = __atomic_fetch_add(&boot_used, need, __ATOMIC_RELAXED);

	if (at + need > BOOT_BYTES)
		goto none;
	uintptr_t block = align_up((uintptr_t)boot_arena + at + BOOT_HEAD, align);

	*(size_t *)(block - BOOT_HEAD) = size;
	return (void *)block;
none:
	errno = ENOMEM;
	return NULL;
}

void *pre_boot_malloc(size_t size)
{
	return boot_take(BOOT_HEAD, size);
}

void pre_boot_free(void *pointer)
{
	(void)pointer;
}

void *pre_boot_calloc(size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		bytes = BOOT_BYTES + 1ul;
	return boot_take(BOOT_HEAD, bytes);
}

void *pre_boot_realloc(void *pointer, size_t size)
{
	void *block = boot_take(BOOT_HEAD, size);

	/* Only blocks of the arena can come here: nothing else exists while looking up. */
	if (block && pointer && boot_owns(pointer))
		memcpy(block, pointer, min_u64(size, boot_size(pointer)));
	return block;
}

void *pre_boot_reallocarray(void *pointer, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		bytes = BOOT_BYTES + 1ul;
	return pre_boot_realloc(pointer, bytes);
}

int pre_boot_posix_memalign(void **result, size_t align, size_t size)
{
	void *block = boot_take(align, size);

	if (!block)
		return ENOMEM;
	*result = block;
	return 0;
}

void *pre_boot_aligned_alloc(size_t align, size_t size)
{
	return boot_take(align, size);
}

void *pre_boot_memalign(size_t align, size_t size)
{
	return boot_take(align, size);
}

void *pre_boot_valloc(size_t size)
{
	return boot_take(PAGE_BYTES, size);
}

void *pre_boot_pvalloc(size_t size)
{
	return boot_take(PAGE_BYTES, align_up(size, PAGE_BYTES));
}

size_t pre_boot_malloc_usable_size(void *pointer)
{
	return pointer ? boot_size(pointer) : 0;
}

/* Mapping needs no allocator: straight to the kernel, with libc's way of telling errors. */
void *pre_boot_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	void *result = raw_mmap(at, size, prot, flags, fd, offset);

	if (!raw_is_error(result))
		return result;
	errno = (int)-(intptr_t)result;
	return MAP_FAILED;
}

void *pre_boot_mmap64(void *at, size_t size, int prot, int flags, int fd, off64_t offset)
{
	return pre_boot_mmap(at, size, prot, flags, fd, offset);
}

int pre_boot_munmap(void *at, size_t size)
{
	int result = raw_munmap(at, size);

	if (result == 0)
		return 0;
	errno = -result;
	return -1;
}

void *pre_boot_mremap(void *at, size_t old_size, size_t new_size, int flags, void *to)
{
	void *result = (void *)raw_syscall6(SYS_mremap, (long)at, (long)old_size, (long)new_size,
					    flags, (long)to, 0);

	if (!raw_is_error(result))
		return result;
	errno = (int)-(intptr_t)result;
	return MAP_FAILED;
}

static void guarded_free(void *pointer)
{
	if (!boot_owns(pointer))
		boot_behind.free(pointer);
}

static void *guarded_realloc(void *pointer, size_t size)
{
	void *block;

	if (!boot_owns(pointer))
		return boot_behind.realloc(pointer, size);
	block = boot_behind.malloc(size);
	if (block)
		memcpy(block, pointer, min_u64(size, boot_size(pointer)));
	return block;
}

static void *guarded_reallocarray(void *pointer, size_t count, size_t size)
{
	size_t bytes;

	if (!boot_owns(pointer))
		return boot_behind.reallocarray(pointer, count, size);
	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return guarded_realloc(pointer, bytes);
}

static size_t guarded_malloc_usable_size(void *pointer)
{
	return boot_owns(pointer) ? boot_size(pointer) : boot_behind.malloc_usable_size(pointer);
}

void pre_boot_guard(void)
{
	if (__atomic_load_n(&boot_used, __ATOMIC_RELAXED) == 0)
		return;
	boot_behind = pre_real;
	pre_real.free = guarded_free;
	pre_real.realloc = guarded_realloc;
	pre_real.reallocarray = guarded_reallocarray;
	pre_real.malloc_usable_size = guarded_malloc_usable_size;
}
