/*
 * The questions of holter_reader_type.h, answered from the linked types.
 */
#include "reader/model.h"

const char *holter_type_name(const struct holter_type *type)
{
	return type->name;
}

int64_t holter_type_id(const struct holter_type *type)
{
	return (int64_t)type->id;
}

size_t holter_type_index(const struct holter_type *type)
{
	return type->index;
}

const char *holter_type_super(const struct holter_type *type)
{
	return type->super;
}

bool holter_type_is_event(const struct holter_type *type)
{
	return type->is_event;
}

bool holter_type_is_simple(const struct holter_type *type)
{
	return type->is_simple;
}

enum holter_base holter_type_base(const struct holter_type *type)
{
	return (enum holter_base)type->base;
}

const char *holter_type_label(const struct holter_type *type)
{
	return type->label;
}

const char *holter_type_description(const struct holter_type *type)
{
	return type->description;
}

size_t holter_type_category_count(const struct holter_type *type)
{
	return type->category_count;
}

const char *holter_type_category(const struct holter_type *type, size_t index)
{
	return index < type->category_count ? type->categories[index] : NULL;
}

size_t holter_type_field_count(const struct holter_type *type)
{
	return type->field_count;
}

const struct holter_field *holter_type_field(const struct holter_type *type, size_t index)
{
	return index < type->field_count ? &type->fields[index] : NULL;
}

const struct holter_field *holter_type_find_field(const struct holter_type *type, const char *name)
{
	for (uint32_t i = 0; i < type->field_count; i++)
		if (strcmp(type->fields[i].name, name) == 0)
			return &type->fields[i];
	return NULL;
}

size_t holter_type_setting_count(const struct holter_type *type)
{
	return type->setting_count;
}

const struct holter_setting *holter_type_setting(const struct holter_type *type, size_t index)
{
	return index < type->setting_count ? &type->settings[index] : NULL;
}

static const struct holter_annotation *annotation_at(const struct rdr_annotations *annotations,
						     size_t index)
{
	return index < annotations->count ? &annotations->all[index] : NULL;
}

size_t holter_type_annotation_count(const struct holter_type *type)
{
	return type->annotations.count;
}

const struct holter_annotation *holter_type_annotation(const struct holter_type *type, size_t index)
{
	return annotation_at(&type->annotations, index);
}

const char *holter_field_name(const struct holter_field *field)
{
	return field->name;
}

const struct holter_type *holter_field_type(const struct holter_field *field)
{
	return field->type;
}

bool holter_field_is_array(const struct holter_field *field)
{
	return field->is_array;
}

bool holter_field_is_pooled(const struct holter_field *field)
{
	return field->is_pooled;
}

bool holter_field_is_unsigned(const struct holter_field *field)
{
	return field->is_unsigned;
}

enum holter_unit holter_field_unit(const struct holter_field *field)
{
	return field ? (enum holter_unit)field->unit : HOLTER_UNIT_NONE;
}

const char *holter_field_label(const struct holter_field *field)
{
	return field->label;
}

const char *holter_field_description(const struct holter_field *field)
{
	return field->description;
}

size_t holter_field_annotation_count(const struct holter_field *field)
{
	return field->annotations.count;
}

const struct holter_annotation *holter_field_annotation(const struct holter_field *field,
							size_t index)
{
	return annotation_at(&field->annotations, index);
}

const char *holter_setting_name(const struct holter_setting *setting)
{
	return setting->name;
}

const char *holter_setting_default(const struct holter_setting *setting)
{
	return setting->default_value;
}

const struct holter_type *holter_setting_type(const struct holter_setting *setting)
{
	return setting->type;
}

size_t holter_setting_annotation_count(const struct holter_setting *setting)
{
	return setting->annotations.count;
}

const struct holter_annotation *holter_setting_annotation(const struct holter_setting *setting,
							  size_t index)
{
	return annotation_at(&setting->annotations, index);
}

const struct holter_type *holter_annotation_type(const struct holter_annotation *annotation)
{
	return annotation->type;
}

size_t holter_annotation_value_count(const struct holter_annotation *annotation)
{
	return annotation->attribute_count;
}

const char *holter_annotation_key(const struct holter_annotation *annotation, size_t index)
{
	return index < annotation->attribute_count ? annotation->attributes[index].key : NULL;
}

const char *holter_annotation_value(const struct holter_annotation *annotation, size_t index)
{
	return index < annotation->attribute_count ? annotation->attributes[index].value : NULL;
}
