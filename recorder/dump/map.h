/*
 * A hash table from 64-bit keys to 32-bit values, open addressing, on a vector of the dump.
 *
 * In: ids of the region. Out: keys of constants. It only grows. Never here: pointers into it that
 * outlive the next put.
 */
#ifndef HOLTER_DUMP_MAP_H
#define HOLTER_DUMP_MAP_H

#include "recorder/base/hash.h"
#include "recorder/dump/vec.h"

struct rec_map_cell {
	uint64_t key;
	uint32_t value;
	uint32_t used;
};

struct rec_map {
	struct rec_vec cells;
	uint64_t mask; /* cells - 1; 0: no cells yet */
	uint64_t count;
};

/* Looks a key up: true with its value. */
static inline bool rec_map_get(const struct rec_map *map, uint64_t key, uint32_t *value)
{
	const struct rec_map_cell *cells = (const struct rec_map_cell *)map->cells.data;

	if (!map->mask)
		return false;
	for (uint64_t i = hash_mix(key) & map->mask; cells[i].used; i = (i + 1) & map->mask) {
		if (cells[i].key == key) {
			*value = cells[i].value;
			return true;
		}
	}
	return false;
}

/**
 * rec_map_put() - enters a key, or gives it another value.
 *
 * Return: true; false without memory, the map untouched.
 * Context: one thread per map; system calls only.
 */
bool rec_map_put(struct rec_map *map, uint64_t key, uint32_t value);

/**
 * rec_map_free() - empties it and gives its memory back.
 *
 * Return: nothing. Context: as rec_map_put().
 */
void rec_map_free(struct rec_map *map);

#endif
