/*
 * The metadata event: every type of the file described, from the catalog.
 *
 * In: ev_types, ev_kinds, types.def, the program's own types. Out: one event of type 0. Mirrors
 * reader/meta_read. Never here: values of events.
 */
#ifndef HOLTER_DUMP_META_WRITE_H
#define HOLTER_DUMP_META_WRITE_H

#include "recorder/dump/own_types.h"
#include "recorder/dump/vec.h"

/**
 * rec_meta_write() - the whole event.
 * @out: appended to.
 * @ticks: of the event, as in the file; @metadata_id: another one in every chunk (jfr-format T3).
 * @user: may be NULL.
 *
 * Return: 0, HOLTER_E_NOMEM. Context: one thread.
 */
int rec_meta_write(struct rec_vec *out, uint64_t ticks, uint64_t metadata_id,
		   const struct rec_own_types *user);

#endif
