/*
 * Which module an address belonged to: by the process's address space, at the time of the event.
 *
 * In: the tables of processes and modules, copied. Out: the module of an address. A forked child
 * shares its parent's space; after exec a process has another; two libraries may use one address in
 * turn. Never here: symbols.
 */
#ifndef HOLTER_DUMP_MODULE_LIST_H
#define HOLTER_DUMP_MODULE_LIST_H

#include "recorder/dump/map.h"
#include "recorder/region/tables.h"

#define REC_NO_MODULE UINT32_MAX

struct rec_space {
	uint32_t space;
	uint32_t first, last;		/* modules, sorted by base */
	uint32_t gone_first, gone_last; /* times of unloading, sorted */
	uint64_t from_ticks;		/* the image began; 0 unknown */
	uint64_t until_ticks;		/* it was replaced by exec; UINT64_MAX: it was not */
};

struct rec_module_list {
	struct rec_vec processes; /* struct rec_process: copies, free entries included */
	struct rec_vec modules;	  /* struct rec_module: copies, sorted by space and base */
	struct rec_vec spaces;	  /* struct rec_space, sorted by number */
	struct rec_vec gone;	  /* uint64_t */
	uint32_t process_count, module_count, space_count;
	uint32_t searches; /* made so far for processes that changed their image */
};

/**
 * rec_module_list_build() - copies the tables.
 * @list: zeroed.
 *
 * Return: 0, HOLTER_E_NOMEM. Context: one thread.
 */
int rec_module_list_build(struct rec_module_list *list, const struct rec_region *region);

/**
 * rec_module_list_process() - entry of a process by index, checked against its pid; else by pid.
 * @index: may be anything.
 *
 * Return: its index; REC_NONE when it is unknown. Context: any.
 */
uint32_t rec_module_list_process(const struct rec_module_list *list, uint32_t index, uint32_t pid);

static inline const struct rec_process *rec_module_list_at(const struct rec_module_list *list,
							   uint32_t process)
{
	return (const struct rec_process *)list->processes.data + process;
}

/**
 * rec_module_list_context() - what, besides the address, decides which module it is.
 * @process: index or REC_NONE.
 * @until: out: the answer holds from `ticks` to here.
 *
 * Return: a number: equal numbers give equal modules for equal addresses. Context: any.
 */
uint32_t rec_module_list_context(struct rec_module_list *list, uint32_t process, uint64_t ticks,
				 uint64_t *until);

/**
 * rec_module_list_find() - module of an address.
 * @context: of rec_module_list_context() for the same time.
 *
 * Return: its number among list->modules, REC_NO_MODULE. Context: any.
 */
uint32_t rec_module_list_find(const struct rec_module_list *list, uint32_t context, uint64_t ticks,
			      uint64_t address);

/**
 * rec_module_list_free() - gives the memory back.
 *
 * Return: nothing. Context: one thread.
 */
void rec_module_list_free(struct rec_module_list *list);

#endif
