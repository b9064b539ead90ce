/*
 * Cleaning a program's own event types.
 *
 * In: struct rec_user_type as the program wrote it. Out: struct ev_type. Never here: trust.
 */
#include "recorder/dump/own_types.h"

#include "recorder/base/text.h"

static const char *const type_names[] = {
#define TF(...)
#define TYPE(symbol, id, name, ...) name,
#include "recorder/format/types.def"
};

/* Copies a name as Java identifiers, joined by dots when those are allowed. */
static void clean_name(const char *from, char *to, size_t size, bool has_dots)
{
	size_t used = 0;
	bool is_start = true;

	for (; *from && used + 2 < size; from++) {
		bool is_letter = (*from >= 'a' && *from <= 'z') || (*from >= 'A' && *from <= 'Z') ||
				 *from == '_' || *from == '$';
		bool is_digit = *from >= '0' && *from <= '9';
		bool is_dot = has_dots && *from == '.' && !is_start && from[1] && from[1] != '.';

		if (is_digit && is_start)
			to[used++] = '_';
		to[used++] = is_letter || is_digit || is_dot ? *from : '_';
		is_start = is_dot;
	}
	if (used == 0)
		to[used++] = '_';
	to[used] = 0;
}

/* Makes a name another one by its number. */
static void tell_apart(char *name, size_t size, uint32_t number)
{
	char *at = name + strnlen(name, size - 8);

	at = text_copy(at, name + size, "_");
	text_u64(at, name + size, number);
}

static bool is_taken(const struct rec_own_types *types, uint32_t index, const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(type_names); i++)
		if (strcmp(type_names[i], name) == 0)
			return true;
	for (uint32_t i = 0; i < ev_type_count; i++)
		if (strcmp(ev_types[i].name, name) == 0)
			return true;
	for (uint32_t i = 0; i < index; i++)
		if (types->copy[i].is_valid && strcmp(types->copy[i].name, name) == 0)
			return true;
	return false;
}

static bool is_field_taken(const struct rec_own_type *copy, uint32_t index, const char *name)
{
	static const char *const reserved[] = { "startTime", "duration", "eventThread",
						"stackTrace" };

	for (size_t i = 0; i < ARRAY_LEN(reserved); i++)
		if (strcmp(reserved[i], name) == 0)
			return true;
	for (uint32_t i = 0; i < index; i++)
		if (strcmp(copy->names[i], name) == 0)
			return true;
	return false;
}

/* Bytes of the fields' slots. */
static uint32_t make_fields(struct rec_own_type *copy)
{
	uint32_t bytes = 0, count = copy->texts.field_count;

	copy->type.field_count = 0;
	for (uint32_t i = 0; i < count && i < REC_USER_FIELDS; i++) {
		uint32_t kind = copy->texts.field[i].kind;
		struct ev_field *field = &copy->fields[copy->type.field_count];

		if (kind >= EV_KIND_COUNT || ev_kinds[kind].bits == 0)
			continue;
		clean_name(copy->texts.field[i].name, copy->names[copy->type.field_count],
			   sizeof(copy->names[0]), false);
		if (is_field_taken(copy, copy->type.field_count,
				   copy->names[copy->type.field_count]))
			tell_apart(copy->names[copy->type.field_count], sizeof(copy->names[0]), i);
		*field = (struct ev_field){
			.name = copy->names[copy->type.field_count],
			.label = copy->texts.field[i].label,
			.kind = (uint8_t)kind,
			.role = ev_kinds[kind].jfr_type ? EV_ROLE_FIELD : EV_ROLE_HIDDEN,
		};
		/* These share bits with a neighbour, which only the catalog can promise. */
		if (kind == EV_KIND_SIZE48 || kind == EV_KIND_ADDR48 || kind == EV_KIND_WEIGHT)
			field->role = EV_ROLE_HIDDEN;
		bytes += ev_kinds[kind].bits / 8;
		copy->type.field_count++;
	}
	return bytes;
}

static void make_type(struct rec_own_types *types, uint32_t index)
{
	struct rec_own_type *copy = &types->copy[index];
	uint32_t bytes;

	clean_name(copy->texts.name, copy->name, sizeof(copy->name), true);
	if (is_taken(types, index, copy->name))
		tell_apart(copy->name, sizeof(copy->name), index);
	copy->type = (struct ev_type){
		.id = copy->name,
		.name = copy->name,
		.label = copy->texts.label,
		.category = copy->texts.category,
		.description = copy->texts.description,
		.number = (uint16_t)(EV_USER_BASE + index),
		.shape = copy->texts.shape & (EV_HAS_DURATION | EV_HAS_THREAD | EV_HAS_STACK),
		.gate = EV_GATE_USER,
		.fields = copy->fields,
		.preset_default = { 1, 1, 0 },
		.preset_profile = { 1, 1, 0 },
	};
	bytes = make_fields(copy);
	bytes += copy->type.shape & EV_HAS_STACK ? 4 : 0;
	bytes += copy->type.shape & EV_HAS_DURATION ? 4 : 0;
	copy->type.bytes = (uint16_t)align_up(bytes, 8);
	copy->is_valid = !is_taken(types, index, copy->name);
}

uint32_t rec_own_types_read(struct rec_own_types *types, const struct rec_region *region)
{
	uint32_t valid = 0;

	for (uint32_t i = 0; i < EV_USER_MAX; i++) {
		types->copy[i].is_valid = 0;
		if (!rec_user_type_read(region, i, &types->copy[i].texts))
			continue;
		make_type(types, i);
		valid += types->copy[i].is_valid;
	}
	return valid;
}
