/*
 * Strings for the life of the region (tables.h): paths, arguments, environments; append-only.
 *
 * In: bytes. Out: ids. An equal string is found again by a small index; where that is crowded a
 * string is stored twice, which only costs room. Never here: freeing.
 *
 * Section:  index, 4096 ids of 4 bytes | strings, 8-aligned:  length 4 | hash 4 | bytes | NUL
 * id: offset in the section / 8.
 */
#include "recorder/base/hash.h"
#include "recorder/region/tables.h"

#define INDEX_SLOTS 4096u
#define INDEX_BYTES (INDEX_SLOTS * 4u)
#define PROBE_MAX 32u
#define STRING_HEADER 8u
#define SHORT_BYTES 1024u
#define LONG_LIMIT (REC_NAMES_BYTES / 4 * 3) /* longer strings leave the rest to paths */

struct name_string {
	uint32_t length;
	uint32_t hash;
	uint8_t bytes[];
};

static uint8_t *names_base(const struct rec_region *region)
{
	return region->base + region->layout.names;
}

/* Bytes of the section that may be touched. */
static uint64_t names_ready(const struct rec_region *region)
{
	return min_u64(__atomic_load_n(&region->header->names_ready, __ATOMIC_ACQUIRE),
		       REC_NAMES_BYTES);
}

static bool names_ensure(struct rec_region *region, uint64_t need)
{
	return rec_region_ensure(region, region->layout.names, REC_NAMES_BYTES,
				 &region->header->names_ready, need) == 0;
}

static uint32_t string_hash(const void *bytes, uint32_t length)
{
	return (uint32_t)(hash_bytes(bytes, length, length) >> 32);
}

/* A string by an id of unknown origin, within bounds; NULL when there cannot be one. */
static const struct name_string *string_at(const struct rec_region *region, uint32_t id,
					   uint32_t *length)
{
	uint64_t offset = (uint64_t)id * 8;
	uint64_t ready = names_ready(region);
	const struct name_string *string;

	if (offset < INDEX_BYTES || offset + STRING_HEADER > ready)
		return NULL;
	string = (const struct name_string *)(names_base(region) + offset);
	*length = __atomic_load_n(&string->length, __ATOMIC_RELAXED);
	return *length > ready - offset - STRING_HEADER ? NULL : string;
}

static bool string_equals(const struct rec_region *region, uint32_t id, const void *bytes,
			  uint32_t length, uint32_t hash)
{
	uint32_t stored;
	const struct name_string *string = string_at(region, id, &stored);

	return string && stored == length && string->hash == hash &&
	       memcmp(string->bytes, bytes, length) == 0;
}

/* Takes room at the end; its offset, 0 when there is none. */
static uint64_t room_take(struct rec_region *region, uint32_t length)
{
	uint64_t *used = &region->header->names_used;
	uint64_t size = align_up((uint64_t)STRING_HEADER + length + 1, 8);
	uint64_t limit = length > SHORT_BYTES ? LONG_LIMIT : REC_NAMES_BYTES;
	uint64_t old = __atomic_load_n(used, __ATOMIC_RELAXED);
	uint64_t start;

	do {
		start = align_up(max_u64(min_u64(old, REC_NAMES_BYTES), INDEX_BYTES), 8);
		if (start + size > limit || !names_ensure(region, start + size))
			return 0;
	} while (!__atomic_compare_exchange_n(used, &old, start + size, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return start;
}

static uint32_t string_store(struct rec_region *region, const void *bytes, uint32_t length,
			     uint32_t hash)
{
	uint64_t offset = room_take(region, length);
	struct name_string *string = (struct name_string *)(names_base(region) + offset);

	if (offset == 0)
		return 0;
	string->hash = hash;
	memcpy(string->bytes, bytes, length);
	string->bytes[length] = 0;
	__atomic_store_n(&string->length, length, __ATOMIC_RELEASE);
	return (uint32_t)(offset / 8);
}

uint32_t rec_names_add(struct rec_region *region, const void *bytes, uint32_t length)
{
	uint32_t *index = (uint32_t *)names_base(region);
	uint32_t stored = 0;
	uint32_t hash;

	if (length > REC_NAMES_BYTES || !names_ensure(region, INDEX_BYTES))
		return 0;
	hash = string_hash(bytes, length);
	for (uint32_t i = 0; i < PROBE_MAX; i++) {
		uint32_t *slot = &index[(hash + i) % INDEX_SLOTS];
		/* Pairs with the release below: the string is there. */
		uint32_t id = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

		if (id == 0) {
			if (stored == 0)
				stored = string_store(region, bytes, length, hash);
			if (stored == 0 ||
			    __atomic_compare_exchange_n(slot, &id, stored, false, __ATOMIC_ACQ_REL,
							__ATOMIC_ACQUIRE))
				return stored;
		}
		if (string_equals(region, id, bytes, length, hash))
			return id;
	}
	return stored != 0 ? stored : string_store(region, bytes, length, hash);
}

int rec_names_read(const struct rec_region *region, uint32_t id, char *buffer, uint32_t size)
{
	uint32_t length;
	const struct name_string *string = string_at(region, id, &length);
	uint32_t part;

	if (!string || string_hash(string->bytes, length) != string->hash)
		return HOLTER_E_CORRUPT;
	if (size > 0) {
		part = length < size ? length : size - 1;
		memcpy(buffer, string->bytes, part);
		buffer[part] = 0;
	}
	return (int)length;
}
