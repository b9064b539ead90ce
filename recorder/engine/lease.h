/*
 * The lease: at most one leader per region at a time.
 *
 * In: the lease words of a region, a clock, who is alive. Out: taken, renewed or lost. Pure but for
 * the callback that asks whether a process lives. Never here: what the leader does.
 */
#ifndef HOLTER_ENGINE_LEASE_H
#define HOLTER_ENGINE_LEASE_H

#include "recorder/region/region.h"

#define REC_LEASE_NS 2000000000ull	 /* how long a holder may be silent */
#define REC_LEASE_BUSY_NS 60000000000ull /* while it writes a dump */

/* Who wants it. `pid` and `tid` are never both those of another living holder. */
struct rec_lease_holder {
	uint32_t pid;
	uint32_t tid; /* of a leader thread inside a program; 0 for a process */
	uint64_t start_time;
};

/* Does a holder live: the process with this start time (0 = any), and in it the thread (0 = any)?
 */
typedef bool (*rec_lease_alive)(uint32_t pid, uint32_t tid, uint64_t start_time);

/**
 * rec_lease_holder_lives() - the kernel's answer, for everything but tests.
 *
 * Return: true or false. Context: any thread; async-signal-safe.
 */
bool rec_lease_holder_lives(uint32_t pid, uint32_t tid, uint64_t start_time);

/**
 * rec_lease_take() - takes the lease if nobody holds it, its holder died, or let it expire.
 * @now_ns: CLOCK_MONOTONIC.
 *
 * Return: 0; HOLTER_E_BUSY somebody else holds it or was faster.
 * Context: any number of candidates at once; lock-free.
 */
int rec_lease_take(struct rec_lease *lease, const struct rec_lease_holder *me, uint64_t now_ns,
		   rec_lease_alive alive);

/**
 * rec_lease_renew() - the holder says that it lives, for `span_ns` from now.
 *
 * Return: 0; HOLTER_E_BUSY the lease is somebody else's now: stop leading.
 * Context: the holder.
 */
int rec_lease_renew(struct rec_lease *lease, const struct rec_lease_holder *me, uint64_t now_ns,
		    uint64_t span_ns);

/* The holder gives it up; does nothing when it is somebody else's. Return: nothing. Context:
 * holder. */
void rec_lease_release(struct rec_lease *lease, const struct rec_lease_holder *me);

/**
 * rec_lease_is_held() - does somebody living hold it now?
 *
 * Return: true or false. Context: any process that maps the region.
 */
bool rec_lease_is_held(const struct rec_lease *lease, uint64_t now_ns, rec_lease_alive alive);

#endif
