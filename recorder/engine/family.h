/*
 * The processes of a region as the leader sees them: who is new, who died, what they left behind.
 *
 * In: process, thread and chunk tables; the kernel's word who lives. Out: ended entries, chunks
 * given back. For engine.c. Never here: dumps, metrics.
 */
#ifndef HOLTER_ENGINE_FAMILY_H
#define HOLTER_ENGINE_FAMILY_H

#include "recorder/region/tables.h"

/* What the looks at the processes showed; zeroed before the first one. */
struct rec_family_state {
	uint32_t looks;
	uint32_t living;      /* at the last look */
	uint32_t died;	      /* noticed by the last look */
	uint32_t unannounced; /* ended ones that did not say so (killed, crashed), of all looks */
	uint32_t crashed_pid; /* the last of them; 0 = none */
	uint32_t is_fatal;    /* a fatal signal was seen in it */
};

/**
 * rec_family_look() - finds out which processes live and marks the others as ended.
 * @self: pid of the leader's own process, alive; 0 = none of the family.
 *
 * Return: nothing. Context: the leader; reads /proc once per process that was alive so far.
 */
void rec_family_look(struct rec_region *region, uint32_t self, struct rec_family_state *state);

/**
 * rec_family_reclaim() - gives back chunks and thread entries of threads that are gone.
 *
 * Return: how many chunks. Context: the leader; one cheap system call per living thread.
 */
uint32_t rec_family_reclaim(struct rec_region *region);

/**
 * rec_family_is_mapped() - does any process besides `self` map the region's file? Finds children
 * that were forked past our hooks and have not recorded anything yet.
 * @path: of the region's file. @buffer: scratch of `size` bytes, some 16 KiB.
 *
 * Return: true or false; only processes whose maps this user may read are seen.
 * Context: the leader; reads /proc/PID/maps of every process.
 */
bool rec_family_is_mapped(const char *path, uint32_t self, char *buffer, size_t size);

#endif
