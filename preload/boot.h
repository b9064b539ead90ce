/*
 * The arena that serves allocations made while the real allocator is being looked up (dlsym itself
 * may call calloc). Its blocks are recognised for ever: free() ignores them, realloc() copies them
 * out.
 *
 * In: calls of the resolvers in real.c. Out: zeroed blocks of a static buffer. Never here: events.
 */
#ifndef HOLTER_PRELOAD_BOOT_H
#define HOLTER_PRELOAD_BOOT_H

#include "preload/real.h"

/**
 * pre_boot_guard() - if the arena handed out blocks, puts guards before the real free, realloc,
 * reallocarray and malloc_usable_size; without blocks those stay untouched and cost nothing.
 *
 * Return: nothing. Context: after pre_real_resolve(), one thread.
 */
void pre_boot_guard(void);

/* The memory rows of hooks.def, served from the arena. NULL with ENOMEM when it is used up. */
void *pre_boot_malloc(size_t size);
void pre_boot_free(void *pointer);
void *pre_boot_calloc(size_t count, size_t size);
void *pre_boot_realloc(void *pointer, size_t size);
void *pre_boot_reallocarray(void *pointer, size_t count, size_t size);
int pre_boot_posix_memalign(void **result, size_t align, size_t size);
void *pre_boot_aligned_alloc(size_t align, size_t size);
void *pre_boot_memalign(size_t align, size_t size);
void *pre_boot_valloc(size_t size);
void *pre_boot_pvalloc(size_t size);
size_t pre_boot_malloc_usable_size(void *pointer);
void *pre_boot_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
void *pre_boot_mmap64(void *at, size_t size, int prot, int flags, int fd, off64_t offset);
int pre_boot_munmap(void *at, size_t size);
void *pre_boot_mremap(void *at, size_t old_size, size_t new_size, int flags, void *to);

#endif
