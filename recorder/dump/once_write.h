/*
 * Events that are told once per dump: machine, program, libraries, settings, live allocations,
 * losses.
 *
 * In: the region's tables (so that it works after a kill -9), /proc as an addition. Out: events of
 * the catalog through the encoder. Never here: events of the ring.
 */
#ifndef HOLTER_DUMP_ONCE_WRITE_H
#define HOLTER_DUMP_ONCE_WRITE_H

#include "recorder/dump/chunk_write.h"

struct rec_once {
	const struct rec_region *region;
	struct rec_encoder *encoder;
	const struct rec_snapshot *snapshot;
	const struct rec_clock *clock;
	const char *reason;
	const char *destination; /* final name of the file */
	uint64_t now_ticks;
	uint64_t begin_cpu_ns; /* of this thread when the dump began */
	uint64_t events_lost;  /* out */
};

/**
 * rec_once_write() - writes them all.
 *
 * Return: nothing; errors stay in pools and stream. Context: one thread; reads /proc.
 */
void rec_once_write(struct rec_once *once);

/**
 * rec_once_machine() - those about the machine: OSInformation, CPUInformation, CPUTimeStampCounter,
 * and with everything enabled the other processes.
 *
 * Return: nothing. Context: as rec_once_write().
 */
void rec_once_machine(struct rec_once *once);

/* Is the whole machine to be told: settings=everything? */
bool rec_once_has_everything(const struct rec_once *once);

/* Is an event wanted? Before anything was configured, all are. */
bool rec_once_wants(const struct rec_once *once, enum ev_number type);

static inline uint32_t rec_once_string(struct rec_once *once, const char *text)
{
	return rec_pools_local(once->encoder->pools, text, text ? strlen(text) : 0);
}

/* Writes one event without thread and stack. */
static inline void rec_once_event(struct rec_once *once, enum ev_number type, const void *body)
{
	rec_encoder_once(once->encoder, type, once->now_ticks, body, REC_NONE, REC_NONE);
}

/* CPU time of this thread in nanoseconds. */
uint64_t rec_once_cpu_ns(void);

#endif
