/*
 * Records -> events of a JFR chunk, by one compiled plan per type.
 *
 * In: records of the snapshot (or made by the dump itself), the pools. Out: bytes in the stream.
 * Mirrors reader/event_read. Never here: knowledge of single event types; they are the catalog's.
 */
#ifndef HOLTER_DUMP_CHUNK_WRITE_H
#define HOLTER_DUMP_CHUNK_WRITE_H

#include "recorder/dump/dump_stream.h"
#include "recorder/dump/own_types.h"
#include "recorder/dump/pool_write.h"

#define REC_PLAN_OPS 32
#define REC_PLAN_COUNT (EV_NUMBER_MAX + EV_USER_MAX)

/* How one field is made from its slot. */
struct rec_op {
	uint8_t code; /* enum op of chunk_write.c */
	uint8_t reserved;
	uint16_t offset; /* of the slot behind word 0 */
	uint16_t second; /* of the slot that holds the rest */
};

struct rec_plan {
	uint8_t id[LEB128_MAX_BYTES]; /* type id, encoded */
	uint8_t id_bytes;
	uint8_t shape;
	uint8_t op_count;
	uint16_t bytes; /* of a record's body, at most and at least */
	uint16_t min_bytes;
	struct rec_op op[REC_PLAN_OPS];
	uint64_t events; /* written so far */
};

struct rec_encoder {
	struct rec_stream *stream;
	struct rec_pools *pools;
	uint64_t tick_zero;	       /* of the region's clock: tick 0 of the file */
	uint64_t min_ticks, max_ticks; /* ends outside are left out */
	uint64_t sane_ticks;	       /* later ones are damage */
	uint64_t first_ticks;	       /* earliest end written */
	uint64_t last_ticks;	       /* latest */
	uint64_t events;
	uint64_t damaged; /* records that cannot be */
	struct rec_plan plan[REC_PLAN_COUNT];
};

/**
 * rec_encoder_init() - compiles the plans of the catalog and of the program's own types.
 * @encoder: zeroed, but for stream, pools and ticks.
 *
 * Return: nothing. Context: one thread; no allocation.
 */
void rec_encoder_init(struct rec_encoder *encoder, const struct rec_own_types *own);

/**
 * rec_encoder_record() - writes a record of the region, unless its time is not asked for.
 *
 * Return: nothing; damage is counted, other errors stay in pools and stream.
 * Context: one thread.
 */
void rec_encoder_record(struct rec_encoder *encoder, const struct rec_cursor *cursor);

/**
 * rec_encoder_once() - writes an event the dump makes itself.
 * @type: of the catalog. @body: its struct of schema.h.
 * @strand: its thread, REC_NONE for types without.
 * @context: of its stack.
 *
 * Return: nothing. Context: as rec_encoder_record().
 */
void rec_encoder_once(struct rec_encoder *encoder, enum ev_number type, uint64_t ticks,
		      const void *body, uint32_t strand, uint32_t context);

/* What the chunk header says. */
struct rec_chunk_header {
	uint64_t bytes, checkpoint, metadata;
	uint64_t start_nanos, duration_nanos;
	uint64_t start_ticks, ticks_per_second;
};

/**
 * rec_chunk_header() - the header of a finished, final chunk.
 * @out: JFR_HEADER_BYTES bytes.
 *
 * Return: nothing. Context: any.
 */
void rec_chunk_header(uint8_t *out, const struct rec_chunk_header *header);

/* Ticks of the region's clock as they stand in the file. */
static inline uint64_t rec_encoder_ticks(const struct rec_encoder *encoder, uint64_t ticks)
{
	return ticks > encoder->tick_zero ? ticks - encoder->tick_zero : 0;
}

#endif
