/*
 * Reads the metadata event (jfr-format 4) and makes types of it.
 *
 * In: bytes of the event. Out: chunk.types with fields, settings and annotations, each field with
 * the operation that skips it (types_link.c). The element tree lives in the chunk's arena, and
 * attributes of annotations are used where they stand.
 */
#include "reader/meta_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "reader/text_read.h"
#include "reader/types_link.h"

struct element {
	const char *name;
	struct rdr_attribute *attributes;
	uint32_t attribute_count;
	struct element *children; /* first of a list */
	struct element *next;
};

struct meta {
	struct holter_reader *reader;
	struct rdr_arena *arena;
	struct rdr_cursor cursor;
	const char **strings;
	uint64_t string_count;
	const char *why;
	int code; /* first error */
};

static void fail(struct meta *meta, int code, const char *why)
{
	if (meta->code)
		return;
	meta->code = code;
	meta->why = why;
}

/* An array in the arena; NULL with the error noted. */
static void *make(struct meta *meta, size_t count, size_t size)
{
	void *array = meta->code ? NULL : rdr_arena_array(meta->arena, count, size);

	if (!array)
		fail(meta, HOLTER_E_NOMEM, "out of memory for the metadata");
	return array;
}

static void read_strings(struct meta *meta)
{
	struct rdr_text_read read;

	meta->string_count = rdr_get_count(&meta->cursor, 1);
	meta->strings = make(meta, meta->string_count, sizeof(*meta->strings));
	for (uint64_t i = 0; i < meta->string_count && !meta->code; i++) {
		int code = rdr_text_read(meta->cursor.at, meta->cursor.end, meta->arena, &read);

		if (code) {
			fail(meta, code, "damaged text in the metadata");
			return;
		}
		meta->strings[i] = read.text.data;
		meta->cursor.at = read.next;
	}
}

static const char *get_string(struct meta *meta)
{
	uint64_t index = rdr_get_varint(&meta->cursor);

	if (meta->cursor.is_bad || index >= meta->string_count) {
		fail(meta, HOLTER_E_CORRUPT, "text index out of range in the metadata");
		return "";
	}
	return meta->strings[index];
}

static struct element *read_element(struct meta *meta, unsigned depth)
{
	struct element *element = make(meta, 1, sizeof(*element));
	struct element **link;
	uint64_t count;

	if (depth > RDR_DEPTH_MAX)
		fail(meta, HOLTER_E_LIMIT, "metadata elements are nested too deep");
	if (meta->code)
		return NULL;
	element->name = get_string(meta);
	count = rdr_get_count(&meta->cursor, 2);
	element->attributes = make(meta, count, sizeof(*element->attributes));
	for (; element->attribute_count < count && !meta->code; element->attribute_count++) {
		element->attributes[element->attribute_count].key = get_string(meta);
		element->attributes[element->attribute_count].value = get_string(meta);
	}
	count = rdr_get_count(&meta->cursor, 3);
	if (meta->cursor.is_bad)
		fail(meta, HOLTER_E_CORRUPT, "the metadata ends inside an element");
	link = &element->children;
	for (uint64_t i = 0; i < count && !meta->code; i++) {
		*link = read_element(meta, depth + 1);
		if (*link)
			link = &(*link)->next;
	}
	return element;
}

static bool is_named(const struct element *element, const char *name)
{
	return element->name && strcmp(element->name, name) == 0;
}

static const char *attribute(const struct element *element, const char *key)
{
	for (uint32_t i = 0; i < element->attribute_count; i++) {
		const char *have = element->attributes[i].key;

		if (have && strcmp(have, key) == 0)
			return element->attributes[i].value ? element->attributes[i].value : "";
	}
	return NULL;
}

static uint32_t count_children(const struct element *element, const char *name)
{
	uint32_t count = 0;

	for (const struct element *child = element->children; child; child = child->next)
		count += is_named(child, name);
	return count;
}

/* Decimal text to a number; false when it is none. */
static bool parse_number(const char *text, int64_t *number)
{
	char *end;

	if (!text || !*text)
		return false;
	errno = 0;
	*number = strtoll(text, &end, 10);
	return !errno && !*end;
}

/* Names of JDK 9 and 10 to those of today (jfr-format 10). */
static const char *modern_name(struct meta *meta, const char *name)
{
	static const char *const map[][2] = {
		{ "com.oracle.jfr.types.", "jdk.types." },
		{ "com.oracle.jfr.", "jdk.jfr." },
		{ "com.oracle.jdk.", "jdk." },
	};

	if (!name || strncmp(name, "com.oracle.", 11) != 0)
		return name;
	for (size_t i = 0; i < ARRAY_LEN(map); i++) {
		size_t old = strlen(map[i][0]);
		size_t size = strlen(map[i][1]) + strlen(name) - old + 1;
		char *result;

		if (strncmp(name, map[i][0], old) != 0)
			continue;
		result = make(meta, 1, size);
		if (!result)
			return name;
		snprintf(result, size, "%s%s", map[i][1], name + old);
		return result;
	}
	return name;
}

static struct holter_type *type_of(struct meta *meta, const struct element *element)
{
	int64_t id;

	if (!parse_number(attribute(element, "class"), &id))
		return NULL;
	return (struct holter_type *)(uintptr_t)rdr_index_find(&meta->reader->chunk.types_by_id,
							       (uint64_t)id);
}

/* The class attribute comes first in `attributes`; what follows are the annotation's own. */
static void make_annotations(struct meta *meta, const struct element *element,
			     struct rdr_annotations *annotations)
{
	uint32_t count = count_children(element, "annotation");

	annotations->all = make(meta, count, sizeof(*annotations->all));
	if (meta->code)
		return;
	for (const struct element *child = element->children; child; child = child->next) {
		struct holter_annotation *annotation = annotations->all + annotations->count;

		if (!is_named(child, "annotation"))
			continue;
		annotations->count++;
		annotation->type = type_of(meta, child);
		annotation->attributes = child->attributes;
		annotation->attribute_count = child->attribute_count;
		for (uint32_t i = 0; i < child->attribute_count; i++) {
			struct rdr_attribute class = child->attributes[i];

			if (!class.key || strcmp(class.key, "class") != 0)
				continue;
			memmove(child->attributes + i, child->attributes + i + 1,
				(child->attribute_count - i - 1) * sizeof(class));
			annotation->attribute_count--;
			break;
		}
	}
}

static void make_field(struct meta *meta, const struct element *element, struct holter_field *field)
{
	const char *dimension = attribute(element, "dimension");
	const char *name = attribute(element, "name");

	field->name = name ? name : "";
	field->type = type_of(meta, element);
	field->is_array = dimension && strcmp(dimension, "0") != 0;
	field->is_pooled = attribute(element, "constantPool") != NULL;
	make_annotations(meta, element, &field->annotations);
}

static void make_setting(struct meta *meta, const struct element *element,
			 struct holter_setting *setting)
{
	const char *name = attribute(element, "name");

	setting->name = name ? name : "";
	setting->default_value = attribute(element, "defaultValue");
	setting->type = type_of(meta, element);
	make_annotations(meta, element, &setting->annotations);
}

static void make_members(struct meta *meta, const struct element *element, struct holter_type *type)
{
	uint32_t field_count = count_children(element, "field");

	if (field_count > RDR_FIELDS_MAX)
		fail(meta, HOLTER_E_LIMIT, "a type has too many fields");
	type->fields = make(meta, field_count, sizeof(*type->fields));
	type->settings = make(meta, count_children(element, "setting"), sizeof(*type->settings));
	make_annotations(meta, element, &type->annotations);
	for (struct element *child = element->children; child && !meta->code; child = child->next) {
		if (is_named(child, "field"))
			make_field(meta, child, &type->fields[type->field_count++]);
		else if (is_named(child, "setting"))
			make_setting(meta, child, &type->settings[type->setting_count++]);
	}
}

/* Two rounds, since types refer to each other in any order: first ids and names, then the rest. */
static void make_types(struct meta *meta, const struct element *element)
{
	struct rdr_chunk *chunk = &meta->reader->chunk;
	uint32_t count = count_children(element, "class");
	struct holter_type *types = make(meta, count, sizeof(*types));
	uint64_t duplicates;
	uint32_t at = 0;

	for (struct element *child = element->children; child && !meta->code; child = child->next) {
		const char *name = attribute(child, "name");
		int64_t id = 0;

		if (!is_named(child, "class"))
			continue;
		if (!parse_number(attribute(child, "id"), &id))
			fail(meta, HOLTER_E_CORRUPT, "a type has no number");
		types[at].id = (uint64_t)id;
		types[at].name = modern_name(meta, name ? name : "");
		types[at].super = modern_name(meta, attribute(child, "superType"));
		types[at].is_marked_simple = attribute(child, "simpleType") != NULL;
		types[at].index = at;
		at++;
	}
	if (!meta->code && !rdr_index_build(&chunk->types_by_id, meta->arena, types, count,
					    sizeof(*types), &duplicates))
		fail(meta, HOLTER_E_NOMEM, "out of memory for the metadata");
	if (meta->code)
		return;
	if (duplicates)
		rdr_problem(meta->reader, HOLTER_E_CORRUPT, HOLTER_NOTE, chunk->info.offset, 0,
			    "%llu types have a number that another one has; the first counts",
			    (unsigned long long)duplicates);
	at = 0;
	for (struct element *child = element->children; child && !meta->code; child = child->next)
		if (is_named(child, "class"))
			make_members(meta, child, &types[at++]);
	chunk->types = types;
	chunk->type_count = count;
}

/* What stands below the root: types, and the region with its clock offset. */
static void make_chunk(struct meta *meta, const struct element *root)
{
	struct holter_chunk *info = &meta->reader->chunk.info;
	const struct element *metadata = NULL;

	for (const struct element *child = root->children; child; child = child->next) {
		if (is_named(child, "metadata") && !metadata)
			metadata = child;
		if (!is_named(child, "region"))
			continue;
		info->locale = attribute(child, "locale");
		if (!parse_number(attribute(child, "gmtOffset"), &info->gmt_offset_ms))
			info->gmt_offset_ms = 0;
	}
	if (metadata)
		make_types(meta, metadata);
	else
		fail(meta, HOLTER_E_CORRUPT, "the metadata declares no types");
}

/* Bounds the event and reads its head. */
static void read_head(struct meta *meta, const uint8_t *at)
{
	uint64_t size = rdr_get_varint(&meta->cursor);
	uint64_t type = rdr_get_varint(&meta->cursor);

	if (meta->cursor.is_bad || size > (uint64_t)(meta->cursor.end - at)) {
		fail(meta, HOLTER_E_TRUNCATED, "the metadata is cut off");
		return;
	}
	if (type != 0 || size < (uint64_t)(meta->cursor.at - at)) {
		fail(meta, HOLTER_E_CORRUPT, "there is no metadata where the header says");
		return;
	}
	meta->cursor.end = at + size;
	rdr_get_varint(&meta->cursor); /* start */
	rdr_get_varint(&meta->cursor); /* duration */
	meta->reader->chunk.info.metadata_id = rdr_get_varint(&meta->cursor);
}

int rdr_meta_read(struct holter_reader *reader, const uint8_t *at, const char **why)
{
	struct rdr_chunk *chunk = &reader->chunk;
	struct meta meta = {
		.reader = reader,
		.arena = &chunk->arena,
		.cursor = { at, chunk->end, false },
	};
	struct element *root = NULL;

	read_head(&meta, at);
	if (!meta.code)
		read_strings(&meta);
	if (!meta.code)
		root = read_element(&meta, 0);
	if (!meta.code)
		make_chunk(&meta, root);
	if (!meta.code && !rdr_types_link(reader))
		fail(&meta, HOLTER_E_NOMEM, "out of memory for the metadata");
	if (meta.code) {
		chunk->types = NULL;
		chunk->type_count = 0;
		chunk->types_by_id = (struct rdr_index){ .is_dense = false };
		chunk->string_type = NULL;
		chunk->info.locale = NULL;
		*why = meta.why;
	}
	return meta.code;
}
