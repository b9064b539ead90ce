/*
 * What is known of the process's file descriptors: kind, and the depot id of the peer's address or
 * of the path.
 *
 * In: descriptors as hooks make, use and close them. Out: the kind before a recorded call, the id
 * for its event. It is a cache: descriptors also change behind our back (raw system calls, stdio),
 * so an entry may lie, costs a wrong name then and nothing else. Private memory: a forked child,
 * which inherits the descriptors, inherits the table.
 *
 *   entry  63..52 settings generation in which it was learnt; in another one it counts for nothing,
 *                 since hooks that are off do not keep the table
 *          51..40 raised whenever the descriptor is forgotten, so that who learns slowly about a
 *                 closed one notices
 *          39..35 PRE_FD_* flags | 34..32 enum pre_fd_kind | 31..0 depot id, 0 = not yet learnt
 */
#ifndef HOLTER_PRELOAD_FD_TABLE_H
#define HOLTER_PRELOAD_FD_TABLE_H

#include "preload/hook.h"

#define PRE_FD_MAX 65536u /* descriptors above are looked at each time */

enum pre_fd_kind { PRE_FD_UNKNOWN, PRE_FD_SOCKET, PRE_FD_FILE };
#define PRE_FD_STREAM (1ull << 35)
#define PRE_FD_INET (1ull << 36)
#define PRE_FD_PEER (1ull << 37)     /* connected to somebody */
#define PRE_FD_NAMELESS (1ull << 38) /* the id was looked for and cannot be had */
#define PRE_FD_TCP (PRE_FD_STREAM | PRE_FD_INET)
#define PRE_FD_FLAGS (15ull << 35)

#define PRE_FD_KIND(entry) ((enum pre_fd_kind)((entry) >> 32 & 7))
#define PRE_FD_ID(entry) ((uint32_t)(entry))
#define PRE_FD_ENTRY(kind, flags, id) ((uint64_t)(kind) << 32 | (flags) | (id))

/* Only touched pages exist. Any thread reads and writes words of it, relaxed: a word is all there
 * is. */
extern uint64_t pre_fd_words[PRE_FD_MAX] __attribute__((visibility("hidden")));

#define PRE_FD_GENERATION_SHIFT 52
#define PRE_FD_FORGOTTEN_ONE (1ull << 40)
#define PRE_FD_FORGOTTEN_MASK (0xfffull << 40)

static inline uint64_t pre_fd_generation(void)
{
	return (uint64_t)__atomic_load_n(&rec_live.generation, __ATOMIC_RELAXED)
	       << PRE_FD_GENERATION_SHIFT;
}

/* The word as it stands; 0 for descriptors outside the table. */
static inline uint64_t pre_fd_word(int fd)
{
	if (unlikely((unsigned)fd >= PRE_FD_MAX))
		return 0;
	return __atomic_load_n(&pre_fd_words[fd], __ATOMIC_RELAXED);
}

/* What is known of a descriptor; kind PRE_FD_UNKNOWN when nothing is. */
static inline uint64_t pre_fd_known(int fd)
{
	uint64_t word = pre_fd_word(fd);

	return likely(((word ^ pre_fd_generation()) >> PRE_FD_GENERATION_SHIFT) == 0) ? word : 0;
}

/**
 * pre_fd_learn() - asks the kernel for a descriptor's kind and notes it.
 *
 * Return: its entry; 0 for no descriptor, or in a vfork child.
 * Context: any thread; one raw system call; async-signal-safe.
 */
uint64_t pre_fd_learn(int fd);

/* The entry of a descriptor that is about to be used. */
static inline uint64_t pre_fd_entry(int fd)
{
	uint64_t entry = pre_fd_known(fd);

	return likely(PRE_FD_KIND(entry) != PRE_FD_UNKNOWN) ? entry : pre_fd_learn(fd);
}

/**
 * pre_fd_set() - notes a new descriptor.
 * @entry: made by PRE_FD_ENTRY().
 *
 * Return: nothing. Context: who just made the descriptor; nothing in a vfork child.
 */
void pre_fd_set(int fd, uint64_t entry);

/**
 * pre_fd_improve() - changes an entry unless the descriptor was forgotten meanwhile.
 * @seen: the entry as it was; @entry: what to put in its place, made by PRE_FD_ENTRY().
 *
 * Return: nothing. Context: any thread; lock-free; async-signal-safe; nothing in a vfork child.
 */
void pre_fd_improve(int fd, uint64_t seen, uint64_t entry);

/**
 * pre_fd_forget() - nothing is known of a descriptor any more: it is about to be closed, or new.
 * pre_fd_forget_range() - the same for first..last, both included.
 *
 * Return: nothing. Context: any thread; before the real close; nothing in a vfork child.
 */
void pre_fd_forget(int fd);
void pre_fd_forget_range(unsigned first, unsigned last);

/**
 * pre_fd_copy() - `to` has become a duplicate of `from`.
 *
 * Return: nothing. Context: as pre_fd_set().
 */
void pre_fd_copy(int from, int to);

/**
 * pre_fd_path() - depot id of the path behind a descriptor, as /proc/self/fd tells it.
 * @thread: attached. @entry: of `fd`.
 *
 * Return: the id, 0 when none can be had.
 * Context: any thread; a raw system call the first time; async-signal-safe.
 */
uint32_t pre_fd_path(struct rec_thread *thread, int fd, uint64_t entry);

#endif
