/*
 * holter.h - a program's own events in Holter's recordings (public API, one header, nothing to
 *link).
 *
 * Every function is a weak reference that libholter.so fulfils when it is preloaded; without it
 *each call is one test and does nothing. C11 and C++.
 *
 *	static const struct holter_event_field order_fields[] = {
 *		{ "customer", "Customer", HOLTER_STRING },
 *		{ "amount", "Amount", HOLTER_LONG },
 *		{ "payload", "Payload", HOLTER_BYTES },
 *	};
 *	static struct holter_event_type order = HOLTER_EVENT_TYPE("shop.Order", "Order", "Shop /
 *Orders", HOLTER_DURATION | HOLTER_STACK, order_fields);
 *
 *	struct holter_span span = holter_begin(&order);
 *	... work ...
 *	holter_end(&span);
 *	if (holter_should_commit(&order, &span)) {
 *		union holter_event_value values[] = { { .text = name }, { .integer = 42 }, {
 *.integer = 512 } }; holter_commit(&order, &span, values);
 *	}
 */
#ifndef HOLTER_H
#define HOLTER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a field is; the unit is shown by every JFR reader. */
enum holter_event_kind {
	HOLTER_LONG = 0,    /* integer: a signed number */
	HOLTER_BOOLEAN = 1, /* integer: 0 or not */
	HOLTER_DOUBLE = 2,  /* real */
	HOLTER_STRING = 3, /* text: UTF-8 ended by NUL, may be NULL; at most 2,048 bytes are kept */
	HOLTER_BYTES = 4,  /* integer: an amount of data */
	HOLTER_NANOSECONDS = 5,	       /* integer: a span of time */
	HOLTER_MILLISECONDS = 6,       /* integer: a span of time */
	HOLTER_EPOCH_MILLISECONDS = 7, /* integer: a point in time */
	HOLTER_ADDRESS = 8,	       /* integer: a memory address */
	HOLTER_PERCENTAGE = 9,	       /* real: 1.0 is 100 % */
	HOLTER_HERTZ = 10,	       /* integer: a frequency */
};

/* Shape of an event type. */
#define HOLTER_INSTANT 0u
#define HOLTER_DURATION 1u /* has a begin and an end */
#define HOLTER_STACK 2u	   /* carries the stack of holter_commit()'s caller */

#define HOLTER_FIELDS_MAX 16

struct holter_event_field {
	const char *name;  /* a Java identifier: letters, digits, '_' */
	const char *label; /* for people */
	enum holter_event_kind kind;
};

union holter_event_value {
	int64_t integer;
	double real;
	const char *text;
};

/* An event type; static, made by HOLTER_EVENT_TYPE. */
struct holter_event_type {
	const char *name; /* "package.Name": Java identifiers and dots */
	const char *label;
	const char *category;	 /* "A / B" is a path */
	const char *description; /* may be NULL */
	uint32_t flags;
	uint32_t field_count;
	const struct holter_event_field *fields;
	uint32_t id; /* the recorder's own */
};
#define HOLTER_EVENT_TYPE(name, label, category, flags, fields)                                    \
	{                                                                                          \
		name, label, category, 0, flags, sizeof(fields) / sizeof((fields)[0]), fields, 0   \
	}

/* Begin and end in the recorder's ticks; start 0: not recorded. */
struct holter_span {
	uint64_t start;
	uint64_t end;
};

/*
 * The recorder's side; use the functions below. Return: as theirs. Context: any thread; no
 * allocation.
 */
uint64_t holter_api_begin(struct holter_event_type *type) __attribute__((weak));
uint64_t holter_api_now(void) __attribute__((weak));
int holter_api_wanted(const struct holter_event_type *type, uint64_t start, uint64_t end)
	__attribute__((weak));
void holter_api_commit(struct holter_event_type *type, uint64_t start, uint64_t end,
		       const union holter_event_value *values) __attribute__((weak));

/**
 * holter_begin() - marks the begin of an event.
 * @type: registered on first use.
 *
 * Return: the span, to be handed to holter_end() and holter_commit(); start is 0 when the event is
 * not recorded (no recorder, or switched off). Context: any thread, also signal handlers; never
 * blocks.
 */
static inline struct holter_span holter_begin(struct holter_event_type *type)
{
	struct holter_span span = { 0, 0 };

	if (holter_api_begin)
		span.start = holter_api_begin(type);
	return span;
}

/**
 * holter_end() - marks the end.
 *
 * Return: nothing. Context: as holter_begin().
 */
static inline void holter_end(struct holter_span *span)
{
	if (span->start)
		span->end = holter_api_now();
}

/**
 * holter_should_commit() - is it worth to gather the values: enabled, and over the threshold
 * (`shop.Order#threshold=10ms`)?
 *
 * Return: 1 or 0. Context: as holter_begin().
 */
static inline int holter_should_commit(const struct holter_event_type *type,
				       const struct holter_span *span)
{
	return span->start != 0 && holter_api_wanted(type, span->start, span->end);
}

/**
 * holter_commit() - records the event.
 * @span: from holter_begin(); where it was not ended, it ends now.
 * @values: one for each field, in their order; copied.
 *
 * Return: nothing; an event under its threshold is left out, one without room is counted as lost.
 * Context: as holter_begin().
 */
static inline void holter_commit(struct holter_event_type *type, struct holter_span *span,
				 const union holter_event_value *values)
{
	if (!span->start)
		return;
	if (!span->end)
		holter_end(span);
	holter_api_commit(type, span->start, span->end, values);
}

/**
 * holter_emit() - records an event without duration.
 *
 * Return: nothing. Context: as holter_begin().
 */
static inline void holter_emit(struct holter_event_type *type,
			       const union holter_event_value *values)
{
	struct holter_span span = holter_begin(type);

	span.end = span.start;
	if (span.start)
		holter_api_commit(type, span.start, span.end, values);
}

#ifdef __cplusplus
}
#endif
#endif
