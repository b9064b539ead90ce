/*
 * Hooks of mutexes, read-write locks and spin locks, POSIX and C11 names.
 *
 * In: calls of the program. Out: waits and releases, to lock_wait.c. locks=try: the real trylock
 * goes first, so an uncontended lock costs no clock reading; only EBUSY leads on to the real lock,
 * since every other result is the answer (a robust mutex returns EOWNERDEAD holding it).
 * locks=timed: two clock readings around the real lock. Never here: a lock of our own, or anything
 * between the real call and the return that could fail.
 */
#include "preload/lock_wait.h"
#include "preload/real.h"
#include "recorder/sys/lean.h"

/* Set while the process has one thread (glibc 2.32); absent: never known to be alone. */
extern char __libc_single_threaded __attribute__((weak));

#define ROBUST_KIND 16	     /* PTHREAD_MUTEX_ROBUST_NORMAL_NP in __kind */
#define HELD_MASK 0x3fffffff /* tid or state; above: FUTEX_WAITERS, FUTEX_OWNER_DIED */
#define SPIN_FREE 1	     /* x86-64: 1 = free, 0 and below = taken */
/* Cold ends of the hooks; not inlined, so that the quick path needs no frame. */
#define KEPT static __attribute__((noinline))

/*
 * Where it stands. Until the constructor has looked, and with an older libc, the process is never
 * known to be alone.
 */
static const char not_alone;
static const char *alone = &not_alone;

static __attribute__((constructor)) void find_alone(void)
{
	if (&__libc_single_threaded)
		alone = &__libc_single_threaded;
}

/* Nobody can hold it: then libc's own lock is a plain store, which a trylock would not be. */
static inline bool is_alone(const pthread_mutex_t *mutex)
{
	return *(const volatile char *)alone && !(mutex->__data.__kind & PRE_SHARED_KIND);
}

static bool is_clock_usable(clockid_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

/* Of rwlocks glibc checks the time before it looks at the lock; then nothing may be tried first. */
static bool is_time_usable(clockid_t clock, const struct timespec *until)
{
	return until && is_clock_usable(clock) && until->tv_nsec >= 0 &&
	       until->tv_nsec < 1000000000;
}

/* --- mutexes ---------------------------------------------------------------------------------- */

static inline bool is_robust(const pthread_mutex_t *mutex)
{
	return (mutex->__data.__kind & ROBUST_KIND) != 0;
}

/* The owner of a recursive mutex takes it once more: no wait. */
static bool is_own_recursive(const pthread_mutex_t *mutex, uint32_t owner)
{
	return (mutex->__data.__kind & 3) == PTHREAD_MUTEX_RECURSIVE && owner != 0 &&
	       owner == rec_thread_self()->tid;
}

static bool is_taken(const pthread_mutex_t *mutex)
{
	return (__atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED) & HELD_MASK) != 0;
}

static void mutex_wait_begin(struct pre_wait *wait, const pthread_mutex_t *mutex)
{
	uint32_t owner = pre_mutex_owner(mutex);
	bool is_held = true;

	/* Not tried first: what the word says. */
	if (pre_lock_mode() == REC_LOCK_TIMED || is_robust(mutex))
		is_held = is_taken(mutex) && !is_own_recursive(mutex, owner);
	pre_wait_begin(wait, mutex, owner, is_held);
}

/*
 * The real trylock; EBUSY: the real lock is to be called, and its wait recorded. A robust mutex is
 * never tried: where it cannot be recovered, glibc's trylock says so and keeps the lock.
 */
static inline int mutex_try(pthread_mutex_t *mutex)
{
	return unlikely(is_robust(mutex)) ? EBUSY : pre_real.pthread_mutex_trylock(mutex);
}

/* The same for the rarer hooks: only with locks=try. */
static int mutex_try_if(pthread_mutex_t *mutex)
{
	return pre_lock_mode() == REC_LOCK_TRY ? mutex_try(mutex) : EBUSY;
}

KEPT int mutex_lock_waits(pthread_mutex_t *mutex)
{
	struct pre_wait wait;
	int result;

	mutex_wait_begin(&wait, mutex);
	result = pre_real.pthread_mutex_lock(mutex);
	pre_wait_end(&wait, EV_NAME_pthread_mutex, result);
	return result;
}

PRE_HOOK SYS_LEAN int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	uint32_t mode = pre_lock_mode();
	int result;

	if (unlikely(mode != REC_LOCK_TRY))
		return mode == REC_LOCK_OFF ? pre_real.pthread_mutex_lock(mutex)
					    : mutex_lock_waits(mutex);
	if (is_alone(mutex))
		return pre_real.pthread_mutex_lock(mutex);
	result = mutex_try(mutex);
	return likely(result != EBUSY) ? result : mutex_lock_waits(mutex);
}

/* Never a wait, so never an event; hooked to be called by the other hooks. */
PRE_HOOK int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	return pre_real.pthread_mutex_trylock(mutex);
}

/* The real function is called that the program called, whatever the clock. */
KEPT int mutex_timedlock_on(pthread_mutex_t *mutex, const struct timespec *until)
{
	struct pre_wait wait;
	int result = mutex_try_if(mutex);

	if (likely(result != EBUSY))
		return result;
	mutex_wait_begin(&wait, mutex);
	result = pre_real.pthread_mutex_timedlock(mutex, until);
	pre_wait_end(&wait, EV_NAME_pthread_mutex, result);
	return result;
}

PRE_HOOK int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
	if (pre_lock_mode() == REC_LOCK_OFF)
		return pre_real.pthread_mutex_timedlock(mutex, until);
	return mutex_timedlock_on(mutex, until);
}

KEPT int mutex_clocklock_on(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until)
{
	struct pre_wait wait;
	int result = mutex_try_if(mutex);

	if (likely(result != EBUSY))
		return result;
	mutex_wait_begin(&wait, mutex);
	result = pre_real.pthread_mutex_clocklock(mutex, clock, until);
	pre_wait_end(&wait, EV_NAME_pthread_mutex, result);
	return result;
}

PRE_HOOK int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
				     const struct timespec *until)
{
	/* An unusable clock is refused by the real function even where the lock is free. */
	if (pre_lock_mode() == REC_LOCK_OFF || !is_clock_usable(clock))
		return pre_real.pthread_mutex_clocklock(mutex, clock, until);
	return mutex_clocklock_on(mutex, clock, until);
}

/*
 * Worth a look before the unlock? The word comes first: the owner has it in its cache, and an
 * uncontended unlock needs nothing else. 2: a normal mutex with waiters; words of other kinds hold
 * the owner's tid, and go the longer way.
 */
static inline bool mutex_has_waiters(const pthread_mutex_t *mutex)
{
	return unlikely((unsigned)__atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED) > 1) &&
	       pre_lock_mode() != REC_LOCK_OFF && pre_mark_any();
}

static bool is_inner_unlock(const pthread_mutex_t *mutex)
{
	return (mutex->__data.__kind & 3) == PTHREAD_MUTEX_RECURSIVE && mutex->__data.__count > 1;
}

KEPT int mutex_unlock_waited(pthread_mutex_t *mutex)
{
	struct pre_release release;
	int result;

	if (is_inner_unlock(mutex))
		return pre_real.pthread_mutex_unlock(mutex);
	pre_release_begin(&release, mutex);
	result = pre_real.pthread_mutex_unlock(mutex);
	if (result == 0)
		pre_release_end(&release, EV_NAME_pthread_mutex);
	return result;
}

PRE_HOOK SYS_LEAN int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	if (likely(!mutex_has_waiters(mutex)))
		return pre_real.pthread_mutex_unlock(mutex);
	return mutex_unlock_waited(mutex);
}

/* --- C11 mutexes: glibc's mtx_t is a pthread_mutex_t, its functions call pthread's inside libc ---
 */

KEPT int mtx_lock_on(mtx_t *mutex)
{
	struct pre_wait wait;
	int result = mutex_try_if((pthread_mutex_t *)mutex);

	if (likely(result == 0))
		return thrd_success;
	if (result != EBUSY) /* to be said in C11's words */
		return pre_real.mtx_lock(mutex);
	mutex_wait_begin(&wait, (pthread_mutex_t *)mutex);
	result = pre_real.mtx_lock(mutex);
	pre_wait_end(&wait, EV_NAME_pthread_mutex, result == thrd_error ? EINVAL : 0);
	return result;
}

PRE_HOOK int mtx_lock(mtx_t *mutex)
{
	uint32_t mode = pre_lock_mode();

	if (mode == REC_LOCK_OFF || (mode == REC_LOCK_TRY && is_alone((pthread_mutex_t *)mutex)))
		return pre_real.mtx_lock(mutex);
	return mtx_lock_on(mutex);
}

KEPT int mtx_timedlock_on(mtx_t *mutex, const struct timespec *until)
{
	struct pre_wait wait;
	int result = mutex_try_if((pthread_mutex_t *)mutex);

	if (likely(result == 0))
		return thrd_success;
	if (result != EBUSY)
		return pre_real.mtx_timedlock(mutex, until);
	mutex_wait_begin(&wait, (pthread_mutex_t *)mutex);
	result = pre_real.mtx_timedlock(mutex, until);
	pre_wait_end(&wait, EV_NAME_pthread_mutex, result == thrd_error ? EINVAL : 0);
	return result;
}

PRE_HOOK int mtx_timedlock(mtx_t *mutex, const struct timespec *until)
{
	if (pre_lock_mode() == REC_LOCK_OFF)
		return pre_real.mtx_timedlock(mutex, until);
	return mtx_timedlock_on(mutex, until);
}

KEPT int mtx_unlock_waited(mtx_t *mutex)
{
	struct pre_release release;
	int result;

	if (is_inner_unlock((pthread_mutex_t *)mutex))
		return pre_real.mtx_unlock(mutex);
	pre_release_begin(&release, mutex);
	result = pre_real.mtx_unlock(mutex);
	if (result == thrd_success)
		pre_release_end(&release, EV_NAME_pthread_mutex);
	return result;
}

PRE_HOOK int mtx_unlock(mtx_t *mutex)
{
	if (likely(!mutex_has_waiters((pthread_mutex_t *)mutex)))
		return pre_real.mtx_unlock(mutex);
	return mtx_unlock_waited(mutex);
}

/* --- read-write locks ------------------------------------------------------------------------- */

static void rwlock_wait_begin(struct pre_wait *wait, const pthread_rwlock_t *lock)
{
	uint32_t owner =
		pre_lock_tid(__atomic_load_n(&lock->__data.__cur_writer, __ATOMIC_RELAXED));
	/* Phase and writer bits; readers are counted above them. */
	bool is_held = pre_lock_mode() != REC_LOCK_TIMED ||
		       __atomic_load_n(&lock->__data.__readers, __ATOMIC_RELAXED) > 1;

	pre_wait_begin(wait, lock, owner, is_held);
}

static inline int rwlock_try(pthread_rwlock_t *lock, int (*attempt)(pthread_rwlock_t *))
{
	return likely(pre_lock_mode() == REC_LOCK_TRY) ? attempt(lock) : EBUSY;
}

KEPT int rwlock_rdlock_waits(pthread_rwlock_t *lock)
{
	struct pre_wait wait;
	int result;

	rwlock_wait_begin(&wait, lock);
	result = pre_real.pthread_rwlock_rdlock(lock);
	pre_wait_end(&wait, EV_NAME_pthread_rwlock, result);
	return result;
}

PRE_HOOK SYS_LEAN int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
	uint32_t mode = pre_lock_mode();
	int result;

	if (unlikely(mode != REC_LOCK_TRY))
		return mode == REC_LOCK_OFF ? pre_real.pthread_rwlock_rdlock(lock)
					    : rwlock_rdlock_waits(lock);
	result = pre_real.pthread_rwlock_tryrdlock(lock);
	return likely(result != EBUSY) ? result : rwlock_rdlock_waits(lock);
}

KEPT int rwlock_wrlock_waits(pthread_rwlock_t *lock)
{
	struct pre_wait wait;
	int result;

	rwlock_wait_begin(&wait, lock);
	result = pre_real.pthread_rwlock_wrlock(lock);
	pre_wait_end(&wait, EV_NAME_pthread_rwlock, result);
	return result;
}

PRE_HOOK SYS_LEAN int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
	uint32_t mode = pre_lock_mode();
	int result;

	if (unlikely(mode != REC_LOCK_TRY))
		return mode == REC_LOCK_OFF ? pre_real.pthread_rwlock_wrlock(lock)
					    : rwlock_wrlock_waits(lock);
	result = pre_real.pthread_rwlock_trywrlock(lock);
	return likely(result != EBUSY) ? result : rwlock_wrlock_waits(lock);
}

PRE_HOOK int pthread_rwlock_tryrdlock(pthread_rwlock_t *lock)
{
	return pre_real.pthread_rwlock_tryrdlock(lock);
}

PRE_HOOK int pthread_rwlock_trywrlock(pthread_rwlock_t *lock)
{
	return pre_real.pthread_rwlock_trywrlock(lock);
}

KEPT int rwlock_timedrdlock_on(pthread_rwlock_t *lock, const struct timespec *until)
{
	struct pre_wait wait;
	int result = rwlock_try(lock, pre_real.pthread_rwlock_tryrdlock);

	if (likely(result != EBUSY))
		return result;
	rwlock_wait_begin(&wait, lock);
	result = pre_real.pthread_rwlock_timedrdlock(lock, until);
	pre_wait_end(&wait, EV_NAME_pthread_rwlock, result);
	return result;
}

PRE_HOOK int pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *until)
{
	if (pre_lock_mode() == REC_LOCK_OFF || !is_time_usable(CLOCK_REALTIME, until))
		return pre_real.pthread_rwlock_timedrdlock(lock, until);
	return rwlock_timedrdlock_on(lock, until);
}

KEPT int rwlock_clockrdlock_on(pthread_rwlock_t *lock, clockid_t clock,
			       const struct timespec *until)
{
	struct pre_wait wait;
	int result = rwlock_try(lock, pre_real.pthread_rwlock_tryrdlock);

	if (likely(result != EBUSY))
		return result;
	rwlock_wait_begin(&wait, lock);
	result = pre_real.pthread_rwlock_clockrdlock(lock, clock, until);
	pre_wait_end(&wait, EV_NAME_pthread_rwlock, result);
	return result;
}

PRE_HOOK int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock,
					const struct timespec *until)
{
	if (pre_lock_mode() == REC_LOCK_OFF || !is_time_usable(clock, until))
		return pre_real.pthread_rwlock_clockrdlock(lock, clock, until);
	return rwlock_clockrdlock_on(lock, clock, until);
}

KEPT int rwlock_timedwrlock_on(pthread_rwlock_t *lock, const struct timespec *until)
{
	struct pre_wait wait;
	int result = rwlock_try(lock, pre_real.pthread_rwlock_trywrlock);

	if (likely(result != EBUSY))
		return result;
	rwlock_wait_begin(&wait, lock);
	result = pre_real.pthread_rwlock_timedwrlock(lock, until);
	pre_wait_end(&wait, EV_NAME_pthread_rwlock, result);
	return result;
}

PRE_HOOK int pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *until)
{
	if (pre_lock_mode() == REC_LOCK_OFF || !is_time_usable(CLOCK_REALTIME, until))
		return pre_real.pthread_rwlock_timedwrlock(lock, until);
	return rwlock_timedwrlock_on(lock, until);
}

KEPT int rwlock_clockwrlock_on(pthread_rwlock_t *lock, clockid_t clock,
			       const struct timespec *until)
{
	struct pre_wait wait;
	int result = rwlock_try(lock, pre_real.pthread_rwlock_trywrlock);

	if (likely(result != EBUSY))
		return result;
	rwlock_wait_begin(&wait, lock);
	result = pre_real.pthread_rwlock_clockwrlock(lock, clock, until);
	pre_wait_end(&wait, EV_NAME_pthread_rwlock, result);
	return result;
}

PRE_HOOK int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock,
					const struct timespec *until)
{
	if (pre_lock_mode() == REC_LOCK_OFF || !is_time_usable(clock, until))
		return pre_real.pthread_rwlock_clockwrlock(lock, clock, until);
	return rwlock_clockwrlock_on(lock, clock, until);
}

KEPT int rwlock_unlock_waited(pthread_rwlock_t *lock)
{
	struct pre_release release;
	int result;

	pre_release_begin(&release, lock);
	result = pre_real.pthread_rwlock_unlock(lock);
	if (result == 0)
		pre_release_end(&release, EV_NAME_pthread_rwlock);
	return result;
}

PRE_HOOK int pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
	if (likely(pre_lock_mode() == REC_LOCK_OFF || !pre_mark_any()))
		return pre_real.pthread_rwlock_unlock(lock);
	return rwlock_unlock_waited(lock);
}

/* --- spin locks ------------------------------------------------------------------------------- */

KEPT int spin_lock_on(pthread_spinlock_t *lock)
{
	bool is_held = pre_lock_mode() != REC_LOCK_TIMED || *lock != SPIN_FREE;
	struct pre_wait wait;
	int result = EBUSY;

	if (likely(pre_lock_mode() == REC_LOCK_TRY))
		result = pre_real.pthread_spin_trylock(lock);
	if (likely(result != EBUSY))
		return result;
	/* No mark: the unlock is not hooked, since libc's is a single store. */
	wait = (struct pre_wait){
		.lock = (const void *)lock,
		.start = rec_clock_now(),
		.is_held = is_held,
	};
	result = pre_real.pthread_spin_lock(lock);
	pre_wait_end(&wait, EV_NAME_pthread_spinlock, result);
	return result;
}

PRE_HOOK int pthread_spin_lock(pthread_spinlock_t *lock)
{
	if (pre_lock_mode() == REC_LOCK_OFF)
		return pre_real.pthread_spin_lock(lock);
	return spin_lock_on(lock);
}

PRE_HOOK int pthread_spin_trylock(pthread_spinlock_t *lock)
{
	return pre_real.pthread_spin_trylock(lock);
}
