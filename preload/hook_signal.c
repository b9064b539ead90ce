/*
 * Signals: the trigger, the fatal ones, and what the program sees of both.
 *
 * In: sigaction and signal called by the program; our signals. Out: dumps asked for, FatalSignal
 * events. The program's own handlers win; where it left the default ours stand, and it is shown the
 * default. Never here: anything in a handler that is not async-signal-safe, or needs more than a
 * little stack.
 */
#include <errno.h>
#include <linux/futex.h>

#include "preload/hook.h"
#include "preload/preload.h"
#include "recorder/capture/capture.h"
#include "recorder/engine/config.h"
#include "recorder/sys/raw.h"

#define SIGNALS 65
#define RESTORER_FLAG 0x04000000 /* SA_RESTORER of the kernel, which libc sets and shows */

/* A signal that we handle as long as the program leaves the default. */
struct view {
	struct sigaction program; /* the default as the program wrote it */
	uint8_t is_managed;
};

/* Changed by sigaction calls of the program, which two threads do not make at once for one signal.
 */
static struct view views[SIGNALS];
static int trigger_number;

static const int fatal_numbers[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS };

/* Under 200 bytes of stack, unless it has to start a leader, which runs on a stack of its own. */
static void on_trigger(int number, siginfo_t *info, void *context)
{
	struct rec_trigger *trigger;
	int saved = errno;

	(void)number;
	(void)info;
	(void)context;
	if (!rec_family.base)
		return;
	trigger = &rec_family.header->trigger;
	__atomic_store_n(&trigger->signal_pid, rec_process_own()->pid, __ATOMIC_RELAXED);
	__atomic_fetch_add(&trigger->signals, 1, __ATOMIC_RELEASE);
	__atomic_fetch_add(&trigger->word, 1, __ATOMIC_RELEASE);
	raw_futex(&trigger->word, FUTEX_WAKE, 1, NULL);
	/* Behind a filter none can be started, and the clock not be read. */
	if (!raw_refused() && !pre_leader_alive())
		pre_leader_start();
	errno = saved;
}

static void emit_fatal(int number, const siginfo_t *info)
{
	struct rec_thread *thread = rec_thread_self();
	struct rec_process *process;

	if (!rec_gate(EV_GATE_SIGNAL) || !rec_enabled(EV_FatalSignal))
		return;
	if (thread->tid == 0)
		thread = rec_thread_attach();
	if (thread == &rec_thread_mute)
		return;
	process = rec_process_at(&rec_family, thread->process);
	if (process)
		__atomic_fetch_or(&process->flags, REC_PROCESS_FATAL, __ATOMIC_RELAXED);
	struct ev_FatalSignal event = {
		.stack = rec_stack(thread, EV_FatalSignal),
		.signal = (uint32_t)number,
		.code = (uint32_t)info->si_code,
		.address = info->si_code > 0 ? (uint64_t)(uintptr_t)info->si_addr : 0,
		.process = rec_process_own()->pid,
	};

	rec_emit_FatalSignal(thread, rec_clock_now(), &event);
}

/* Does the kernel send it once only, so that it does not happen again by itself? */
static bool is_sent(int number, const siginfo_t *info)
{
	return info->si_code <= 0 || number == SIGSYS || /* the filter's call was skipped */
	       (number == SIGBUS && info->si_code == BUS_MCEERR_AO);
}

/*
 * Records the signal and lets it happen again, by then with the default (SA_RESETHAND): a fault
 * repeats by itself when the handler returns, so the core shows the program as it was; what was
 * sent is sent again.
 */
static void on_fatal(int number, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)context;
	emit_fatal(number, info);
	if (is_sent(number, info))
		raw_kernel3(SYS_tgkill, raw_kernel3(SYS_getpid, 0, 0, 0),
			    raw_kernel3(SYS_gettid, 0, 0, 0), number);
	errno = saved;
}

/* False: the kernel refused, the program's disposition stands. */
static bool install(int number)
{
	struct sigaction ours = { 0 };

	ours.sa_sigaction = number == trigger_number ? on_trigger : on_fatal;
	ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK |
			(number == trigger_number ? 0 : (int)SA_RESETHAND);
	return pre_real.sigaction(number, &ours, NULL) == 0;
}

/* Takes over a signal whose disposition is the default. */
static void manage(int number)
{
	struct sigaction now;

	if (pre_real.sigaction(number, NULL, &now) != 0 || (now.sa_flags & SA_SIGINFO) ||
	    now.sa_handler != SIG_DFL)
		return;
	views[number].program = now;
	views[number].is_managed = install(number);
}

void pre_signal_begin(int trigger)
{
	trigger_number = trigger > 0 && trigger < SIGNALS ? trigger : 0;
	for (size_t i = 0; i < ARRAY_LEN(fatal_numbers); i++)
		if (fatal_numbers[i] != trigger_number && rec_enabled(EV_FatalSignal))
			manage(fatal_numbers[i]);
	if (trigger_number)
		manage(trigger_number);
}

static void note_taken(int number)
{
	struct rec_process *process;

	if (number != trigger_number || !rec_family.base)
		return;
	process = rec_process_at(&rec_family, rec_process_own()->process);
	if (process)
		__atomic_fetch_or(&process->coverage, REC_COVERAGE_SIGNAL_TAKEN, __ATOMIC_RELAXED);
}

static bool is_ours(int number, const struct sigaction *now)
{
	return (now->sa_flags & SA_SIGINFO) &&
	       now->sa_sigaction == (number == trigger_number ? on_trigger : on_fatal);
}

/* The program sets the disposition. A vfork child's are its own, but its memory is the parent's. */
static int set_managed(int number, const struct sigaction *new)
{
	bool is_default = !(new->sa_flags &SA_SIGINFO) && new->sa_handler == SIG_DFL;

	if (pre_is_mute())
		return pre_real.sigaction(number, new, NULL);
	if (is_default) {
		views[number].program = *new;
		views[number].program.sa_flags |= RESTORER_FLAG;
		return install(number) ? 0 : -1;
	}
	if (pre_real.sigaction(number, new, NULL) != 0)
		return -1;
	note_taken(number);
	return 0;
}

/*
 * sigaction for a signal that we manage. What stands is asked from the kernel, since raw system
 * calls, sigset() and our own fatal handlers change it without this hook.
 */
static int managed_sigaction(int number, const struct sigaction *new, struct sigaction *old)
{
	struct sigaction before;

	if (pre_real.sigaction(number, NULL, &before) != 0)
		return -1;
	if (is_ours(number, &before))
		before = views[number].program;
	if (new &&set_managed(number, new) != 0)
		return -1;
	if (old)
		*old = before;
	return 0;
}

PRE_HOOK int sigaction(int number, const struct sigaction *new, struct sigaction *old)
{
	if (number <= 0 || number >= SIGNALS || !views[number].is_managed)
		return pre_real.sigaction(number, new, old);
	return managed_sigaction(number, new, old);
}

PRE_HOOK sighandler_t signal(int number, sighandler_t handler)
{
	struct sigaction new = { 0 }, old;

	if (number <= 0 || number >= SIGNALS || !views[number].is_managed || handler == SIG_ERR)
		return pre_real.signal(number, handler);
	/* As libc's signal(): BSD semantics. siginterrupt() for these signals is not looked at. */
	new.sa_handler = handler;
	new.sa_flags = SA_RESTART;
	sigaddset(&new.sa_mask, number);
	if (managed_sigaction(number, &new, &old) != 0)
		return SIG_ERR;
	return old.sa_handler;
}
