/*
 * holter_reader_value.h - an event and what is in it: times, thread, stack, values (public,
 * installed, part of holter_reader.h: include that).
 *
 * How long things last: see LIFETIME in holter_reader.h. Context of every function here: the
 * reader's thread; none blocks, and where one may allocate it says HOLTER_E_NOMEM.
 */
#ifndef HOLTER_READER_VALUE_H
#define HOLTER_READER_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef HOLTER_PUBLIC
#define HOLTER_PUBLIC __attribute__((visibility("default")))
#endif

struct holter_event;
struct holter_path;
struct holter_type;
struct holter_field;

enum holter_kind {
	HOLTER_KIND_NULL,   /* null text, or a key without constant */
	HOLTER_KIND_BOOL,   /* as.boolean */
	HOLTER_KIND_INT,    /* as.integer: byte, short, int, long */
	HOLTER_KIND_UINT,   /* as.number: the same where the field is Unsigned, widened rightly */
	HOLTER_KIND_CHAR,   /* as.number: one UTF-16 unit */
	HOLTER_KIND_FLOAT,  /* as.real: a float, exactly */
	HOLTER_KIND_DOUBLE, /* as.real */
	HOLTER_KIND_STRING, /* as.text */
	HOLTER_KIND_STRUCT, /* walk it with holter_walk_begin() */
	HOLTER_KIND_ARRAY,  /* as.count elements; walk it */
};

struct holter_text {
	const char *data; /* UTF-8, NUL behind it */
	size_t length;
};

/* Plain, to be copied; lasts as long as the event it comes from. */
struct holter_value {
	enum holter_kind kind;
	bool is_constant; /* it stands in a pool, under `key` */
	uint64_t key;
	const struct holter_type *type; /* of the value, or of an array's elements; never NULL */
	const struct holter_field
		*field; /* whose label and unit apply; NULL for the event itself */
	union {
		bool boolean;
		int64_t integer;
		uint64_t number;
		double real;
		struct holter_text text;
		uint64_t count;
	} as;
	/* private */
	const void *owner;
	const struct holter_field *element; /* by which an array's elements are read */
	const uint8_t *at;
	const uint8_t *end;
};

/* A method as stacks name it; one object per constant, so pointers of one chunk may be compared.
 * Texts are never NULL; "" where the file has none. */
struct holter_method {
	const char *name;
	const char *class_name; /* as in the file: library, or java/lang/String */
	const char *descriptor;
	int32_t modifiers;
	bool hidden;
	uint64_t key; /* in the pool of jdk.types.Method */
};

struct holter_frame {
	const struct holter_method *method; /* never NULL */
	const char *type;		    /* "Native", "C++", "Interpreted", ...; "" for none */
	int32_t line;			    /* -1 unknown */
	int32_t bytecode_index;
	uint64_t address; /* own field "pc" or "address", 0 where absent */
};

/* One object per constant, decoded once; frames run from the leaf to the root. */
struct holter_stack {
	uint64_t key;
	bool is_truncated;
	uint32_t frame_count;
	const struct holter_frame *frames;
};

/* Texts may be NULL, as in the file. */
struct holter_thread {
	uint64_t key;
	const char *os_name;
	int64_t os_id;
	const char *java_name;
	int64_t java_id;
	const char *group; /* name of its group; Holter: its process, "nginx[4711]" */
};

/* ---- events ---- */

/** holter_event_type() - Return: its type, never NULL. Context: see above. */
HOLTER_PUBLIC const struct holter_type *holter_event_type(const struct holter_event *event);
/** holter_event_start_ns() - Return: its startTime in ns since the epoch. Context: see above. */
HOLTER_PUBLIC int64_t holter_event_start_ns(const struct holter_event *event);
/** holter_event_end_ns() - Return: start where it has no duration. Context: see above. */
HOLTER_PUBLIC int64_t holter_event_end_ns(const struct holter_event *event);
/** holter_event_duration_ns() - Return: 0 where it has no duration. Context: see above. */
HOLTER_PUBLIC int64_t holter_event_duration_ns(const struct holter_event *event);
/** holter_event_offset() - Return: file offset, for holter_reader_event_at(). Context: above. */
HOLTER_PUBLIC uint64_t holter_event_offset(const struct holter_event *event);
/** holter_event_size() - Return: bytes in the file. Context: see above. */
HOLTER_PUBLIC uint64_t holter_event_size(const struct holter_event *event);

/**
 * holter_event_thread() - the thread in the field eventThread, else sampledThread.
 * @event: the event.
 *
 * Return: the thread, valid until the next chunk; NULL for none or when out of memory.
 * Context: the reader's thread; allocates on first sight of a thread.
 */
HOLTER_PUBLIC const struct holter_thread *holter_event_thread(const struct holter_event *event);

/**
 * holter_event_stack() - the stack in the field stackTrace.
 * @event: the event.
 *
 * Return: the stack, valid until the next chunk; NULL for none or when out of memory.
 * Context: the reader's thread; allocates on first sight of a stack.
 */
HOLTER_PUBLIC const struct holter_stack *holter_event_stack(const struct holter_event *event);

/** holter_event_value() - Return: the event as a struct to be walked. Context: see above. */
HOLTER_PUBLIC struct holter_value holter_event_value(const struct holter_event *event);

/**
 * holter_event_field() - the value of a field of the event's type.
 * @event: the event.
 * @index: as for holter_type_field().
 * @value: receives it.
 *
 * Return: 0, HOLTER_E_NO_FIELD, HOLTER_E_NOMEM, HOLTER_E_CORRUPT.
 * Context: the reader's thread.
 */
HOLTER_PUBLIC int holter_event_field(const struct holter_event *event, size_t index,
				     struct holter_value *value);

/**
 * holter_event_get() - a value by path, looked up anew each time; see holter_path_create().
 * @event: the event.
 * @path: such as "stackTrace.frames[0].method.name".
 * @value: receives it.
 *
 * Return: as holter_path_get(), also HOLTER_E_SYNTAX.
 * Context: the reader's thread.
 */
HOLTER_PUBLIC int holter_event_get(const struct holter_event *event, const char *path,
				   struct holter_value *value);

#ifdef __cplusplus
}
#endif
#endif
