/*
 * holter_events.h - Holter's own events as C structs (public, installed with the tables it
 * expands).
 *
 *     struct holter_event_SocketRead read;
 *
 *     if (holter_events_get_SocketRead(events, event, &read) == 0)
 *             use(read.host, read.bytesRead);
 *
 * The structs come from the catalog this was built with; the file is decoded by its own metadata.
 * What a file lacks is zero or NULL and marked in `missing`, so a newer or older recording, or a
 * JVM's event of the same name, is read as far as it goes. Integers are as in the file, in the unit
 * that holter_field_unit() tells. Texts and threads last as values do (holter_reader.h, LIFETIME).
 */
#ifndef HOLTER_EVENTS_H
#define HOLTER_EVENTS_H

#include "holter_reader.h"

#ifdef __cplusplus
extern "C" {
#endif

#if __has_include("events.def")
#define HOLTER_EVENTS_DEF "events.def" /* installed */
#else
#define HOLTER_EVENTS_DEF "recorder/format/events.def"
#endif

struct holter_events;

/* Numbers of the events: HOLTER_EVENT_SocketRead, ... */
enum holter_event_number {
	HOLTER_EVENT_NONE = 0,
#define F(...)
#define H(...)
#define V(...)
#define C(...)
#define DEFAULT(...)
#define PROFILE(...)
#define EVENT(id, number, ...) HOLTER_EVENT_##id = number,
#include HOLTER_EVENTS_DEF
};

/* The C type of each kind of kinds.def; all fit a slot of eight bytes. */
typedef int64_t holter_c_LONG;
typedef int64_t holter_c_LONG32;
typedef int64_t holter_c_INT;
typedef bool holter_c_BOOL;
typedef double holter_c_FLOAT;
typedef double holter_c_DOUBLE;
typedef int64_t holter_c_BYTES;
typedef int64_t holter_c_BYTES32;
typedef int64_t holter_c_SIZE48;
typedef int64_t holter_c_WEIGHT;
typedef uint64_t holter_c_ADDR;
typedef uint64_t holter_c_ADDR48;
typedef int64_t holter_c_NANOS;
typedef int64_t holter_c_MILLIS;
typedef int64_t holter_c_MILLIS32;
typedef int64_t holter_c_TICKSPAN;
typedef int64_t holter_c_EPOCH_MS;
typedef double holter_c_PERCENT;
typedef double holter_c_HERTZ;
typedef int64_t holter_c_HERTZ_LONG;
typedef int64_t holter_c_BITRATE;
typedef const char *holter_c_STRING;
typedef const char *holter_c_CLASS; /* its name */
typedef const struct holter_thread *holter_c_THREAD;
typedef const char *holter_c_STATE;
typedef const char *holter_c_NETIF;
typedef const char *holter_c_HOST;
typedef const char *holter_c_ADDRESS;
typedef int64_t holter_c_PORT;
typedef bool holter_c_EMPTY;
typedef int64_t holter_c_ZERO;

/* struct holter_event_SocketRead { uint64_t missing; const char *host; ... }; bit n of `missing` is
 * the n-th field behind it. Times, thread and stack are asked of the event itself. */
#define HOLTER_SLOT __attribute__((aligned(8)))
#define F(name, kind, label) holter_c_##kind name HOLTER_SLOT;
#define H(name, kind)
#define V(name, kind, label, slot) holter_c_##kind name HOLTER_SLOT;
#define C(name, kind, label) holter_c_##kind name HOLTER_SLOT;
#define DEFAULT(...)
#define PROFILE(...)
#define EVENT(id, number, name, label, category, shape, gate, text, def, prof, ...)                \
	struct holter_event_##id {                                                                 \
		uint64_t missing;                                                                  \
		__VA_ARGS__                                                                        \
	};
#include HOLTER_EVENTS_DEF

/**
 * holter_events_create() - prepares typed access; works with any reader, one at a time is fastest.
 * @events: receives it; freed with holter_events_destroy().
 *
 * Return: 0 or HOLTER_E_NOMEM.
 * Context: any thread.
 */
HOLTER_PUBLIC int holter_events_create(struct holter_events **events);

/** holter_events_destroy() - frees it, NULL too. Return: nothing. Context: its thread. */
HOLTER_PUBLIC void holter_events_destroy(struct holter_events *events);

/**
 * holter_events_number() - which of the catalog's events this is, by the name of its type.
 * @events: of holter_events_create().
 * @event: any event.
 *
 * Return: HOLTER_EVENT_*, HOLTER_EVENT_NONE for others; HOLTER_E_NOMEM.
 * Context: the reader's thread.
 */
HOLTER_PUBLIC int holter_events_number(struct holter_events *events,
				       const struct holter_event *event);

/**
 * holter_events_get() - fills in the struct of an event; the typed forms below are safer.
 * @events: of holter_events_create().
 * @event: of the catalog's number `number`.
 * @number: HOLTER_EVENT_*.
 * @result: struct holter_event_* of that number.
 *
 * Return: 0, HOLTER_E_NO_TYPE when the event is not of that number, HOLTER_E_NOMEM,
 * HOLTER_E_CORRUPT; then *result may be partly filled in.
 * Context: the reader's thread.
 */
HOLTER_PUBLIC int holter_events_get(struct holter_events *events, const struct holter_event *event,
				    int number, void *result);

/**
 * holter_events_missing() - names the first field of the catalog that this file's type lacks.
 * @events: of holter_events_create().
 * @event: one of the catalog's.
 *
 * Return: the name, constant; NULL when nothing is missing or the event is not of the catalog.
 * Context: the reader's thread.
 */
HOLTER_PUBLIC const char *holter_events_missing(struct holter_events *events,
						const struct holter_event *event);

/* int holter_events_get_SocketRead(events, event, &read), ...: as holter_events_get(). */
#define F(...)
#define H(...)
#define V(...)
#define C(...)
#define DEFAULT(...)
#define PROFILE(...)
#define EVENT(id, number, ...)                                                                     \
	static inline int holter_events_get_##id(struct holter_events *events,                     \
						 const struct holter_event *event,                 \
						 struct holter_event_##id *result)                 \
	{                                                                                          \
		return holter_events_get(events, event, number, result);                           \
	}
#include HOLTER_EVENTS_DEF

#ifdef __cplusplus
}
#endif
#endif
