/*
 * Interning of texts in encoded form.
 *
 * In: bytes. Out: one encoded string per different text. Never here: pointers kept across a growth.
 */
#include "recorder/dump/texts.h"

#include "recorder/base/hash.h"
#include "recorder/dump/dump_text.h"
#include "recorder/format/jfr.h"

#define FIRST_CELLS 1024u
#define TEXT_MAX (1u << 20) /* longer ones are cut: nothing in a region is */

struct text_entry {
	uint64_t offset; /* of the UTF-8 */
	uint32_t length;
	uint32_t hash;
};

static uint32_t *cell_of(const struct rec_texts *texts, const void *bytes, uint64_t count,
			 uint32_t hash)
{
	const struct text_entry *entries = (const struct text_entry *)texts->entries.data;
	uint32_t *table = (uint32_t *)texts->table.data;
	uint32_t i = hash & texts->mask;

	for (; table[i]; i = (i + 1) & texts->mask) {
		const struct text_entry *entry = &entries[table[i] - 1];

		if (entry->hash == hash && entry->length == count &&
		    memcmp(texts->bytes.data + entry->offset, bytes, count) == 0)
			break;
	}
	return &table[i];
}

static bool enlarge(struct rec_texts *texts)
{
	const struct text_entry *entries = (const struct text_entry *)texts->entries.data;
	uint32_t cells = texts->mask ? 2 * (texts->mask + 1) : FIRST_CELLS;
	struct rec_vec table = { NULL, 0, 0 };

	if (cells == 0 || !rec_vec_grow(&table, cells * sizeof(uint32_t)))
		return false;
	for (uint32_t n = 0; n < texts->count; n++) {
		uint32_t i = entries[n].hash & (cells - 1);

		while (((uint32_t *)table.data)[i])
			i = (i + 1) & (cells - 1);
		((uint32_t *)table.data)[i] = n + 1;
	}
	rec_vec_free(&texts->table);
	texts->table = table;
	texts->mask = cells - 1;
	return true;
}

/* Appends the encoded form; the entry tells where its text is. */
static bool encode(struct rec_texts *texts, const void *bytes, uint64_t count, uint32_t hash)
{
	struct text_entry entry = { .length = (uint32_t)count, .hash = hash };
	uint8_t *at = rec_vec_room(&texts->bytes, 2 * LEB128_MAX_BYTES + 1 + count);

	if (!at || !rec_vec_room(&texts->entries, sizeof(entry)))
		return false;
	if (!texts->is_plain)
		at = leb128_put(at, texts->count + 1);
	*at++ = count ? JFR_STRING_UTF8 : JFR_STRING_EMPTY;
	if (count) {
		at = leb128_put(at, count);
		memcpy(at, bytes, count);
	}
	entry.offset = (uint64_t)(at - texts->bytes.data);
	texts->bytes.used = entry.offset + count;
	rec_vec_put(&texts->entries, &entry, sizeof(entry));
	texts->count++;
	return true;
}

uint32_t rec_texts_add(struct rec_texts *texts, const void *bytes, uint64_t count)
{
	uint64_t clean;
	uint32_t hash;
	uint32_t *cell;

	if (!bytes)
		bytes = "";
	count = min_u64(count, TEXT_MAX);
	clean = rec_text_utf8(bytes, count, NULL);
	if (clean != count) {
		texts->scratch.used = 0;
		if (!rec_vec_room(&texts->scratch, clean))
			return UINT32_MAX;
		rec_text_utf8(bytes, count, texts->scratch.data);
		bytes = texts->scratch.data;
		count = clean;
	}
	if (2 * (uint64_t)(texts->count + 1) > texts->mask && !enlarge(texts))
		return UINT32_MAX;
	hash = (uint32_t)hash_bytes(bytes, count, 0);
	cell = cell_of(texts, bytes, count, hash);
	if (*cell == 0) {
		if (!encode(texts, bytes, count, hash))
			return UINT32_MAX;
		*cell = texts->count;
	}
	return texts->is_plain ? *cell - 1 : *cell;
}

void rec_texts_free(struct rec_texts *texts)
{
	rec_vec_free(&texts->bytes);
	rec_vec_free(&texts->entries);
	rec_vec_free(&texts->table);
	rec_vec_free(&texts->scratch);
	texts->mask = texts->count = 0;
}
