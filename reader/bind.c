/*
 * Binds the catalog of events (recorder/format/events.def) to the types of a file, by name.
 *
 * In: events as decoded by the metadata of their file. Out: the structs of holter_events.h. The
 * catalog never decides how bytes are read: a field that the file does not have, or has as another
 * kind of value, is missing, so a wrong table shows as a failed test and not as wrong numbers.
 *
 * Layout: every field of a struct is a slot of eight bytes behind `missing`, in the catalog's
 * order.
 */
#include <stdlib.h>

#include "reader/holter_events.h"
#include "reader/model.h"
#include "recorder/format/schema.h"

#define FIELDS_MAX 63 /* bits of `missing` */
#define NO_FIELD UINT16_MAX

enum slot_kind { SLOT_INTEGER, SLOT_BOOL, SLOT_REAL, SLOT_TEXT, SLOT_THREAD };

/* A type of the file, matched with a row of the catalog; NULL row: none of ours. */
struct bound {
	const struct ev_type *row;
	const char *first_missing;
	uint16_t slot_count;
	struct {
		uint16_t field; /* of the file's type, or NO_FIELD */
		uint8_t kind;
	} slots[FIELDS_MAX];
};

struct holter_events {
	const struct holter_reader *reader;
	uint64_t nonce;
	uint64_t serial;
	struct bound **bounds; /* by index of the type; NULL = not matched yet */
	size_t bound_count;
};

/* One assert for the layout of all structs: slots of eight bytes. */
#define F(name, kind, label) +1
#define H(name, kind)
#define V(name, kind, label, slot) +1
#define C(name, kind, label) +1
#define DEFAULT(...)
#define PROFILE(...)
#define EVENT(id, number, name, label, category, shape, gate, text, def, prof, ...)                \
	_Static_assert(sizeof(struct holter_event_##id) == 8 * (1 __VA_ARGS__) &&                  \
			       (0 __VA_ARGS__) <= FIELDS_MAX,                                      \
		       "slots of holter_event_" #id);
#include "recorder/format/events.def"

int holter_events_create(struct holter_events **events)
{
	struct holter_events *made = calloc(1, sizeof(*made));

	if (!made)
		return HOLTER_E_NOMEM;
	*events = made;
	return 0;
}

static void forget(struct holter_events *events)
{
	for (size_t i = 0; i < events->bound_count; i++)
		free(events->bounds[i]);
	free(events->bounds);
	events->bounds = NULL;
	events->bound_count = 0;
	events->reader = NULL;
}

void holter_events_destroy(struct holter_events *events)
{
	if (!events)
		return;
	forget(events);
	free(events);
}

static enum slot_kind slot_kind(uint8_t kind)
{
	static const struct {
		const char *type;
		enum slot_kind kind;
	} kinds[] = {
		{ "boolean", SLOT_BOOL },
		{ "float", SLOT_REAL },
		{ "double", SLOT_REAL },
		{ "java.lang.String", SLOT_TEXT },
		{ "java.lang.Class", SLOT_TEXT },
		{ "jdk.types.ThreadState", SLOT_TEXT },
		{ "jdk.types.NetworkInterfaceName", SLOT_TEXT },
		{ "java.lang.Thread", SLOT_THREAD },
	};
	const char *type = ev_kinds[kind].jfr_type;

	for (size_t i = 0; type && i < ARRAY_LEN(kinds); i++)
		if (strcmp(type, kinds[i].type) == 0)
			return kinds[i].kind;
	return SLOT_INTEGER;
}

static uint16_t find_field(const struct holter_type *type, const char *name)
{
	for (uint16_t i = 0; i < type->field_count; i++)
		if (strcmp(type->fields[i].name, name) == 0)
			return i;
	return NO_FIELD;
}

/* The row must have the full name: "SocketRead" alone is somebody else's. */
static const struct ev_type *find_row(const struct holter_type *type)
{
	const struct ev_type *row = ev_type_by_name(type->name, strlen(type->name));

	return row && strcmp(row->name, type->name) == 0 ? row : NULL;
}

static void bind_type(struct bound *bound, const struct holter_type *type)
{
	bound->row = find_row(type);
	for (uint32_t i = 0; bound->row && i < bound->row->field_count; i++) {
		const struct ev_field *field = &bound->row->fields[i];
		uint16_t slot = bound->slot_count;

		if (field->role == EV_ROLE_HIDDEN)
			continue;
		bound->slots[slot].field = find_field(type, field->name);
		bound->slots[slot].kind = (uint8_t)slot_kind(field->kind);
		if (bound->slots[slot].field == NO_FIELD && !bound->first_missing)
			bound->first_missing = field->name;
		bound->slot_count++;
	}
}

/* NULL without memory. */
static const struct bound *find_bound(struct holter_events *events,
				      const struct holter_event *event)
{
	const struct holter_reader *reader = event->reader;
	struct bound *bound;

	if (unlikely(events->serial != reader->serial || events->reader != reader ||
		     events->nonce != reader->nonce)) {
		forget(events);
		events->bounds = calloc(reader->chunk.type_count, sizeof(struct bound *));
		if (!events->bounds)
			return NULL;
		events->bound_count = reader->chunk.type_count;
		events->reader = reader;
		events->serial = reader->serial;
		events->nonce = reader->nonce;
	}
	bound = events->bounds[event->type->index];
	if (likely(bound))
		return bound;
	bound = calloc(1, sizeof(*bound));
	if (!bound)
		return NULL;
	bind_type(bound, event->type);
	events->bounds[event->type->index] = bound;
	return bound;
}

int holter_events_number(struct holter_events *events, const struct holter_event *event)
{
	const struct bound *bound = find_bound(events, event);

	if (!bound)
		return HOLTER_E_NOMEM;
	return bound->row ? bound->row->number : HOLTER_EVENT_NONE;
}

const char *holter_events_missing(struct holter_events *events, const struct holter_event *event)
{
	const struct bound *bound = find_bound(events, event);

	return bound ? bound->first_missing : NULL;
}

/* A text, or the name of a class; null stays NULL. False when it is something else. */
static bool text_slot(const struct holter_value *value, const char **text)
{
	struct holter_value name;

	if (value->kind == HOLTER_KIND_STRUCT) {
		if (holter_value_member(value, "name", &name))
			return false;
		value = &name;
	}
	if (value->kind == HOLTER_KIND_NULL)
		*text = NULL;
	else if (value->kind == HOLTER_KIND_STRING)
		*text = value->as.text.data;
	else
		return false;
	return true;
}

/* Puts a value into its slot; false when it is of another kind. */
static bool fill_slot(const struct holter_value *value, uint8_t kind, uint8_t *slot)
{
	bool is_integer = value->kind == HOLTER_KIND_INT || value->kind == HOLTER_KIND_UINT;
	bool is_real = value->kind == HOLTER_KIND_FLOAT || value->kind == HOLTER_KIND_DOUBLE;
	const struct holter_thread *thread;
	const char *text;

	switch (kind) {
	case SLOT_INTEGER:
		memcpy(slot, &value->as.integer, 8);
		return is_integer;
	case SLOT_BOOL:
		memcpy(slot, &value->as.boolean, sizeof(bool));
		return value->kind == HOLTER_KIND_BOOL;
	case SLOT_REAL:
		memcpy(slot, &value->as.real, 8);
		return is_real;
	case SLOT_TEXT:
		if (!text_slot(value, &text))
			return false;
		memcpy(slot, &text, 8);
		return true;
	default:
		thread = holter_value_thread(value);
		memcpy(slot, &thread, 8);
		return thread || value->kind == HOLTER_KIND_NULL;
	}
}

int holter_events_get(struct holter_events *events, const struct holter_event *event, int number,
		      void *result)
{
	const struct bound *bound = find_bound(events, event);
	uint64_t missing = 0;
	uint8_t *slots = result;

	if (!bound)
		return HOLTER_E_NOMEM;
	if (!bound->row || bound->row->number != number)
		return HOLTER_E_NO_TYPE;
	for (uint32_t i = 0; i < bound->slot_count; i++) {
		uint8_t *slot = slots + 8 * (i + 1);
		struct holter_value value;
		int code;

		memset(slot, 0, 8);
		if (bound->slots[i].field == NO_FIELD) {
			missing |= 1ull << i;
			continue;
		}
		code = holter_event_field(event, bound->slots[i].field, &value);
		if (code)
			return code;
		if (!fill_slot(&value, bound->slots[i].kind, slot)) {
			memset(slot, 0, 8);
			missing |= 1ull << i;
		}
	}
	memcpy(slots, &missing, 8);
	return 0;
}
