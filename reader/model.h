/*
 * What the reader knows while it is inside a chunk: types, pools, the event at hand.
 *
 * Filled in by {chunk,meta,pool,event}_read.c; lies in the chunk's bytes or arena, ends with it.
 */
#ifndef HOLTER_READER_MODEL_H
#define HOLTER_READER_MODEL_H

#include "reader/cursor.h"
#include "reader/holter_reader.h"
#include "reader/rdr_arena.h"
#include "reader/rdr_index.h"
#include "reader/source.h"

#define RDR_DEPTH_MAX 32 /* structs inside structs, elements inside elements */
#define RDR_HOPS_MAX 16	 /* constants that are nothing but another constant */
#define RDR_HEADER_BYTES 68
#define RDR_PROBLEMS_KEPT 64
#define RDR_FIELDS_MAX 65535
#define RDR_HEAD_MAX 6 /* start, duration, thread, stack and a little more */

/* How the bytes of a value lie, as far as skipping needs to know. */
enum rdr_op {
	RDR_OP_BAD, /* of unknown length: whoever contains it cannot be read */
	RDR_OP_BYTE,
	RDR_OP_VARINT,
	RDR_OP_4,
	RDR_OP_8,
	RDR_OP_STRING,
	RDR_OP_STRUCT,
	RDR_OP_ARRAY,
};

/* Types whose constants are decoded into a struct of their own, once. */
enum rdr_role {
	RDR_ROLE_NONE,
	RDR_ROLE_TEXT, /* a String, or a simple type of one */
	RDR_ROLE_THREAD,
	RDR_ROLE_STACK,
	RDR_ROLE_METHOD,
};

struct rdr_attribute {
	const char *key;
	const char *value; /* may be NULL */
};

struct holter_annotation {
	const struct holter_type *type;
	const struct rdr_attribute *attributes;
	uint32_t attribute_count;
};

struct rdr_annotations {
	struct holter_annotation *all;
	uint32_t count;
};

struct holter_setting {
	const char *name;
	const char *default_value;
	const struct holter_type *type;
	struct rdr_annotations annotations;
};

struct holter_field {
	const char *name;
	struct holter_type *type; /* NULL when undeclared */
	uint8_t op;		  /* of the field as it stands in the file */
	uint8_t element_op;	  /* of one element; the same where it is no array */
	uint8_t unit;		  /* enum holter_unit */
	bool is_array;
	bool is_pooled;
	bool is_unsigned;
	uint16_t segment; /* of an event's field behind the head */
	const char *label;
	const char *description;
	struct rdr_annotations annotations;
};

struct rdr_constant {
	uint64_t key; /* first: rdr_index */
	const uint8_t *at;
	const uint8_t *end;
	void *decoded; /* by the role of its type; NULL = not yet */
};

/* A step over fields of an event: `run` integers from `field` on, or with 0 one field of any kind.
 */
struct rdr_segment {
	uint16_t field;
	uint16_t run;
};

struct rdr_pool {
	struct rdr_constant *constants; /* newest first */
	uint32_t count;
	uint32_t capacity;
	struct rdr_index index;
};

struct holter_type {
	uint64_t id; /* first: rdr_index */
	const char *name;
	const char *super;
	uint32_t index;
	uint8_t base; /* enum holter_base */
	uint8_t op;
	uint8_t role;
	uint8_t depth;	/* inline structs below it; RDR_DEPTH_MAX or more: unreadable */
	bool is_simple; /* one field stands for the whole */
	bool is_marked_simple;
	bool is_event;
	bool is_bad_reported;
	uint16_t varint_count; /* of a struct of nothing but integers; 0 else */
	uint16_t field_count;
	struct holter_field *fields;
	struct holter_setting *settings;
	uint32_t setting_count;
	uint32_t category_count;
	const char **categories;
	const char *label;
	const char *description;
	struct rdr_annotations annotations;
	struct rdr_pool pool;
	/* of event types: numbers of well-known fields, -1 for none */
	int32_t start_field;
	int32_t duration_field;
	int32_t thread_field;
	int32_t stack_field;
	uint32_t count_number;	/* in the reader's counts */
	uint32_t head_count;	/* integers at the start, decoded with the event */
	uint32_t segment_count; /* what is behind them, stepped over */
	struct rdr_segment *segments;
};

struct holter_event {
	struct holter_reader *reader;
	const struct holter_type *type;
	const uint8_t *at;   /* its size field */
	const uint8_t *body; /* first byte behind the type id */
	const uint8_t *end;
	uint64_t head[RDR_HEAD_MAX]; /* values of the type's head_count first fields */
	const uint8_t **segments;    /* where each segment of the type starts */
	int64_t start_ticks;
	int64_t duration_ticks;
};

struct rdr_chunk {
	struct holter_chunk info;
	const uint8_t *base;   /* first byte of the header */
	const uint8_t *end;    /* behind the last byte that is there and belongs to it */
	const uint8_t *cursor; /* next event to be framed */
	uint64_t lost_from;    /* 0, or where framing broke, from the base */
	double ticks_per_ns;
	struct holter_type *types;
	uint32_t type_count;
	struct rdr_index types_by_id;
	struct holter_type *string_type; /* java.lang.String, NULL when undeclared */
	bool has_constants;		 /* read; done at the first event */
	bool is_unknown_reported;
	const struct holter_type *frame_type; /* stack_read.c: what its fields are for */
	uint8_t *frame_parts;
	struct rdr_arena arena;
};

struct holter_reader {
	struct rdr_source source;
	struct holter_reader_options options;
	uint64_t nonce;	 /* tells readers apart that had the same address one after the other */
	uint64_t serial; /* of the chunk; paths are bound to it */
	bool is_in_chunk;
	struct rdr_chunk chunk;
	struct holter_event event;
	const uint8_t **event_segments;
	size_t event_segments_capacity;
	struct rdr_arena event_arena; /* texts of the event at hand */
	struct rdr_arena *texts;      /* where inline texts go: the event's arena or the chunk's */
	struct holter_problem problems[RDR_PROBLEMS_KEPT];
	size_t problem_count; /* kept */
	struct holter_totals totals;
	struct holter_type_count *counts;
	size_t count_count;
	size_t count_capacity;
	uint32_t *count_slots; /* open addressing by name */
	size_t count_slot_count;
};

/* Records a problem; `at` is in the chunk, or NULL for the source's position. */
__attribute__((format(printf, 6, 7))) void rdr_problem(struct holter_reader *reader, int code,
						       enum holter_severity severity,
						       uint64_t offset, uint64_t bytes_lost,
						       const char *format, ...);

static inline uint64_t rdr_offset(const struct holter_reader *reader, const uint8_t *at)
{
	return reader->chunk.info.offset + (uint64_t)(at - reader->chunk.base);
}

#endif
