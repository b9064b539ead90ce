/*
 * Taking, renewing and losing the lease (lease.h).
 *
 * pid and tid are one 64-bit word, changed by compare-and-swap: whoever changes it is the leader.
 * The other fields only help others to judge the holder, and are written so that a half-written
 * lease is judged alive: the expiry first, the start time 0 (= any) until it is known.
 */
#include "recorder/engine/lease.h"

#include <errno.h>

#include "recorder/sys/procfs.h"
#include "recorder/sys/raw.h"

_Static_assert(offsetof(struct rec_lease, pid) % 8 == 0 &&
		       offsetof(struct rec_lease, tid) == offsetof(struct rec_lease, pid) + 4,
	       "pid and tid are one aligned word");

static uint64_t *lease_word(const struct rec_lease *lease)
{
	return (uint64_t *)(uintptr_t)&lease->pid;
}

static uint64_t holder_word(const struct rec_lease_holder *holder)
{
	return holder->pid | (uint64_t)holder->tid << 32;
}

bool rec_lease_holder_lives(uint32_t pid, uint32_t tid, uint64_t start_time)
{
	/* A leader thread ends with exec, while its process lives on under the same start time. */
	if (tid && raw_tgkill((int)pid, (int)tid, 0) == -ESRCH)
		return false;
	return rec_proc_alive(pid, start_time);
}

bool rec_lease_is_held(const struct rec_lease *lease, uint64_t now_ns, rec_lease_alive alive)
{
	uint64_t word = __atomic_load_n(lease_word(lease), __ATOMIC_ACQUIRE);
	uint64_t expires = __atomic_load_n(&lease->expires_ns, __ATOMIC_ACQUIRE);
	uint64_t start_time = __atomic_load_n(&lease->start_time, __ATOMIC_ACQUIRE);

	/* A region that was scribbled in cannot hold the lease for ever. */
	if (!word || expires <= now_ns || expires > now_ns + 2 * REC_LEASE_BUSY_NS)
		return false;
	return alive((uint32_t)word, (uint32_t)(word >> 32), start_time);
}

int rec_lease_take(struct rec_lease *lease, const struct rec_lease_holder *me, uint64_t now_ns,
		   rec_lease_alive alive)
{
	uint64_t old = __atomic_load_n(lease_word(lease), __ATOMIC_ACQUIRE);

	if (old != holder_word(me) && rec_lease_is_held(lease, now_ns, alive))
		return HOLTER_E_BUSY;
	/* Before the swap, so that nobody judges the new holder by the old one's fields. */
	__atomic_store_n(&lease->start_time, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&lease->expires_ns, now_ns + REC_LEASE_NS, __ATOMIC_RELEASE);
	if (!__atomic_compare_exchange_n(lease_word(lease), &old, holder_word(me), false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return HOLTER_E_BUSY;
	__atomic_store_n(&lease->start_time, me->start_time, __ATOMIC_RELEASE);
	__atomic_fetch_add(&lease->generation, 1, __ATOMIC_RELEASE);
	return 0;
}

int rec_lease_renew(struct rec_lease *lease, const struct rec_lease_holder *me, uint64_t now_ns,
		    uint64_t span_ns)
{
	if (__atomic_load_n(lease_word(lease), __ATOMIC_ACQUIRE) != holder_word(me))
		return HOLTER_E_BUSY;
	__atomic_store_n(&lease->expires_ns, now_ns + span_ns, __ATOMIC_RELEASE);
	__atomic_store_n(&lease->start_time, me->start_time, __ATOMIC_RELEASE);
	return 0;
}

void rec_lease_release(struct rec_lease *lease, const struct rec_lease_holder *me)
{
	uint64_t word = holder_word(me);

	__atomic_compare_exchange_n(lease_word(lease), &word, 0, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
}
