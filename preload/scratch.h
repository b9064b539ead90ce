/*
 * Buffers for cold paths of hooks that need more room than a caller's stack is sure to have: a
 * signal handler on a small alternate stack may be the first to write to a descriptor.
 *
 * In: nothing. Out: one of a few static buffers, for a moment. Never here: a lock; where all are in
 * use the caller does without.
 */
#ifndef HOLTER_PRELOAD_SCRATCH_H
#define HOLTER_PRELOAD_SCRATCH_H

#include <linux/tcp.h>
#include <sys/stat.h>

#include "recorder/region/depot.h"

#include <sys/socket.h>

#define PRE_SCRATCH_TEXT 2048u

struct pre_scratch {
	uint64_t owner; /* pid; 0: free. A forked child sees a copy of its parent's as free */
	struct rec_address address;
	union {
		struct stat stat;
		struct tcp_info tcp;
		struct sockaddr_storage socket_address;
	};
	char text[PRE_SCRATCH_TEXT];
};

/**
 * pre_scratch_take() - a buffer for this thread alone until pre_scratch_give(); its content is what
 * the last user left.
 *
 * Return: the buffer; NULL when all are in use.
 * Context: any thread, signal handlers; lock-free; async-signal-safe.
 */
struct pre_scratch *pre_scratch_take(void);

/**
 * pre_scratch_give() - gives it back; NULL is ignored.
 *
 * Return: nothing. Context: as pre_scratch_take().
 */
void pre_scratch_give(struct pre_scratch *scratch);

#endif
