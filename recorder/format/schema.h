/*
 * The event catalog as C: ids, record structs and descriptions, all expanded from events.def.
 *
 * In: events.def, kinds.def, names.def. Out: `struct ev_<Id>` for hooks (recorder/capture), and
 * ev_types[] for everything that treats events alike (dump, settings, man page, reader's binding).
 * Nothing here may know where records are stored.
 *
 * A record, in 8-byte words:
 *
 *   word 0   63..32 ticks since the chunk's base | 31..20 flags | 19..12 words | 11..0 type
 *   then the struct below: stack id (if K), duration (if D), fields in their order, packed.
 *
 * The ticks are the event's END (its start for those without duration), so that they never run
 * backwards inside a chunk except by an interrupting handler. A duration of 32 bits is in units of
 * 2^(10 * scale) ticks, scale in the flags.
 */
#ifndef HOLTER_FORMAT_SCHEMA_H
#define HOLTER_FORMAT_SCHEMA_H

#include <stdint.h>

#include "recorder/base/util.h"

#define EV_JFR_ID_BASE 1000 /* type id in a file = base + number; never a JVM's own id */
#define EV_NUMBER_MAX 128   /* numbers of events.def are below */
#define EV_USER_BASE 2048   /* record types from here are a program's own (holter.h) */
#define EV_USER_MAX 64
#define EV_TYPE_REBASE 4095 /* record: word 1 is the new base of the chunk's ticks */
#define EV_TYPE_HOLE 4094   /* record begun and not (yet) committed: skip its words */
#define EV_NAME_MAX 4096    /* string ids below are rows of names.def, others are depot ids */

#define EV_TYPE(word) ((uint32_t)((word)&0xfff))
#define EV_WORDS(word) ((uint32_t)((word) >> 12 & 0xff))
#define EV_FLAGS(word) ((uint32_t)((word) >> 20 & 0xfff))
#define EV_TICKS(word) ((uint32_t)((word) >> 32))
#define EV_WORD0(type, words, flags, ticks)                                                        \
	((uint64_t)(type) | (uint64_t)(words) << 12 | (uint64_t)(flags) << 20 |                    \
	 (uint64_t)(ticks) << 32)
#define EV_FLAG_SCALE_MASK 3u /* duration scale 0..3 */
#define EV_FLAG_NO_STACK 4u   /* a stack was wanted and could not be had */

enum ev_shape {
	EV_SHAPE_I = 0,
	EV_SHAPE_D = 1,	 /* bit 0: duration */
	EV_SHAPE_IT = 2, /* bit 1: thread */
	EV_SHAPE_DT = 3,
	EV_SHAPE_ITK = 6, /* bit 2: stack */
	EV_SHAPE_DTK = 7,
};
#define EV_HAS_DURATION 1
#define EV_HAS_THREAD 2
#define EV_HAS_STACK 4

enum ev_kind {
#define KIND(id, bits, type, pooled, annotation, argument) EV_KIND_##id,
#include "recorder/format/kinds.def"
	EV_KIND_COUNT
};

enum ev_name {
#define NAME(symbol, text) EV_NAME_##symbol,
#include "recorder/format/names.def"
	EV_NAME_COUNT
};

/* Classes of hooks; a gate is open while any event of its class is enabled. */
enum ev_gate {
	EV_GATE_MEMORY,
	EV_GATE_LOCK,
	EV_GATE_SOCKET,
	EV_GATE_FILE,
	EV_GATE_THREAD,
	EV_GATE_PROCESS,
	EV_GATE_LIBRARY,
	EV_GATE_SIGNAL,
	EV_GATE_THROW,
	EV_GATE_ERROR,
	EV_GATE_USER,
	EV_GATE_LEADER,
	EV_GATE_DUMP,
	EV_GATE_COUNT
};

/* Event numbers: EV_MonitorEnter, ... */
enum ev_number {
#define F(...)
#define H(...)
#define V(...)
#define C(...)
#define DEFAULT(...)
#define PROFILE(...)
#define EVENT(id, number, ...) EV_##id = number,
#include "recorder/format/events.def"
};

struct ev_kind_info {
	const char *id;
	uint8_t bits;
	uint8_t pooled;
	const char *jfr_type; /* NULL: not a field of the file */
	const char *annotation;
	const char *argument;
};

enum ev_role { EV_ROLE_FIELD, EV_ROLE_HIDDEN, EV_ROLE_VIEW, EV_ROLE_CONSTANT };

struct ev_field {
	const char *name;
	const char *label;
	const char *view_of; /* a view's slot; NULL else */
	uint8_t kind;	     /* enum ev_kind */
	uint8_t role;	     /* enum ev_role */
};

/* Where a field's value lies in the record, behind word 0. */
struct ev_slot {
	uint16_t offset; /* bytes */
	uint8_t bits;	 /* 0 (a constant), 32 or 64 */
};

struct ev_preset {
	uint8_t enabled;
	uint8_t stack;
	uint32_t threshold_us;
};

struct ev_type {
	const char *id;
	const char *name;
	const char *label;
	const char *category; /* "A / B" */
	const char *description;
	uint16_t number;
	uint8_t shape;
	uint8_t gate;
	uint16_t bytes; /* of the struct behind word 0, a multiple of 8 */
	uint16_t field_count;
	const struct ev_field *fields;
	struct ev_preset preset_default;
	struct ev_preset preset_profile;
};

extern const struct ev_kind_info ev_kinds[EV_KIND_COUNT];
extern const char *const ev_names[EV_NAME_COUNT];
extern const struct ev_type ev_types[];
extern const uint32_t ev_type_count;

/**
 * ev_type_by_number() - description of one event type.
 * @number: as in events.def.
 *
 * Return: the type, constant for ever; NULL when there is none of that number.
 * Context: any thread; async-signal-safe.
 */
const struct ev_type *ev_type_by_number(uint32_t number);

/**
 * ev_type_by_name() - finds a type by "jdk.SocketRead" or, without package, "SocketRead".
 * @name: not necessarily ended by NUL.
 * @length: of `name`, in bytes.
 *
 * Return: the type; NULL when there is none of that name.
 * Context: any thread; async-signal-safe.
 */
const struct ev_type *ev_type_by_name(const char *name, size_t length);

/**
 * ev_field_slot() - where the value of a field lies.
 * @type: a type of the catalog, or of a program's own events.
 * @index: of the field, below type->field_count.
 *
 * Return: offset behind word 0 and width; for a view those of the slot it looks at.
 * Context: any thread; async-signal-safe. Walks the fields, so build plans from it, not records.
 */
struct ev_slot ev_field_slot(const struct ev_type *type, uint32_t index);

/* The record structs, packed so that 32-bit fields share words; whole words in length. */
#define EV_HEAD_I
#define EV_HEAD_IT
#define EV_HEAD_D uint32_t duration;
#define EV_HEAD_DT uint32_t duration;
#define EV_HEAD_ITK uint32_t stack;
#define EV_HEAD_DTK                                                                                \
	uint32_t stack;                                                                            \
	uint32_t duration;
#define EV_UINT_0 uint64_t /* no slot: never used in a struct */
#define EV_UINT_32 uint32_t
#define EV_UINT_64 uint64_t
#define KIND(id, bits, type, pooled, annotation, argument) typedef EV_UINT_##bits ev_slot_##id;
#include "recorder/format/kinds.def"

#define F(name, kind, label) ev_slot_##kind name;
#define H(name, kind) ev_slot_##kind name;
#define V(name, kind, label, slot)
#define C(name, kind, label)
#define DEFAULT(...)
#define PROFILE(...)
#define EVENT(id, number, name, label, category, shape, gate, text, def, prof, ...)                \
	struct ev_##id {                                                                           \
		EV_HEAD_##shape __VA_ARGS__                                                        \
	} __attribute__((packed, aligned(8)));
#include "recorder/format/events.def"

#endif
