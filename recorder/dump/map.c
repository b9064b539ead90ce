/*
 * The growing side of the hash table.
 *
 * In: keys and values. Out: cells at most half full. Never here: removal.
 */
#include "recorder/dump/map.h"

#define FIRST_CELLS 1024u

static void place(struct rec_map_cell *cells, uint64_t mask, uint64_t key, uint32_t value)
{
	uint64_t i = hash_mix(key) & mask;

	while (cells[i].used)
		i = (i + 1) & mask;
	cells[i] = (struct rec_map_cell){ key, value, 1 };
}

static bool enlarge(struct rec_map *map)
{
	uint64_t count = map->mask ? 2 * (map->mask + 1) : FIRST_CELLS;
	const struct rec_map_cell *old = (const struct rec_map_cell *)map->cells.data;
	struct rec_vec cells = { NULL, 0, 0 };

	/* Fresh pages of a vector are zero: unused cells. */
	if (!rec_vec_grow(&cells, count * sizeof(*old)))
		return false;
	for (uint64_t i = 0; map->mask && i <= map->mask; i++)
		if (old[i].used)
			place((struct rec_map_cell *)cells.data, count - 1, old[i].key,
			      old[i].value);
	rec_vec_free(&map->cells);
	map->cells = cells;
	map->mask = count - 1;
	return true;
}

bool rec_map_put(struct rec_map *map, uint64_t key, uint32_t value)
{
	if (map->mask) {
		struct rec_map_cell *cells = (struct rec_map_cell *)map->cells.data;

		for (uint64_t i = hash_mix(key) & map->mask; cells[i].used;
		     i = (i + 1) & map->mask) {
			if (cells[i].key == key) {
				cells[i].value = value;
				return true;
			}
		}
	}
	if (2 * (map->count + 1) > map->mask + (map->mask != 0) && !enlarge(map))
		return false;
	place((struct rec_map_cell *)map->cells.data, map->mask, key, value);
	map->count++;
	return true;
}

void rec_map_free(struct rec_map *map)
{
	rec_vec_free(&map->cells);
	map->mask = map->count = 0;
}
