/*
 * What every hook of descriptors, processes and libraries begins with: are its events on, and whose
 * state is to be used.
 *
 * In: the settings in force (capture.h). Out: one test for several classes of events. Never here:
 * anything that costs more than a load and a branch while recording is off.
 */
#ifndef HOLTER_PRELOAD_HOOK_H
#define HOLTER_PRELOAD_HOOK_H

#include "preload/real.h"
#include "recorder/capture/capture.h"

/* The slow half of a hook: a frame of its own, so that the fast half is a test and a jump. */
#define PRE_SLOW static __attribute__((noinline))

/* The gate of a class as a bit of pre_gate_any()'s mask; not MEMORY and LOCK. */
#define PRE_GATE(class) (0xffull << (8 * (EV_GATE_##class - EV_GATE_SOCKET)))
#define PRE_GATE_FILE (PRE_GATE(FILE) | PRE_GATE(ERROR))
/* Who records calls on descriptors, failing ones included, must know of all their changes. */
#define PRE_GATE_IO (PRE_GATE(SOCKET) | PRE_GATE(FILE) | PRE_GATE(ERROR))

_Static_assert(EV_GATE_ERROR - EV_GATE_SOCKET < 8, "the gates of hooks lie in eight bytes");

typedef uint64_t pre_gate_word __attribute__((may_alias, aligned(1)));

/*
 * Is any of these classes on? One load of eight gates, in one cache line; each gate is a byte of
 * its own, so there is nothing to tear.
 */
static inline __attribute__((always_inline)) bool pre_gate_any(uint64_t mask)
{
	return (*(const volatile pre_gate_word *)&rec_live.gate[EV_GATE_SOCKET] & mask) != 0;
}

/* Names that headers declare only to fortified callers, or not at all. */
ssize_t __read_chk(int fd, void *buffer, size_t size, size_t room);
ssize_t __recv_chk(int fd, void *buffer, size_t size, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *buffer, size_t size, size_t room, int flags,
		       struct sockaddr *address, socklen_t *length);
ssize_t __pread_chk(int fd, void *buffer, size_t size, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *buffer, size_t size, off64_t offset, size_t room);
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		const sigset_t *mask, size_t room);
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int at, const char *path, int flags);
int __openat64_2(int at, const char *path, int flags);

/* The calling thread's state, attached; &rec_thread_mute where nothing can or shall be recorded. */
static inline struct rec_thread *pre_thread(void)
{
	struct rec_thread *thread = rec_thread_self();

	return likely(thread->tid != 0) ? thread : rec_thread_attach();
}

/*
 * True in a vfork child, which shares our memory but not our descriptors: what it does to them must
 * not be noted.
 */
static inline bool pre_is_mute(void)
{
	return rec_thread_self() == &rec_thread_mute;
}

#endif
