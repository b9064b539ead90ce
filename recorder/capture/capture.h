/*
 * The hot path between a hook and the ring: enabled? over the threshold? sampled? -> one record.
 *
 * In: ticks and typed structs from the hooks (preload/hook_*.c). Out: records in the thread's
 * chunk. Never here: malloc, stdio, locks, system calls except on the slow paths of thread.c.
 *
 *   struct rec_thread *t = rec_thread_self();          // never NULL; attaches by itself
 *   if (rec_live.gate[EV_GATE_SOCKET]) {
 *           uint64_t start = rec_clock_now(); ... real call ...; uint64_t end = rec_clock_now();
 *           if (rec_wanted(EV_SocketRead, end - start)) {
 *                   struct ev_SocketRead e = { .stack = rec_stack(t, EV_SocketRead), .conn = id,
 * ... }; rec_emit_SocketRead(t, start, end, &e);
 *           }
 *   }
 * errno is the caller's business: save it where something between real call and return may change
 * it.
 */
#ifndef HOLTER_CAPTURE_CAPTURE_H
#define HOLTER_CAPTURE_CAPTURE_H

#include "recorder/capture/thread.h"

/*
 * The settings in force: the region's page, mapped over this array (all zero = off until then), so
 * one load at a fixed address decides. Written by the leader and by `holter`, never by hooks.
 */
extern struct rec_settings rec_live __attribute__((aligned(PAGE_BYTES), visibility("hidden")));

static inline bool rec_gate(enum ev_gate gate)
{
	return __atomic_load_n(&rec_live.gate[gate], __ATOMIC_RELAXED) != 0;
}

/* Long enough? False as well for events that are off. */
static inline bool rec_wanted(enum ev_number number, uint64_t duration_ticks)
{
	return duration_ticks >=
	       __atomic_load_n(&rec_live.event[number].threshold_ticks, __ATOMIC_RELAXED);
}

static inline bool rec_enabled(enum ev_number number)
{
	return (__atomic_load_n(&rec_live.event[number].flags, __ATOMIC_RELAXED) &
		REC_EVENT_ENABLED) != 0;
}

/* The caller's stack if the event's setting asks for one, else 0. */
static inline uint32_t rec_stack(struct rec_thread *thread, enum ev_number number)
{
	if (__atomic_load_n(&rec_live.event[number].flags, __ATOMIC_RELAXED) & REC_EVENT_STACK)
		return rec_stack_capture(thread);
	return 0;
}

/*
 * One of `sample` events of a kind; counts per thread. True always where sample is 0 or 1.
 */
static inline bool rec_sampled(struct rec_thread *thread, enum ev_number number)
{
	uint32_t sample = __atomic_load_n(&rec_live.event[number].sample, __ATOMIC_RELAXED);

	if (likely(sample <= 1))
		return true;
	if (++thread->sample_count[number] < sample)
		return false;
	thread->sample_count[number] = 0;
	return true;
}

/* The general form; `body` is one of schema.h's structs without its word 0. */
static inline __attribute__((always_inline)) void rec_emit(struct rec_thread *thread, uint32_t type,
							   uint32_t flags, uint64_t ticks,
							   const void *body, uint32_t bytes)
{
	if (unlikely(!rec_append(&thread->writer, type, flags, ticks, body, bytes)))
		rec_thread_append_slow(thread, type, flags, ticks, body, bytes);
}

/*
 * rec_emit_<Event>(thread, start, end, struct ev_<Event> *) for shapes with a duration, which it
 * fills in; rec_emit_<Event>(thread, now, const struct ev_<Event> *) for the others.
 */
#define REC_EMIT_D(id, number)                                                                     \
	static inline __attribute__((unused)) void rec_emit_##id(                                  \
		struct rec_thread *thread, uint64_t start, uint64_t end, struct ev_##id *event)    \
	{                                                                                          \
		uint32_t flags = 0;                                                                \
		event->duration = rec_append_scale(end - start, &flags);                           \
		rec_emit(thread, number, flags, end, event, sizeof(*event));                       \
	}
#define REC_EMIT_I(id, number)                                                                     \
	static inline __attribute__((unused)) void rec_emit_##id(                                  \
		struct rec_thread *thread, uint64_t now, const struct ev_##id *event)              \
	{                                                                                          \
		rec_emit(thread, number, 0, now, event, sizeof(*event));                           \
	}
#define REC_EMIT_DT REC_EMIT_D
#define REC_EMIT_DTK REC_EMIT_D
#define REC_EMIT_IT REC_EMIT_I
#define REC_EMIT_ITK REC_EMIT_I
#define F(...)
#define H(...)
#define V(...)
#define C(...)
#define DEFAULT(...)
#define PROFILE(...)
#define EVENT(id, number, name, label, category, shape, ...) REC_EMIT_##shape(id, number)
#include "recorder/format/events.def"

#endif
