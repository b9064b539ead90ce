/*
 * The table of counts.h: rows in order of first sight, found by a hash of the name.
 *
 * It outlives chunks, so names are copied; a file with endless new names is bounded by its size.
 */
#include "reader/counts.h"

#include <stdlib.h>

#include "recorder/base/hash.h"

static uint64_t hash_name(const char *name)
{
	return hash_bytes(name, strlen(name), 0);
}

static uint32_t *find_slot(const struct holter_reader *reader, const char *name)
{
	size_t mask = reader->count_slot_count - 1;

	for (size_t at = hash_name(name) & mask;; at = (at + 1) & mask) {
		uint32_t *slot = &reader->count_slots[at];

		if (!*slot || strcmp(reader->counts[*slot - 1].name, name) == 0)
			return slot;
	}
}

/* Keeps the table at most half full. */
static bool grow(struct holter_reader *reader)
{
	size_t capacity = reader->count_capacity ? reader->count_capacity * 2 : 128;
	struct holter_type_count *counts;
	uint32_t *slots;

	counts = realloc(reader->counts, capacity * sizeof(*counts));
	if (!counts)
		return false;
	reader->counts = counts;
	slots = calloc(capacity * 2, sizeof(*slots));
	if (!slots)
		return false;
	free(reader->count_slots);
	reader->count_slots = slots;
	reader->count_slot_count = capacity * 2;
	reader->count_capacity = capacity;
	for (size_t i = 0; i < reader->count_count; i++)
		*find_slot(reader, reader->counts[i].name) = (uint32_t)i + 1;
	return true;
}

bool rdr_count_number(struct holter_reader *reader, const char *name, int64_t id, uint32_t *number)
{
	uint32_t *slot;
	char *copy;

	if (reader->count_count == reader->count_capacity && !grow(reader))
		return false;
	slot = find_slot(reader, name);
	if (!*slot) {
		copy = strdup(name);
		if (!copy)
			return false;
		reader->counts[reader->count_count] =
			(struct holter_type_count){ .name = copy, .id = id };
		*slot = (uint32_t)++reader->count_count;
	}
	*number = *slot - 1;
	return true;
}

bool rdr_counts_init(struct holter_reader *reader)
{
	uint32_t number;

	return rdr_count_number(reader, "jdk.Metadata", 0, &number) &&
	       rdr_count_number(reader, "jdk.CheckPoint", 1, &number) &&
	       rdr_count_number(reader, "<unknown>", -1, &number);
}

void rdr_counts_fini(struct holter_reader *reader)
{
	for (size_t i = 0; i < reader->count_count; i++)
		free((char *)(uintptr_t)reader->counts[i].name);
	free(reader->counts);
	free(reader->count_slots);
	reader->counts = NULL;
	reader->count_slots = NULL;
	reader->count_count = 0;
	reader->count_capacity = 0;
	reader->count_slot_count = 0;
}
