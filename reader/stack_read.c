/*
 * Stacks, methods and threads: decoded on first sight, kept with their constant until the chunk
 * ends. The next event with the same stack costs one look-up.
 *
 * In: constants of java.lang.Thread, jdk.types.StackTrace, jdk.types.Method, by names of fields,
 * with any order of them and any further ones. Out: the plain structs of holter_reader_value.h.
 */
#include "reader/event_read.h"
#include "reader/pool_read.h"
#include "reader/skip.h"
#include "reader/value_read.h"

static const struct holter_method no_method = { .name = "", .class_name = "", .descriptor = "" };

/* Sends texts to the chunk's arena while something is decoded that is kept. */
static struct rdr_arena *keep_texts(struct holter_reader *reader)
{
	struct rdr_arena *before = reader->texts;

	reader->texts = &reader->chunk.arena;
	return before;
}

/* The text of a value: its own, or that of the member `name` of a struct; NULL for none. */
static const char *text_of(const struct holter_value *value, const char *name)
{
	struct holter_value member;

	if (value->kind == HOLTER_KIND_STRING)
		return value->as.text.data;
	if (value->kind != HOLTER_KIND_STRUCT || holter_value_member(value, name, &member))
		return NULL;
	return member.kind == HOLTER_KIND_STRING ? member.as.text.data : NULL;
}

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

static int64_t integer_of(const struct holter_value *value)
{
	return value->kind == HOLTER_KIND_INT || value->kind == HOLTER_KIND_UINT ? value->as.integer
										 : 0;
}

static struct holter_value constant_value(struct holter_reader *reader,
					  const struct holter_type *type,
					  const struct rdr_constant *constant)
{
	return (struct holter_value){
		.kind = HOLTER_KIND_STRUCT,
		.type = type,
		.owner = reader,
		.at = constant->at,
		.end = constant->end,
	};
}

/* NULL without memory. */
static const struct holter_method *find_method(struct holter_reader *reader,
					       const struct holter_type *type, uint64_t key)
{
	struct rdr_constant *constant = rdr_pool_find(type, key);
	struct holter_method *method;
	struct holter_value value;
	struct holter_value all;
	struct holter_walk walk;
	int code;

	if (!constant || type->role != RDR_ROLE_METHOD || type->op != RDR_OP_STRUCT)
		return &no_method;
	if (likely(constant->decoded))
		return constant->decoded;
	method = rdr_arena_alloc(&reader->chunk.arena, sizeof(*method));
	if (!method)
		return NULL;
	*method = no_method;
	method->key = key;
	all = constant_value(reader, type, constant);
	holter_walk_begin(&walk, &all);
	while ((code = holter_walk_next(&walk, &value)) > 0) {
		const char *name = value.field->name;

		if (strcmp(name, "name") == 0)
			method->name = or_empty(text_of(&value, "string"));
		else if (strcmp(name, "type") == 0)
			method->class_name = or_empty(text_of(&value, "name"));
		else if (strcmp(name, "descriptor") == 0)
			method->descriptor = or_empty(text_of(&value, "string"));
		else if (strcmp(name, "modifiers") == 0)
			method->modifiers = (int32_t)integer_of(&value);
		else if (strcmp(name, "hidden") == 0)
			method->hidden = value.kind == HOLTER_KIND_BOOL && value.as.boolean;
	}
	if (code == HOLTER_E_NOMEM)
		return NULL;
	constant->decoded = method;
	return method;
}

/* What a field of StackFrame is for. */
enum frame_part { PART_NONE, PART_METHOD, PART_LINE, PART_INDEX, PART_TYPE, PART_ADDRESS };

static uint8_t frame_part(const struct holter_field *field)
{
	static const struct {
		const char *name;
		enum frame_part part;
	} parts[] = {
		{ "method", PART_METHOD },	 { "lineNumber", PART_LINE },
		{ "bytecodeIndex", PART_INDEX }, { "type", PART_TYPE },
		{ "pc", PART_ADDRESS },		 { "address", PART_ADDRESS },
	};

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (strcmp(field->name, parts[i].name) != 0 || field->op != RDR_OP_VARINT)
			continue;
		if ((parts[i].part == PART_METHOD || parts[i].part == PART_TYPE) !=
		    field->is_pooled)
			return PART_NONE;
		return (uint8_t)parts[i].part;
	}
	return PART_NONE;
}

/* Fills reader->chunk.frame_parts, once a chunk. */
static const uint8_t *frame_parts(struct holter_reader *reader, const struct holter_type *type)
{
	struct rdr_chunk *chunk = &reader->chunk;

	if (chunk->frame_parts && chunk->frame_type == type)
		return chunk->frame_parts;
	chunk->frame_parts = rdr_arena_array(&chunk->arena, type->field_count, 1);
	chunk->frame_type = type;
	for (uint32_t i = 0; chunk->frame_parts && i < type->field_count; i++)
		chunk->frame_parts[i] = frame_part(&type->fields[i]);
	return chunk->frame_parts;
}

static int set_frame_part(struct holter_reader *reader, const struct holter_field *field,
			  uint8_t part, uint64_t number, struct holter_frame *frame)
{
	struct holter_text text;
	int code = 0;

	switch (part) {
	case PART_METHOD:
		frame->method = find_method(reader, field->type, number);
		return frame->method ? 0 : HOLTER_E_NOMEM;
	case PART_LINE:
		frame->line = (int32_t)number;
		break;
	case PART_INDEX:
		frame->bytecode_index = (int32_t)number;
		break;
	case PART_ADDRESS:
		frame->address = number;
		break;
	case PART_TYPE:
		if (field->type->role == RDR_ROLE_TEXT)
			code = rdr_constant_text(reader, field->type, number, &text);
		if (!code && field->type->role == RDR_ROLE_TEXT)
			frame->type = or_empty(text.data);
		break;
	default:
		break;
	}
	return code;
}

/* One inline StackFrame; NULL when damaged, with *code set when out of memory. */
static const uint8_t *read_frame(struct holter_reader *reader, const struct holter_type *type,
				 const uint8_t *parts, const uint8_t *at, const uint8_t *end,
				 struct holter_frame *frame, int *code)
{
	*frame = (struct holter_frame){ .method = &no_method, .type = "", .line = -1 };
	for (uint32_t i = 0; i < type->field_count && at; i++) {
		const struct holter_field *field = &type->fields[i];
		uint64_t number;

		if (!parts[i]) {
			at = rdr_skip_field(field, at, end);
			continue;
		}
		at = rdr_varint(at, end, &number);
		if (at)
			*code = set_frame_part(reader, field, parts[i], number, frame);
		if (*code)
			return NULL;
	}
	return at;
}

/*
 * The array of frames at `at`; moves it behind them. Damage ends the stack early, which is the same
 * as being truncated.
 */
static int read_frames(struct holter_reader *reader, const struct holter_field *field,
		       const uint8_t **place, const uint8_t *end, struct holter_stack *stack)
{
	const struct holter_type *type = field->type;
	const uint8_t *at = *place;
	struct holter_frame *frames;
	const uint8_t *parts;
	uint64_t count;
	int code = 0;

	at = rdr_varint(at, end, &count);
	/* The count is bounded by the bytes, and so that a lie stays cheap, by a frame's least. */
	if (at && count > (uint64_t)(end - at) / type->field_count)
		count = (uint64_t)(end - at) / type->field_count;
	if (!at || !count) {
		*place = at;
		return 0;
	}
	count = min_u64(count, UINT32_MAX);
	parts = frame_parts(reader, type);
	frames = rdr_arena_alloc(&reader->chunk.arena, count * sizeof(*frames));
	if (!parts || !frames)
		return HOLTER_E_NOMEM;
	stack->frames = frames;
	for (uint64_t i = 0; i < count && at; i++) {
		at = read_frame(reader, type, parts, at, end, &frames[i], &code);
		if (code)
			return code;
		stack->frame_count += at != NULL;
	}
	*place = at;
	return 0;
}

static bool is_frames(const struct holter_field *field)
{
	return field->op == RDR_OP_ARRAY && field->element_op == RDR_OP_STRUCT &&
	       strcmp(field->name, "frames") == 0;
}

/* Fills `stack` from its constant. Returns 0 or HOLTER_E_NOMEM. */
static int read_stack(struct holter_reader *reader, const struct holter_type *type,
		      const struct rdr_constant *constant, struct holter_stack *stack)
{
	const uint8_t *at = constant->at;
	int code = 0;

	for (uint32_t i = 0; i < type->field_count && at && !code; i++) {
		const struct holter_field *field = &type->fields[i];

		if (is_frames(field)) {
			code = read_frames(reader, field, &at, constant->end, stack);
			continue;
		}
		if (field->op == RDR_OP_BYTE && strcmp(field->name, "truncated") == 0)
			stack->is_truncated = at < constant->end && *at != 0;
		at = rdr_skip_field(field, at, constant->end);
	}
	return code;
}

static const struct holter_stack *find_stack(struct holter_reader *reader,
					     const struct holter_type *type, uint64_t key)
{
	struct rdr_constant *constant = rdr_pool_find(type, key);
	struct rdr_arena *before;
	struct holter_stack *stack;
	int code;

	if (!constant)
		return NULL;
	if (likely(constant->decoded))
		return constant->decoded;
	if (type->role != RDR_ROLE_STACK || type->op != RDR_OP_STRUCT)
		return NULL;
	stack = rdr_arena_array(&reader->chunk.arena, 1, sizeof(*stack));
	if (!stack)
		return NULL;
	stack->key = key;
	before = keep_texts(reader);
	code = read_stack(reader, type, constant, stack);
	reader->texts = before;
	if (code)
		return NULL;
	constant->decoded = stack;
	return stack;
}

static const struct holter_thread *find_thread(struct holter_reader *reader,
					       const struct holter_type *type, uint64_t key)
{
	struct rdr_constant *constant = rdr_pool_find(type, key);
	struct rdr_arena *before;
	struct holter_thread *thread;
	struct holter_value value;
	struct holter_value all;
	struct holter_walk walk;
	int code;

	if (!constant)
		return NULL;
	if (likely(constant->decoded))
		return constant->decoded;
	if (type->role != RDR_ROLE_THREAD || type->op != RDR_OP_STRUCT)
		return NULL;
	thread = rdr_arena_array(&reader->chunk.arena, 1, sizeof(*thread));
	if (!thread)
		return NULL;
	thread->key = key;
	before = keep_texts(reader);
	all = constant_value(reader, type, constant);
	holter_walk_begin(&walk, &all);
	while ((code = holter_walk_next(&walk, &value)) > 0) {
		const char *name = value.field->name;

		if (strcmp(name, "osName") == 0)
			thread->os_name = text_of(&value, "string");
		else if (strcmp(name, "osThreadId") == 0)
			thread->os_id = integer_of(&value);
		else if (strcmp(name, "javaName") == 0)
			thread->java_name = text_of(&value, "string");
		else if (strcmp(name, "javaThreadId") == 0)
			thread->java_id = integer_of(&value);
		else if (strcmp(name, "group") == 0)
			thread->group = text_of(&value, "name");
	}
	reader->texts = before;
	if (code == HOLTER_E_NOMEM)
		return NULL;
	constant->decoded = thread;
	return thread;
}

const struct holter_thread *holter_event_thread(const struct holter_event *event)
{
	int32_t field = event->type->thread_field;

	if (field < 0)
		return NULL;
	return find_thread(event->reader, event->type->fields[field].type,
			   rdr_event_integer(event, field));
}

const struct holter_stack *holter_event_stack(const struct holter_event *event)
{
	int32_t field = event->type->stack_field;

	if (field < 0)
		return NULL;
	return find_stack(event->reader, event->type->fields[field].type,
			  rdr_event_integer(event, field));
}

const struct holter_stack *holter_value_stack(const struct holter_value *value)
{
	if (!value->is_constant || value->kind != HOLTER_KIND_STRUCT ||
	    value->type->role != RDR_ROLE_STACK)
		return NULL;
	return find_stack((struct holter_reader *)(uintptr_t)value->owner, value->type, value->key);
}

const struct holter_thread *holter_value_thread(const struct holter_value *value)
{
	if (!value->is_constant || value->kind != HOLTER_KIND_STRUCT ||
	    value->type->role != RDR_ROLE_THREAD)
		return NULL;
	return find_thread((struct holter_reader *)(uintptr_t)value->owner, value->type,
			   value->key);
}
