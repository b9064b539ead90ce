/*
 * Seccomp (hook_seccomp.h), and the hook of syscall(), by which filters are installed.
 *
 * In: the program's calls. Out: the real results. syscall() itself is passed on by a jump, so that
 * a clone or vfork made by it finds the stack as without us. Never here: events.
 */
#include "preload/hook_seccomp.h"

#include <linux/seccomp.h>

#include "preload/hook.h"
#include "preload/preload.h"
#include "recorder/sys/raw.h"

/* libc declares it variadic; the arguments lie where they do here. */
PRE_HOOK long pre_syscall(long number, long a, long b, long c, long d, long e,
			  long f) __asm__("syscall");

/* Later none can be started, and who else would dump and remove the region? */
static void start_leader(void)
{
	if (rec_family.base && !raw_refused() && !pre_leader_alive())
		pre_leader_start();
}

bool pre_seccomp_begin(void)
{
	/* A vfork child's filter is its own, but the word is its parent's; it is mute anyway. */
	if (pre_is_mute())
		return true;
	start_leader();
	return __atomic_exchange_n(&raw_is_refused, true, __ATOMIC_ACQ_REL);
}

void pre_seccomp_end(bool before, bool is_done)
{
	struct rec_process *process;

	if (before)
		return;
	if (!is_done) {
		__atomic_store_n(&raw_is_refused, false, __ATOMIC_RELEASE);
		return;
	}
	process = rec_family.base ? rec_process_at(&rec_family, rec_process_own()->process) : NULL;
	if (process)
		__atomic_fetch_or(&process->coverage, REC_COVERAGE_SECCOMP, __ATOMIC_RELAXED);
}

void pre_seccomp_strict(void)
{
	if (pre_is_mute())
		return;
	start_leader();
	if (rec_family.base && !raw_refused())
		rec_process_silence();
	rec_clock_stop();
}

PRE_SLOW long set_filter(long mode, long flags, long argument)
{
	bool before;
	long result;

	if (mode == SECCOMP_SET_MODE_STRICT)
		pre_seccomp_strict();
	before = pre_seccomp_begin();
	result = pre_real.syscall(SYS_seccomp, mode, flags, argument, 0, 0, 0);

	pre_seccomp_end(before, result >= 0);
	return result;
}

PRE_HOOK long pre_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if (unlikely(number == SYS_seccomp &&
		     (a == SECCOMP_SET_MODE_STRICT || a == SECCOMP_SET_MODE_FILTER)))
		return set_filter(a, b, c);
	return pre_real.syscall(number, a, b, c, d, e, f);
}
