/*
 * Expands the catalog (events.def, kinds.def, names.def) into constant tables.
 *
 * In: the tables. Out: ev_types[], ev_kinds[], ev_names[] for dump, settings, reader and man page.
 * Never here: anything about regions, files or processes.
 */
#include "recorder/format/schema.h"

const struct ev_kind_info ev_kinds[EV_KIND_COUNT] = {
#define KIND(id, bits, type, pooled, annotation, argument)                                         \
	[EV_KIND_##id] = { #id, bits, pooled, type, annotation, argument },
#include "recorder/format/kinds.def"
};

const char *const ev_names[EV_NAME_COUNT] = {
#define NAME(symbol, text) [EV_NAME_##symbol] = text,
#include "recorder/format/names.def"
};

#define DEFAULT(...)
#define PROFILE(...)
#define F(field, kind, text) { #field, text, NULL, EV_KIND_##kind, EV_ROLE_FIELD },
#define H(field, kind) { #field, NULL, NULL, EV_KIND_##kind, EV_ROLE_HIDDEN },
#define V(field, kind, text, slot) { #field, text, #slot, EV_KIND_##kind, EV_ROLE_VIEW },
#define C(field, kind, text) { #field, text, NULL, EV_KIND_##kind, EV_ROLE_CONSTANT },
#define EVENT(id, number, name, label, category, shape, gate, text, def, prof, ...)                \
	static const struct ev_field fields_##id[] = { __VA_ARGS__ };
#include "recorder/format/events.def"

#define F(...)
#define H(...)
#define V(...)
#define C(...)
#define DEFAULT(enabled, threshold_us, stack)                                                      \
	{                                                                                          \
		enabled, stack, threshold_us                                                       \
	}
#define PROFILE(enabled, threshold_us, stack)                                                      \
	{                                                                                          \
		enabled, stack, threshold_us                                                       \
	}
#define EVENT(id, number, name, label, category, shape, gate, text, def, prof, ...)                \
	{ #id,                                                                                     \
	  name,                                                                                    \
	  label,                                                                                   \
	  category,                                                                                \
	  text,                                                                                    \
	  number,                                                                                  \
	  EV_SHAPE_##shape,                                                                        \
	  EV_GATE_##gate,                                                                          \
	  sizeof(struct ev_##id),                                                                  \
	  ARRAY_LEN(fields_##id),                                                                  \
	  fields_##id,                                                                             \
	  def,                                                                                     \
	  prof },
const struct ev_type ev_types[] = {
#include "recorder/format/events.def"
};

const uint32_t ev_type_count = ARRAY_LEN(ev_types);

#define F(...)
#define H(...)
#define V(...)
#define C(...)
#define DEFAULT(...)
#define PROFILE(...)
#define EVENT(id, number, ...)                                                                     \
	_Static_assert(number > 0 && number < EV_NUMBER_MAX, "number out of range: " #id);
#include "recorder/format/events.def"

const struct ev_type *ev_type_by_number(uint32_t number)
{
	for (uint32_t i = 0; i < ev_type_count; i++)
		if (ev_types[i].number == number)
			return &ev_types[i];
	return NULL;
}

const struct ev_type *ev_type_by_name(const char *name, size_t length)
{
	for (uint32_t i = 0; i < ev_type_count; i++) {
		const char *full = ev_types[i].name;
		const char *simple = strrchr(full, '.') + 1;

		if (strlen(full) == length && memcmp(full, name, length) == 0)
			return &ev_types[i];
		if (strlen(simple) == length && memcmp(simple, name, length) == 0)
			return &ev_types[i];
	}
	return NULL;
}

struct ev_slot ev_field_slot(const struct ev_type *type, uint32_t index)
{
	const struct ev_field *wanted = &type->fields[index];
	const char *name = wanted->role == EV_ROLE_VIEW ? wanted->view_of : wanted->name;
	struct ev_slot slot = { 0, 0 };

	if (wanted->role == EV_ROLE_CONSTANT)
		return slot;
	if (type->shape & EV_HAS_STACK)
		slot.offset += 4;
	if (type->shape & EV_HAS_DURATION)
		slot.offset += 4;
	for (uint32_t i = 0; i < type->field_count; i++) {
		const struct ev_field *field = &type->fields[i];

		if (field->role != EV_ROLE_FIELD && field->role != EV_ROLE_HIDDEN)
			continue;
		slot.bits = ev_kinds[field->kind].bits;
		if (strcmp(field->name, name) == 0)
			return slot;
		slot.offset = (uint16_t)(slot.offset + slot.bits / 8);
	}
	slot.bits = 0;
	return slot;
}
