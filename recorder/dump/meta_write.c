/*
 * Elements of the metadata tree, as they are met in the tables.
 *
 * In: tables. Out: strings once, then elements by string number: name | attributes | children.
 * Counts are known last, so they are patched: attributes in one byte, children in two padded ones.
 */
#include "recorder/dump/meta_write.h"

#include "recorder/base/text.h"
#include "recorder/dump/texts.h"
#include "recorder/format/jfr.h"

#define DEPTH_MAX 6

enum type_kind { KIND_PLAIN, KIND_SIMPLE, KIND_ANNOTATION, KIND_CONTENT, KIND_CONTROL };
enum type_how { HOW_INLINE, HOW_POOLED, HOW_ARRAY };

struct type_field {
	const char *name;
	uint32_t type;
	const char *label;
	enum type_how how;
};

struct type_info {
	const char *name;
	const char *label;
	uint32_t id;
	enum type_kind kind;
	struct type_field fields[6];
};

static const struct type_info types[] = {
#define TF(name, type, label, how) { name, JFR_TYPE_##type, label, HOW_##how },
#define TYPE(symbol, id, name, label, kind, ...) { name, label, id, KIND_##kind, { __VA_ARGS__ } },
#include "recorder/format/types.def"
};

struct tree {
	struct rec_texts strings;
	struct rec_vec elements;
	struct {
		uint64_t attributes_at; /* offset of the count */
		uint64_t children_at;	/* 0: attributes still to come */
		uint32_t attributes, children;
	} open[DEPTH_MAX];
	int depth;
	int code;
};

static void put_text(struct tree *tree, const char *text, size_t length)
{
	uint32_t number = rec_texts_add(&tree->strings, text, length);

	if (number == UINT32_MAX || !rec_vec_varint(&tree->elements, number))
		tree->code = HOLTER_E_NOMEM;
}

static void put_bytes(struct tree *tree, uint32_t count)
{
	static const uint8_t zeros[2];

	if (!rec_vec_put(&tree->elements, zeros, count))
		tree->code = HOLTER_E_NOMEM;
}

/* No more attributes: leaves room for the number of children. */
static void close_attributes(struct tree *tree)
{
	if (tree->open[tree->depth].children_at)
		return;
	tree->open[tree->depth].children_at = tree->elements.used;
	put_bytes(tree, 2);
}

static void begin(struct tree *tree, const char *name)
{
	if (tree->depth >= 0) {
		close_attributes(tree);
		tree->open[tree->depth].children++;
	}
	put_text(tree, name, strlen(name));
	tree->depth++;
	memset(&tree->open[tree->depth], 0, sizeof(tree->open[0]));
	tree->open[tree->depth].attributes_at = tree->elements.used;
	put_bytes(tree, 1);
}

static void end(struct tree *tree)
{
	uint8_t *data;

	close_attributes(tree);
	if (tree->code)
		return;
	data = tree->elements.data;
	data[tree->open[tree->depth].attributes_at] = (uint8_t)tree->open[tree->depth].attributes;
	data += tree->open[tree->depth].children_at;
	data[0] = (uint8_t)(tree->open[tree->depth].children | 0x80);
	data[1] = (uint8_t)(tree->open[tree->depth].children >> 7 & 0x7f);
	tree->depth--;
}

static void attribute_bytes(struct tree *tree, const char *key, const char *value, size_t length)
{
	put_text(tree, key, strlen(key));
	put_text(tree, value, length);
	tree->open[tree->depth].attributes++;
}

static void attribute(struct tree *tree, const char *key, const char *value)
{
	attribute_bytes(tree, key, value, strlen(value));
}

static void attribute_number(struct tree *tree, const char *key, uint64_t value)
{
	char buffer[24];

	text_u64(buffer, buffer + sizeof(buffer), value);
	attribute(tree, key, buffer);
}

/* An annotation; its `value` where there is one. */
static void annotate(struct tree *tree, uint32_t type, const char *value)
{
	begin(tree, "annotation");
	attribute_number(tree, "class", type);
	if (value)
		attribute(tree, "value", value);
	end(tree);
}

static void annotate_text(struct tree *tree, uint32_t type, const char *text)
{
	if (text && *text)
		annotate(tree, type, text);
}

/* "A / B" as the path {A, B}; without any value JMC fails, so then there is no annotation (T12). */
static void annotate_category(struct tree *tree, const char *category)
{
	uint32_t count = 0;

	if (!*category)
		return;
	begin(tree, "annotation");
	attribute_number(tree, "class", JFR_TYPE_CATEGORY);
	while (*category && count < 8) {
		const char *slash = strstr(category, " / ");
		size_t length = slash ? (size_t)(slash - category) : strlen(category);
		char key[16], *at = text_copy(key, key + sizeof(key), "value-");

		text_u64(at, key + sizeof(key), count++);
		attribute_bytes(tree, key, category, length);
		category += length + (slash ? 3 : 0);
	}
	end(tree);
}

static uint32_t type_id(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (strcmp(types[i].name, name) == 0)
			return types[i].id;
	return JFR_TYPE_LONG;
}

static uint32_t annotation_id(const char *simple)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		const char *dot = strrchr(types[i].name, '.');

		if (types[i].kind >= KIND_ANNOTATION && dot && strcmp(dot + 1, simple) == 0)
			return types[i].id;
	}
	return 0;
}

static void begin_field(struct tree *tree, const char *name, uint32_t type, enum type_how how)
{
	begin(tree, "field");
	attribute(tree, "name", name);
	attribute_number(tree, "class", type);
	if (how == HOW_ARRAY)
		attribute(tree, "dimension", "1");
	if (how == HOW_POOLED)
		attribute(tree, "constantPool", "true");
}

static void put_type(struct tree *tree, const struct type_info *type)
{
	static const char *const super[] = {
		[KIND_ANNOTATION] = "java.lang.annotation.Annotation",
		[KIND_CONTENT] = "java.lang.annotation.Annotation",
		[KIND_CONTROL] = "jdk.jfr.SettingControl",
	};

	begin(tree, "class");
	attribute(tree, "name", type->name);
	if (super[type->kind])
		attribute(tree, "superType", super[type->kind]);
	if (type->kind == KIND_SIMPLE)
		attribute(tree, "simpleType", "true");
	attribute_number(tree, "id", type->id);
	for (size_t i = 0; i < ARRAY_LEN(type->fields) && type->fields[i].name; i++) {
		const struct type_field *field = &type->fields[i];

		begin_field(tree, field->name, field->type, field->how);
		annotate_text(tree, JFR_TYPE_LABEL, field->label);
		end(tree);
	}
	annotate_text(tree, JFR_TYPE_LABEL, type->label);
	if (type->kind == KIND_CONTENT)
		annotate(tree, JFR_TYPE_CONTENT_TYPE, NULL);
	end(tree);
}

static void put_setting(struct tree *tree, const char *name, uint32_t control, const char *value)
{
	begin(tree, "setting");
	attribute(tree, "name", name);
	attribute_number(tree, "class", control);
	attribute(tree, "defaultValue", value);
	end(tree);
}

static void put_settings(struct tree *tree, const struct ev_type *type)
{
	const struct ev_preset *preset = &type->preset_default;
	char buffer[32];
	char *at;

	put_setting(tree, "enabled", JFR_TYPE_CONTROL_ENABLED, preset->enabled ? "true" : "false");
	if (type->shape & EV_HAS_DURATION) {
		at = text_u64(buffer, buffer + sizeof(buffer), preset->threshold_us);
		text_copy(at, buffer + sizeof(buffer), " us");
		put_setting(tree, "threshold", JFR_TYPE_CONTROL_THRESHOLD, buffer);
	}
	if (type->shape & EV_HAS_STACK)
		put_setting(tree, "stackTrace", JFR_TYPE_CONTROL_STACK_TRACE,
			    preset->stack ? "true" : "false");
	if (type->gate == EV_GATE_LEADER)
		put_setting(tree, "period", JFR_TYPE_CONTROL_PERIOD, "5 s");
}

static void put_common_fields(struct tree *tree, const struct ev_type *type)
{
	begin_field(tree, "startTime", JFR_TYPE_LONG, HOW_INLINE);
	annotate(tree, JFR_TYPE_LABEL, "Start Time");
	annotate(tree, JFR_TYPE_TIMESTAMP, "TICKS");
	end(tree);
	if (type->shape & EV_HAS_DURATION) {
		begin_field(tree, "duration", JFR_TYPE_LONG, HOW_INLINE);
		annotate(tree, JFR_TYPE_LABEL, "Duration");
		annotate(tree, JFR_TYPE_TIMESPAN, "TICKS");
		end(tree);
	}
	if (type->shape & EV_HAS_THREAD) {
		begin_field(tree, "eventThread", JFR_TYPE_THREAD, HOW_POOLED);
		annotate(tree, JFR_TYPE_LABEL, "Event Thread");
		annotate(tree, JFR_TYPE_DESCRIPTION, "Thread in which event was committed in");
		end(tree);
	}
	if (type->shape & EV_HAS_STACK) {
		begin_field(tree, "stackTrace", JFR_TYPE_STACK_TRACE, HOW_POOLED);
		annotate(tree, JFR_TYPE_LABEL, "Stack Trace");
		annotate(tree, JFR_TYPE_DESCRIPTION,
			 "Stack Trace starting from the method the event was committed in");
		end(tree);
	}
}

static void put_event(struct tree *tree, const struct ev_type *type)
{
	begin(tree, "class");
	attribute(tree, "name", type->name);
	attribute(tree, "superType", "jdk.jfr.Event");
	attribute_number(tree, "id", EV_JFR_ID_BASE + (uint64_t)type->number);
	put_settings(tree, type);
	put_common_fields(tree, type);
	for (uint32_t i = 0; i < type->field_count; i++) {
		const struct ev_field *field = &type->fields[i];
		const struct ev_kind_info *kind = &ev_kinds[field->kind];

		if (field->role == EV_ROLE_HIDDEN || !kind->jfr_type)
			continue;
		begin_field(tree, field->name, type_id(kind->jfr_type),
			    kind->pooled ? HOW_POOLED : HOW_INLINE);
		annotate_text(tree, JFR_TYPE_LABEL, field->label);
		if (kind->annotation) {
			uint32_t annotation = annotation_id(kind->annotation);

			if (annotation == JFR_TYPE_MEMORY_ADDRESS)
				annotate(tree, JFR_TYPE_UNSIGNED, NULL);
			if (annotation)
				annotate(tree, annotation, kind->argument);
		}
		end(tree);
	}
	annotate_text(tree, JFR_TYPE_LABEL, type->label);
	annotate_text(tree, JFR_TYPE_DESCRIPTION, type->description);
	annotate_category(tree, type->category);
	end(tree);
}

static void put_tree(struct tree *tree, const struct rec_own_types *user)
{
	tree->depth = -1;
	begin(tree, "root");
	begin(tree, "metadata");
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		put_type(tree, &types[i]);
	for (uint32_t i = 0; i < ev_type_count; i++)
		put_event(tree, &ev_types[i]);
	for (uint32_t i = 0; user && i < EV_USER_MAX; i++)
		if (user->copy[i].is_valid)
			put_event(tree, &user->copy[i].type);
	end(tree);
	begin(tree, "region");
	attribute(tree, "locale", "en");
	attribute(tree, "gmtOffset", "0");
	end(tree);
	end(tree);
}

int rec_meta_write(struct rec_vec *out, uint64_t ticks, uint64_t metadata_id,
		   const struct rec_own_types *user)
{
	struct tree tree;
	uint64_t start = out->used;

	memset(&tree, 0, sizeof(tree));
	tree.strings.is_plain = 1;
	put_tree(&tree, user);
	if (tree.code == 0 &&
	    !(rec_vec_put(out, "\0\0\0\0", 4) && rec_vec_varint(out, JFR_EVENT_METADATA) &&
	      rec_vec_varint(out, ticks) && rec_vec_varint(out, 0) &&
	      rec_vec_varint(out, metadata_id) && rec_vec_varint(out, tree.strings.count) &&
	      rec_vec_put(out, tree.strings.bytes.data, tree.strings.bytes.used) &&
	      rec_vec_put(out, tree.elements.data, tree.elements.used)))
		tree.code = HOLTER_E_NOMEM;
	if (tree.code == 0)
		leb128_put_padded4(out->data + start, (uint32_t)(out->used - start));
	rec_texts_free(&tree.strings);
	rec_vec_free(&tree.elements);
	return tree.code;
}
