/*
 * The leader's loop over a region: everything that is not the hot path.
 *
 * In: a region. Out: periodic events in its ring, dumps when asked for (signal, exit, sudden
 * death), chunks of dead threads given back, the region file removed when the family is gone. Runs
 * in a process of its own (tools/cmd_leader.c) or in a thread inside the program (preload.c): no
 * malloc, raw system calls, no state outside one mapping. Never here: what a metric is (metric.c),
 * how a file is written (dump/).
 */
#ifndef HOLTER_ENGINE_ENGINE_H
#define HOLTER_ENGINE_ENGINE_H

#include "recorder/dump/dump.h"
#include "recorder/region/region.h"

struct rec_engine_options {
	int in_thread; /* 1: a thread of a recorded program; it ends with it */
	/*
	 * Of the region's file, to remove it in the end. Not taken from the region, where the
	 * program could have written any other file's. NULL: nothing is removed.
	 */
	const char *path;
	const struct rec_symbolizer *symbolizer; /* NULL: addresses stay numbers */
	/*
	 * Called once for each process that joins: the callee shall raise trigger.word and wake it
	 * (rec_engine_wake) when that process ends. NULL: ends are found by polling.
	 */
	void (*watch)(void *context, uint32_t pid);
	void *watch_context;
};

/**
 * rec_engine_run() - takes the lease and leads until the family is gone or the lease is lost.
 * @region: writable.
 *
 * When the last process is gone: writes a last dump if one died without saying so, or if dumponexit
 * is set and no exit dump was made; then removes the region file (kept where that dump failed).
 *
 * Return: 0 the family is gone; HOLTER_E_BUSY another leader holds the lease (a thread waits for it
 * instead), or took it;
 * HOLTER_E_NOMEM.
 * Context: one thread, all signals blocked by the caller; blocks.
 */
int rec_engine_run(struct rec_region *region, const struct rec_engine_options *options);

/**
 * rec_engine_wake() - makes the leader look again.
 *
 * Return: nothing. Context: any thread or process; async-signal-safe.
 */
void rec_engine_wake(struct rec_region *region);

/**
 * rec_engine_exit_dump() - the dump at the end of a program that has no leader, by the program
 * itself.
 *
 * Return: as rec_dump_write(). Context: the ending thread; no malloc; 12 KiB of stack.
 */
int rec_engine_exit_dump(struct rec_region *region);

#endif
