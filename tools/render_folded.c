/*
 * Collapsed stacks: `root;caller;leaf SUM`, what flame graph tools read (render_tables.h).
 *
 * In: events with stacks. Out: a line per different stack. Memory grows with the different stacks,
 * not with the events.
 */
#include <stdlib.h>

#include "recorder/base/hash.h"
#include "tools/cmd.h"
#include "tools/render_tables.h"

#define SLOTS_FIRST 1024u
#define RECENT_SLOTS 4096u
#define MODIFIER_NATIVE 0x100

struct cli_folded_stack {
	uint64_t hash;
	uint64_t sum;
	size_t length;
	char text[];
};

void cli_folded_init(struct cli_folded *folded)
{
	*folded = (struct cli_folded){ .slot_count = SLOTS_FIRST };
	folded->slots = cli_alloc(SLOTS_FIRST * sizeof(*folded->slots));
	memset(folded->slots, 0, SLOTS_FIRST * sizeof(*folded->slots));
	folded->recent = cli_alloc(RECENT_SLOTS * sizeof(*folded->recent));
	cli_out_init(&folded->text, -1, 0);
	cli_out_room(&folded->text, 1); /* never NULL, also for a stack without a name */
	cli_folded_enter(folded);
}

void cli_folded_enter(struct cli_folded *folded)
{
	memset(folded->recent, 0, RECENT_SLOTS * sizeof(*folded->recent));
}

/* What separates frames and lines may not stand in a name. */
static void put_name(struct cli_out *text, const char *name, bool is_class)
{
	for (; *name; name++)
		cli_out_char(text, *name == ';'		      ? ':'
				   : *name == '\n'	      ? ' '
				   : is_class && *name == '/' ? '.'
							      : *name);
}

/* Functions stand by themselves; methods of Java, and addresses without a name, need their place.
 */
static void put_frame(struct cli_out *text, const struct holter_frame *frame)
{
	const struct holter_method *method = frame->method;
	bool is_native = method->modifiers == MODIFIER_NATIVE && !strchr(method->class_name, '/');

	if (!is_native || strncmp(method->name, "0x", 2) == 0) {
		put_name(text, method->class_name, !is_native);
		cli_out_char(text, '.');
	}
	put_name(text, method->name, false);
	if (strcmp(frame->type, "Kernel") == 0)
		cli_out_text(text, "_[k]");
}

static void put_stack(struct cli_out *text, const struct holter_stack *stack)
{
	text->used = 0;
	if (stack->is_truncated)
		cli_out_text(text, "[truncated]");
	for (uint32_t i = stack->frame_count; i > 0; i--) {
		if (text->used)
			cli_out_char(text, ';');
		put_frame(text, &stack->frames[i - 1]);
	}
}

static struct cli_folded_stack **find(struct cli_folded *folded, uint64_t hash, const char *text,
				      size_t length)
{
	size_t slot = hash & (folded->slot_count - 1);

	for (;; slot = (slot + 1) & (folded->slot_count - 1)) {
		struct cli_folded_stack *stack = folded->slots[slot];

		if (!stack || (stack->hash == hash && stack->length == length &&
			       memcmp(stack->text, text, length) == 0))
			return &folded->slots[slot];
	}
}

static void grow(struct cli_folded *folded)
{
	struct cli_folded_stack **old = folded->slots;
	size_t count = folded->slot_count;

	folded->slot_count *= 2;
	folded->slots = cli_alloc(folded->slot_count * sizeof(*folded->slots));
	memset(folded->slots, 0, folded->slot_count * sizeof(*folded->slots));
	for (size_t i = 0; i < count; i++)
		if (old[i])
			*find(folded, old[i]->hash, old[i]->text, old[i]->length) = old[i];
	free(old);
}

static struct cli_folded_stack *sum_of(struct cli_folded *folded, const struct holter_stack *stack)
{
	struct cli_folded_recent *recent =
		&folded->recent[hash_mix((uintptr_t)stack) & (RECENT_SLOTS - 1)];
	struct cli_folded_stack **place;
	uint64_t hash;

	if (recent->stack == stack)
		return recent->sum;
	put_stack(&folded->text, stack);
	hash = hash_bytes(folded->text.data, folded->text.used, 0);
	place = find(folded, hash, folded->text.data, folded->text.used);
	if (!*place) {
		*place = cli_alloc(sizeof(**place) + folded->text.used);
		**place = (struct cli_folded_stack){ .hash = hash, .length = folded->text.used };
		memcpy((*place)->text, folded->text.data, folded->text.used);
	}
	*recent = (struct cli_folded_recent){ stack, *place };
	/* Growing moves the places, not what they point to. */
	if ((*place)->sum == 0 && ++folded->count > folded->slot_count / 2)
		grow(folded);
	return recent->sum;
}

static bool integer_field(const struct holter_event *event, const char *name, uint64_t *number)
{
	const struct holter_type *type = holter_event_type(event);
	struct holter_value value;

	for (size_t i = 0; i < holter_type_field_count(type); i++) {
		if (strcmp(holter_field_name(holter_type_field(type, i)), name) != 0)
			continue;
		if (holter_event_field(event, i, &value) != 0 ||
		    (value.kind != HOLTER_KIND_INT && value.kind != HOLTER_KIND_UINT) ||
		    value.as.integer < 0)
			return false;
		*number = value.as.number;
		return true;
	}
	return false;
}

static bool value_of(const struct holter_event *event, enum cli_folded_value value,
		     uint64_t *number)
{
	static const char *const sizes[] = { "bytesRead", "bytesWritten", "size", "allocationSize",
					     "length" };
	int64_t duration;

	switch (value) {
	case CLI_FOLDED_COUNT:
		*number = 1;
		return true;
	case CLI_FOLDED_DURATION:
		duration = holter_event_duration_ns(event);
		*number = duration > 0 ? (uint64_t)duration : 0;
		return duration > 0;
	case CLI_FOLDED_WEIGHT:
		return integer_field(event, "weight", number);
	case CLI_FOLDED_BYTES:
		for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
			if (integer_field(event, sizes[i], number))
				return true;
		return false;
	}
	return false;
}

bool cli_type_has_weight(const struct holter_type *type)
{
	return holter_type_find_field(type, "weight") != NULL;
}

bool cli_folded_add(struct cli_folded *folded, const struct holter_event *event,
		    enum cli_folded_value value)
{
	const struct holter_stack *stack = holter_event_stack(event);
	uint64_t number = 0;

	if (!stack || !stack->frame_count || !value_of(event, value, &number))
		return false;
	if (number)
		sum_of(folded, stack)->sum += number;
	return true;
}

static int compare_stacks(const void *a, const void *b)
{
	const struct cli_folded_stack *one = *(struct cli_folded_stack *const *)a;
	const struct cli_folded_stack *other = *(struct cli_folded_stack *const *)b;
	size_t length = one->length < other->length ? one->length : other->length;
	int order = memcmp(one->text, other->text, length);

	if (order)
		return order;
	return one->length < other->length ? -1 : one->length > other->length;
}

void cli_folded_write(struct cli_folded *folded, struct cli_out *out)
{
	size_t count = 0;

	for (size_t i = 0; i < folded->slot_count; i++)
		if (folded->slots[i])
			folded->slots[count++] = folded->slots[i];
	/* The table is a list from here on. */
	memset(folded->slots + count, 0, (folded->slot_count - count) * sizeof(*folded->slots));
	qsort(folded->slots, count, sizeof(*folded->slots), compare_stacks);
	for (size_t i = 0; i < count; i++) {
		cli_out_bytes(out, folded->slots[i]->text, folded->slots[i]->length);
		cli_out_char(out, ' ');
		cli_out_u64(out, folded->slots[i]->sum);
		cli_out_char(out, '\n');
		cli_out_settle(out);
	}
}

void cli_folded_fini(struct cli_folded *folded)
{
	for (size_t i = 0; i < folded->slot_count; i++)
		free(folded->slots[i]);
	free(folded->slots);
	free(folded->recent);
	cli_out_free(&folded->text);
}
