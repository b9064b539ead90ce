/*
 * A program's own event types (tables.h, holter.h).
 *
 * In: definitions from the program. Out: copies for the dump, in which every string ends and every
 * number is in range, whatever the region holds.
 */
#include "recorder/region/tables.h"

enum user_type_state { USER_TYPE_FREE, USER_TYPE_WRITING, USER_TYPE_VALID };

static struct rec_user_type *user_type_at(const struct rec_region *region, uint32_t index)
{
	uint64_t ready = __atomic_load_n(&region->header->user_types_ready, __ATOMIC_ACQUIRE);

	if (index >= REC_USER_TYPE_MAX || (index + 1ull) * sizeof(struct rec_user_type) > ready)
		return NULL;
	return (struct rec_user_type *)(region->base + region->layout.user_types) + index;
}

static bool user_types_ensure(struct rec_region *region, uint32_t count)
{
	return rec_region_ensure(region, region->layout.user_types,
				 REC_USER_TYPE_MAX * sizeof(struct rec_user_type),
				 &region->header->user_types_ready,
				 count * sizeof(struct rec_user_type)) == 0;
}

/* Makes a copy harmless: ended strings, known kinds, bounded counts. */
static void user_type_bound(struct rec_user_type *type)
{
	type->name[sizeof(type->name) - 1] = 0;
	type->label[sizeof(type->label) - 1] = 0;
	type->category[sizeof(type->category) - 1] = 0;
	type->description[sizeof(type->description) - 1] = 0;
	type->shape &= EV_HAS_DURATION | EV_HAS_THREAD | EV_HAS_STACK;
	if (type->field_count > REC_USER_FIELDS)
		type->field_count = REC_USER_FIELDS;
	for (uint32_t i = 0; i < REC_USER_FIELDS; i++) {
		type->field[i].name[sizeof(type->field[i].name) - 1] = 0;
		type->field[i].label[sizeof(type->field[i].label) - 1] = 0;
		if (type->field[i].kind >= EV_KIND_COUNT)
			type->field[i].kind = EV_KIND_LONG;
	}
}

static void count_raise(struct rec_region *region, uint32_t count)
{
	uint32_t *word = &region->header->user_type_count;
	uint32_t old = __atomic_load_n(word, __ATOMIC_RELAXED);

	while (old < count && !__atomic_compare_exchange_n(word, &old, count, true,
							   __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

uint32_t rec_user_type_add(struct rec_region *region, const struct rec_user_type *type)
{
	for (uint32_t i = 0; i < REC_USER_TYPE_MAX && user_types_ensure(region, i + 1); i++) {
		struct rec_user_type *entry = user_type_at(region, i);
		uint32_t state;

		if (!entry)
			return REC_NONE;
		state = __atomic_load_n(&entry->state, __ATOMIC_ACQUIRE);
		if (state == USER_TYPE_VALID &&
		    strncmp(entry->name, type->name, sizeof(entry->name)) == 0)
			return i;
		if (state != USER_TYPE_FREE ||
		    !__atomic_compare_exchange_n(&entry->state, &state, USER_TYPE_WRITING, false,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		memcpy((uint8_t *)entry + sizeof(entry->state),
		       (const uint8_t *)type + sizeof(entry->state),
		       sizeof(*entry) - sizeof(entry->state));
		user_type_bound(entry);
		__atomic_store_n(&entry->state, USER_TYPE_VALID, __ATOMIC_RELEASE);
		count_raise(region, i + 1);
		return i;
	}
	return REC_NONE;
}

int rec_user_type_read(const struct rec_region *region, uint32_t index, struct rec_user_type *copy)
{
	const struct rec_user_type *entry = user_type_at(region, index);

	if (!entry || __atomic_load_n(&entry->state, __ATOMIC_ACQUIRE) != USER_TYPE_VALID)
		return 0;
	*copy = *entry;
	user_type_bound(copy);
	return 1;
}
