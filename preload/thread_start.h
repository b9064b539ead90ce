/*
 * Blocks that carry a new thread's start routine and its creator from pthread_create to the thread.
 *
 * In: creators take one. Out: the new thread gives it back at once. Memory of our own, without
 * locks. Never here: the program's allocator, which may be what is being started.
 */
#ifndef HOLTER_PRELOAD_THREAD_START_H
#define HOLTER_PRELOAD_THREAD_START_H

#include <stdint.h>

struct pre_start {
	void *(*routine)(void *);
	void *argument;
	uint32_t stack;	    /* of the creator; depot id */
	uint32_t parent;    /* tid */
	uint64_t next_free; /* address of the next free block */
};

/**
 * pre_start_new() - takes a block.
 *
 * Return: a block with undefined content; NULL where no memory can be mapped.
 * Context: any thread, many at once; lock-free; maps 16 KiB when none is free.
 */
struct pre_start *pre_start_new(void);

/* Gives a block back. Return: nothing. Context: any thread; lock-free; async-signal-safe. */
void pre_start_free(struct pre_start *start);

#endif
