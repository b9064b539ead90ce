/*
 * holter_reader_type.h - what the metadata of a chunk says: types, fields, settings, annotations
 * (public, installed, part of holter_reader.h: include that).
 *
 * All pointers handed out last until the reader enters the next chunk. No function here fails,
 * blocks or allocates.
 */
#ifndef HOLTER_READER_TYPE_H
#define HOLTER_READER_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef HOLTER_PUBLIC
#define HOLTER_PUBLIC __attribute__((visibility("default")))
#endif

struct holter_type;
struct holter_field;
struct holter_setting;
struct holter_annotation;

/* What a number means, from the annotations of its field. */
enum holter_unit {
	HOLTER_UNIT_NONE,
	HOLTER_UNIT_SPAN_TICKS, /* Timespan */
	HOLTER_UNIT_SPAN_NS,
	HOLTER_UNIT_SPAN_US,
	HOLTER_UNIT_SPAN_MS,
	HOLTER_UNIT_SPAN_S,
	HOLTER_UNIT_TIME_TICKS, /* Timestamp */
	HOLTER_UNIT_TIME_MS,	/* since the epoch */
	HOLTER_UNIT_TIME_NS,	/* since the epoch; not known to a JDK */
	HOLTER_UNIT_BYTES,	/* DataAmount */
	HOLTER_UNIT_BITS,
	HOLTER_UNIT_BYTES_PER_S, /* DataAmount and Frequency */
	HOLTER_UNIT_BITS_PER_S,
	HOLTER_UNIT_HERTZ,
	HOLTER_UNIT_PERCENT, /* 1.0 = 100 % */
	HOLTER_UNIT_ADDRESS, /* MemoryAddress */
};

/* The primitive a type is; HOLTER_BASE_STRUCT for everything with fields. */
enum holter_base {
	HOLTER_BASE_STRUCT,
	HOLTER_BASE_BOOLEAN,
	HOLTER_BASE_BYTE,
	HOLTER_BASE_SHORT,
	HOLTER_BASE_CHAR,
	HOLTER_BASE_INT,
	HOLTER_BASE_LONG,
	HOLTER_BASE_FLOAT,
	HOLTER_BASE_DOUBLE,
	HOLTER_BASE_STRING,
};

/* Each of these: Return: as its comment says. Context: the reader's thread. */

/** holter_type_name() - Return: full name, such as "jdk.SocketRead". Context: see above. */
HOLTER_PUBLIC const char *holter_type_name(const struct holter_type *type);
/** holter_type_id() - Return: its number in this chunk. Context: see above. */
HOLTER_PUBLIC int64_t holter_type_id(const struct holter_type *type);
/** holter_type_index() - Return: as for holter_reader_type(). Context: see above. */
HOLTER_PUBLIC size_t holter_type_index(const struct holter_type *type);
/** holter_type_super() - Return: name of the super type, NULL for none. Context: see above. */
HOLTER_PUBLIC const char *holter_type_super(const struct holter_type *type);
/** holter_type_is_event() - Return: whether events have this type. Context: see above. */
HOLTER_PUBLIC bool holter_type_is_event(const struct holter_type *type);
/** holter_type_is_simple() - Return: whether it stands for its one field. Context: see above. */
HOLTER_PUBLIC bool holter_type_is_simple(const struct holter_type *type);
/** holter_type_base() - Return: which primitive it is. Context: see above. */
HOLTER_PUBLIC enum holter_base holter_type_base(const struct holter_type *type);
/** holter_type_label() - Return: text of jdk.jfr.Label, NULL for none. Context: see above. */
HOLTER_PUBLIC const char *holter_type_label(const struct holter_type *type);
/** holter_type_description() - Return: of jdk.jfr.Description, or NULL. Context: see above. */
HOLTER_PUBLIC const char *holter_type_description(const struct holter_type *type);
/** holter_type_category_count() - Return: length of its Category path. Context: see above. */
HOLTER_PUBLIC size_t holter_type_category_count(const struct holter_type *type);
/** holter_type_category() - Return: a step of the path from 0, or NULL. Context: see above. */
HOLTER_PUBLIC const char *holter_type_category(const struct holter_type *type, size_t index);
/** holter_type_field_count() - Return: number of fields. Context: see above. */
HOLTER_PUBLIC size_t holter_type_field_count(const struct holter_type *type);
/** holter_type_field() - Return: a field from 0 in file order, or NULL. Context: see above. */
HOLTER_PUBLIC const struct holter_field *holter_type_field(const struct holter_type *type,
							   size_t index);
/** holter_type_find_field() - Return: the field of that name, or NULL. Context: see above. */
HOLTER_PUBLIC const struct holter_field *holter_type_find_field(const struct holter_type *type,
								const char *name);
/** holter_type_setting_count() - Return: number of settings. Context: see above. */
HOLTER_PUBLIC size_t holter_type_setting_count(const struct holter_type *type);
/** holter_type_setting() - Return: a setting from 0, or NULL. Context: see above. */
HOLTER_PUBLIC const struct holter_setting *holter_type_setting(const struct holter_type *type,
							       size_t index);
/** holter_type_annotation_count() - Return: number of annotations. Context: see above. */
HOLTER_PUBLIC size_t holter_type_annotation_count(const struct holter_type *type);
/** holter_type_annotation() - Return: an annotation from 0, or NULL. Context: see above. */
HOLTER_PUBLIC const struct holter_annotation *holter_type_annotation(const struct holter_type *type,
								     size_t index);

/** holter_field_name() - Return: such as "bytesRead". Context: see above. */
HOLTER_PUBLIC const char *holter_field_name(const struct holter_field *field);
/** holter_field_type() - Return: of its values or elements; NULL if undeclared. Context: above. */
HOLTER_PUBLIC const struct holter_type *holter_field_type(const struct holter_field *field);
/** holter_field_is_array() - Return: whether it is an array. Context: see above. */
HOLTER_PUBLIC bool holter_field_is_array(const struct holter_field *field);
/** holter_field_is_pooled() - Return: whether the file holds constant keys. Context: see above. */
HOLTER_PUBLIC bool holter_field_is_pooled(const struct holter_field *field);
/** holter_field_is_unsigned() - Return: whether jdk.jfr.Unsigned is set. Context: see above. */
HOLTER_PUBLIC bool holter_field_is_unsigned(const struct holter_field *field);
/** holter_field_unit() - Return: what its numbers mean. Context: see above. */
HOLTER_PUBLIC enum holter_unit holter_field_unit(const struct holter_field *field);
/** holter_field_label() - Return: text of jdk.jfr.Label, NULL for none. Context: see above. */
HOLTER_PUBLIC const char *holter_field_label(const struct holter_field *field);
/** holter_field_description() - Return: of jdk.jfr.Description, or NULL. Context: see above. */
HOLTER_PUBLIC const char *holter_field_description(const struct holter_field *field);
/** holter_field_annotation_count() - Return: number of annotations. Context: see above. */
HOLTER_PUBLIC size_t holter_field_annotation_count(const struct holter_field *field);
/** holter_field_annotation() - Return: an annotation from 0, or NULL. Context: see above. */
HOLTER_PUBLIC const struct holter_annotation *
holter_field_annotation(const struct holter_field *field, size_t index);

/** holter_setting_name() - Return: such as "threshold". Context: see above. */
HOLTER_PUBLIC const char *holter_setting_name(const struct holter_setting *setting);
/** holter_setting_default() - Return: default value as text, or NULL. Context: see above. */
HOLTER_PUBLIC const char *holter_setting_default(const struct holter_setting *setting);
/** holter_setting_type() - Return: its control's type, or NULL. Context: see above. */
HOLTER_PUBLIC const struct holter_type *holter_setting_type(const struct holter_setting *setting);
/** holter_setting_annotation_count() - Return: number of annotations. Context: see above. */
HOLTER_PUBLIC size_t holter_setting_annotation_count(const struct holter_setting *setting);
/** holter_setting_annotation() - Return: an annotation from 0, or NULL. Context: see above. */
HOLTER_PUBLIC const struct holter_annotation *
holter_setting_annotation(const struct holter_setting *setting, size_t index);

/** holter_annotation_type() - Return: such as jdk.jfr.Label, or NULL. Context: see above. */
HOLTER_PUBLIC const struct holter_type *
holter_annotation_type(const struct holter_annotation *annotation);
/** holter_annotation_value_count() - Return: number of attributes. Context: see above. */
HOLTER_PUBLIC size_t holter_annotation_value_count(const struct holter_annotation *annotation);
/** holter_annotation_key() - Return: "value", or "value-0" in arrays. Context: see above. */
HOLTER_PUBLIC const char *holter_annotation_key(const struct holter_annotation *annotation,
						size_t index);
/** holter_annotation_value() - Return: text of an attribute, or NULL. Context: see above. */
HOLTER_PUBLIC const char *holter_annotation_value(const struct holter_annotation *annotation,
						  size_t index);

#ifdef __cplusplus
}
#endif
#endif
