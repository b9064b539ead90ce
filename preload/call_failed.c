/*
 * Emits holter.CallFailed (call_failed.h).
 */
#include "preload/call_failed.h"

void pre_call_failed(struct rec_thread *thread, enum ev_name call, int error, int fd)
{
	if (!rec_enabled(EV_CallFailed))
		return;
	if (thread->tid == 0)
		thread = rec_thread_attach();
	if (thread == &rec_thread_mute || !rec_sampled(thread, EV_CallFailed))
		return;
	struct ev_CallFailed event = {
		.stack = rec_stack(thread, EV_CallFailed),
		.call = call,
		.error = (uint32_t)error,
		.descriptor = (uint32_t)fd,
		.process = rec_process_own()->pid,
	};

	rec_emit_CallFailed(thread, rec_clock_now(), &event);
}
