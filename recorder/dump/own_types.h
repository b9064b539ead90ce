/*
 * A program's own event types (holter.h) in the form of the catalog's.
 *
 * In: the region's table, which says whatever the program says. Out: types whose names and fields
 * any JFR reader takes. Never here: the catalog.
 */
#ifndef HOLTER_DUMP_OWN_TYPES_H
#define HOLTER_DUMP_OWN_TYPES_H

#include "recorder/region/tables.h"

struct rec_own_type {
	struct rec_user_type texts;
	struct ev_field fields[REC_USER_FIELDS];
	char names[REC_USER_FIELDS][40];
	char name[80];
	struct ev_type type; /* points into the rest; number = EV_USER_BASE + index */
	uint32_t is_valid;
};

struct rec_own_types {
	struct rec_own_type copy[EV_USER_MAX];
};

/**
 * rec_own_types_read() - copies all types of a region.
 * @types: out: must not move afterwards, the types point into it.
 *
 * Names become Java identifiers, each once (jfr-format T14, T15); a field of a kind that cannot be
 * keeps its slot and is not shown.
 *
 * Return: how many are valid. Context: one thread; no allocation.
 */
uint32_t rec_own_types_read(struct rec_own_types *types, const struct rec_region *region);

#endif
