/*
 * Which threads the records belong to: chunks and thread table brought together.
 *
 * In: copied chunks and the thread table. Out: one entry per thread that lived, with the key of its
 * constant, found by tid and time; every chunk gets its strand. A tid that was used again by
 * another thread is told apart (jfr-format T1). Never here: encoding.
 */
#ifndef HOLTER_DUMP_THREAD_LIST_H
#define HOLTER_DUMP_THREAD_LIST_H

#include "recorder/dump/map.h"
#include "recorder/dump/snapshot.h"
#include "recorder/region/tables.h"

struct rec_strand {
	uint64_t start_ticks, end_ticks; /* as far as known */
	uint64_t key;			 /* of the constant: tid | n << 32 */
	uint32_t tid, pid;
	uint32_t process; /* entry in the process table, REC_NONE */
	uint32_t context; /* of its stacks (module_list.h), within the times below */
	uint64_t context_from, context_until;
	uint32_t next; /* the later thread of the same tid, REC_NONE */
	char name[17];
	uint8_t is_in_table; /* the thread table knows it */
	uint8_t is_written;  /* its constant is in the pool */
};

struct rec_thread_list {
	struct rec_vec strands; /* struct rec_strand */
	struct rec_map by_tid;	/* the first of a tid */
	uint32_t count;
};

/**
 * rec_thread_list_build() - finds the threads and sets the strand of every piece.
 * @list: zeroed.
 * @gap_ticks: a thread that appears again within this time is the same: the kernel gives a number
 *	again only after a whole round of them.
 *
 * Return: 0, HOLTER_E_NOMEM. Context: one thread.
 */
int rec_thread_list_build(struct rec_thread_list *list, struct rec_snapshot *snapshot,
			  const struct rec_region *region, uint64_t gap_ticks);

/**
 * rec_thread_list_find() - the thread that had a number at some time; enters an unknown one.
 * @tid: not 0.
 * @pid, @process: of who mentions it, for an unknown one.
 *
 * Return: index of its strand; REC_NONE without memory. Context: one thread.
 */
uint32_t rec_thread_list_find(struct rec_thread_list *list, uint32_t tid, uint64_t ticks,
			      uint32_t pid, uint32_t process);

static inline struct rec_strand *rec_thread_list_at(const struct rec_thread_list *list,
						    uint32_t index)
{
	return (struct rec_strand *)list->strands.data + index;
}

/**
 * rec_thread_list_free() - gives the memory back.
 *
 * Return: nothing. Context: one thread.
 */
void rec_thread_list_free(struct rec_thread_list *list);

#endif
