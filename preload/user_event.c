/*
 * The recorder's side of holter.h: a program's own event types.
 *
 * In: types and values from the program. Out: a row in the region's table of user types, records of
 * type EV_USER_BASE + row. Never here: anything about events of the catalog.
 */
#include "recorder/holter.h"

#include "preload/real.h"
#include "recorder/capture/capture.h"

#define ID_NONE UINT32_MAX /* could not be registered */

static const uint8_t kind_of[] = {
	[HOLTER_LONG] = EV_KIND_LONG,		[HOLTER_BOOLEAN] = EV_KIND_BOOL,
	[HOLTER_DOUBLE] = EV_KIND_DOUBLE,	[HOLTER_STRING] = EV_KIND_STRING,
	[HOLTER_BYTES] = EV_KIND_BYTES,		[HOLTER_NANOSECONDS] = EV_KIND_NANOS,
	[HOLTER_MILLISECONDS] = EV_KIND_MILLIS, [HOLTER_EPOCH_MILLISECONDS] = EV_KIND_EPOCH_MS,
	[HOLTER_ADDRESS] = EV_KIND_ADDR,	[HOLTER_PERCENTAGE] = EV_KIND_PERCENT,
	[HOLTER_HERTZ] = EV_KIND_HERTZ_LONG,
};

static void copy_text(char *to, size_t size, const char *from)
{
	size_t length = from ? strnlen(from, size - 1) : 0;

	memcpy(to, from ? from : "", length);
	to[length] = 0;
}

/* Letters, digits, '_' and, in a type's name, dots between them: what JFR readers accept. */
static bool is_identifier(const char *text, bool dots)
{
	bool at_start = true;

	if (!text || !*text)
		return false;
	for (; *text; text++) {
		bool letter = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
			      *text == '_';
		bool digit = *text >= '0' && *text <= '9';

		if (dots && *text == '.' && !at_start) {
			at_start = true;
			continue;
		}
		if (!letter && !(digit && !at_start))
			return false;
		at_start = false;
	}
	return !at_start;
}

static bool is_valid(const struct holter_event_type *type)
{
	if (!is_identifier(type->name, true) || strlen(type->name) >= 64 ||
	    type->field_count == 0 || type->field_count > HOLTER_FIELDS_MAX)
		return false;
	for (uint32_t i = 0; i < type->field_count; i++)
		if (!is_identifier(type->fields[i].name, false) ||
		    strlen(type->fields[i].name) >= 32 ||
		    (uint32_t)type->fields[i].kind >= ARRAY_LEN(kind_of))
			return false;
	return true;
}

static uint32_t register_type(struct holter_event_type *type)
{
	struct rec_user_type row;
	uint32_t index = REC_NONE;

	memset(&row, 0, sizeof(row));
	if (is_valid(type)) {
		copy_text(row.name, sizeof(row.name), type->name);
		copy_text(row.label, sizeof(row.label), type->label);
		copy_text(row.category, sizeof(row.category), type->category);
		copy_text(row.description, sizeof(row.description), type->description);
		row.field_count = type->field_count;
		row.shape = EV_HAS_THREAD | (type->flags & HOLTER_DURATION ? EV_HAS_DURATION : 0) |
			    (type->flags & HOLTER_STACK ? EV_HAS_STACK : 0);
		for (uint32_t i = 0; i < type->field_count; i++) {
			copy_text(row.field[i].name, sizeof(row.field[i].name),
				  type->fields[i].name);
			copy_text(row.field[i].label, sizeof(row.field[i].label),
				  type->fields[i].label);
			row.field[i].kind = kind_of[type->fields[i].kind];
		}
		index = rec_user_type_add(&rec_family, &row);
	}
	/* Row + 1, so that a static type's 0 means not yet registered. */
	index = index < ARRAY_LEN(rec_live.user) ? index + 1 : ID_NONE;
	__atomic_store_n(&type->id, index, __ATOMIC_RELEASE);
	return index;
}

/* Enabled unless set otherwise: a row of zeros is one nobody has set. */
static bool is_enabled(uint32_t id)
{
	const struct rec_event_setting *setting = &rec_live.user[id - 1];

	return setting->threshold_ticks != UINT64_MAX;
}

PRE_HOOK uint64_t holter_api_begin(struct holter_event_type *type)
{
	uint32_t id;

	if (likely(!rec_live.recording))
		return 0;
	id = __atomic_load_n(&type->id, __ATOMIC_ACQUIRE);
	if (unlikely(id == 0))
		id = register_type(type);
	return id != ID_NONE && is_enabled(id) ? rec_clock_now() : 0;
}

PRE_HOOK uint64_t holter_api_now(void)
{
	return rec_clock_now();
}

PRE_HOOK int holter_api_wanted(const struct holter_event_type *type, uint64_t start, uint64_t end)
{
	uint32_t id = __atomic_load_n(&type->id, __ATOMIC_ACQUIRE);

	return id != 0 && id != ID_NONE &&
	       (end ? end : rec_clock_now()) - start >= rec_live.user[id - 1].threshold_ticks;
}

/* One value into the record; returns the offset behind it. */
static uint32_t put_value(struct rec_thread *thread, uint8_t *body, uint32_t at,
			  enum holter_event_kind kind, union holter_event_value value)
{
	uint32_t half = 0;
	float ratio;

	switch (kind) {
	case HOLTER_STRING:
		half = value.text ? rec_string(thread, value.text,
					       strnlen(value.text, REC_DEPOT_BYTES_MAX))
				  : 0;
		break;
	case HOLTER_BOOLEAN:
		half = value.integer != 0;
		break;
	case HOLTER_PERCENTAGE:
		ratio = (float)value.real;
		memcpy(&half, &ratio, sizeof(half));
		break;
	default:
		memcpy(body + at, &value, 8);
		return at + 8;
	}
	memcpy(body + at, &half, 4);
	return at + 4;
}

PRE_HOOK void holter_api_commit(struct holter_event_type *type, uint64_t start, uint64_t end,
				const union holter_event_value *values)
{
	uint64_t body[2 + HOLTER_FIELDS_MAX] = { 0 };
	struct rec_thread *thread = rec_thread_self();
	uint32_t id = __atomic_load_n(&type->id, __ATOMIC_ACQUIRE);
	uint32_t flags = 0, at = 0;
	uint32_t head;

	if (id == 0 || id == ID_NONE || !holter_api_wanted(type, start, end))
		return;
	if (thread->tid == 0)
		thread = rec_thread_attach();
	if (thread == &rec_thread_mute)
		return;
	if (type->flags & HOLTER_STACK) {
		head = rec_stack_capture(thread);
		memcpy((uint8_t *)body + at, &head, 4);
		at += 4;
	}
	if (type->flags & HOLTER_DURATION) {
		head = rec_append_scale(end - start, &flags);
		memcpy((uint8_t *)body + at, &head, 4);
		at += 4;
	}
	for (uint32_t i = 0; i < type->field_count && i < HOLTER_FIELDS_MAX; i++)
		at = put_value(thread, (uint8_t *)body, at, type->fields[i].kind, values[i]);
	rec_emit(thread, EV_USER_BASE + id - 1, flags, end, body, (uint32_t)align_up(at, 8));
}
