/*
 * Stacks with names (stack_rewrite.h; jfr-format 5, 6).
 *
 * In: bytes of checkpoints, walked by the types of the file. Out: the same pools, but for those of
 * jdk.types.StackTrace; then a checkpoint of new Method, Symbol and FrameType constants.
 */
#include "tools/stack_rewrite.h"

#include <stdlib.h>

#include "recorder/base/leb128.h"
#include "recorder/format/jfr.h"
#include "tools/cmd.h"

#define MODIFIER_NATIVE 0x100

struct cli_constant {
	uint64_t key;
	const uint8_t *at;
	const uint8_t *end;
};

enum added { ADDED_METHOD, ADDED_SYMBOL, ADDED_FRAME_TYPE };

static const char *const kind_names[CLI_FRAME_KINDS] = { "Native", "C++", "Inlined" };

/* ---- constants by key ---- */

static int compare_keys(const void *a, const void *b)
{
	uint64_t one = ((const struct cli_constant *)a)->key;
	uint64_t other = ((const struct cli_constant *)b)->key;

	return one < other ? -1 : one > other;
}

static void add_pool(struct cli_constants *constants, const struct cli_raw_pool *pool)
{
	const uint8_t *at = pool->entries;

	for (uint64_t i = 0; i < pool->count; i++) {
		struct cli_constant constant = { .key = 0 };

		at = leb128_get(at, pool->end, &constant.key);
		constant.at = at;
		at = cli_raw_skip(pool->type, at, pool->end, 0);
		constant.end = at;
		if (constants->count == constants->capacity) {
			constants->capacity = constants->capacity ? 2 * constants->capacity : 256;
			constants->at =
				cli_realloc(constants->at, constants->capacity * sizeof(constant));
		}
		constants->at[constants->count++] = constant;
	}
}

static void gather(struct cli_constants *constants, const struct cli_raw_chunk *raw,
		   const char *type)
{
	struct cli_raw_pools pools;
	struct cli_raw_pool pool;

	constants->count = 0;
	constants->type = holter_reader_find_type(raw->reader, type);
	for (size_t i = 0; constants->type && i < raw->checkpoint_count; i++) {
		if (!cli_raw_pools_begin(raw, &raw->checkpoints[i], &pools))
			continue;
		while (cli_raw_pools_next(&pools, &pool) > 0)
			if (pool.type == constants->type)
				add_pool(constants, &pool);
	}
	if (constants->count)
		qsort(constants->at, constants->count, sizeof(*constants->at), compare_keys);
}

uint64_t cli_rewrite_last_key(const struct cli_raw_chunk *raw, const char *type)
{
	struct cli_constants constants = { .at = NULL };
	uint64_t last = 0;

	gather(&constants, raw, type);
	if (constants.count)
		last = constants.at[constants.count - 1].key;
	free(constants.at);
	return last;
}

static const struct cli_constant *find(const struct cli_constants *constants, uint64_t key)
{
	struct cli_constant wanted = { .key = key };

	if (!constants->count)
		return NULL;
	return bsearch(&wanted, constants->at, constants->count, sizeof(wanted), compare_keys);
}

/* Where a field's bytes begin in a constant; NULL where it has none of that name. */
static const uint8_t *field_of(const struct cli_constants *constants,
			       const struct cli_constant *constant, const char *name)
{
	const struct holter_type *type = constants->type;
	const uint8_t *at = constant->at;

	for (size_t i = 0; at && i < holter_type_field_count(type); i++) {
		const struct holter_field *field = holter_type_field(type, i);

		if (strcmp(holter_field_name(field), name) == 0)
			return at;
		at = cli_raw_skip_field(field, at, constant->end, 0);
	}
	return NULL;
}

static bool key_field(const struct cli_constants *constants, const struct cli_constant *constant,
		      const char *name, uint64_t *key)
{
	const uint8_t *at = field_of(constants, constant, name);

	return at && leb128_get(at, constant->end, key);
}

/* Text of a Symbol or FrameType in UTF-8 or Latin-1; false when it does not fit or is another. */
static bool text_of(const struct cli_constant *constant, char *text, size_t size)
{
	uint64_t count;
	const uint8_t *at = constant->at;
	uint8_t encoding = *at++;

	if (encoding != JFR_STRING_UTF8 && encoding != JFR_STRING_LATIN1)
		return false;
	at = leb128_get(at, constant->end, &count);
	if (!at || count >= size || count > (uint64_t)(constant->end - at))
		return false;
	memcpy(text, at, count);
	text[count] = 0;
	return strlen(text) == count;
}

/* ---- which frames want a name ---- */

static bool parse_address(const char *text, uint64_t *address)
{
	char *end;

	if (text[0] != '0' || text[1] != 'x' || !text[2])
		return false;
	*address = strtoull(text + 2, &end, 16);
	return !*end;
}

/* The place a method is, when all it has for a name is an address. */
static const struct cli_place *place_of(struct cli_rewrite *rewrite, struct cli_names *names,
					uint64_t method_key, bool *is_address)
{
	const struct cli_constant *method = find(&rewrite->methods, method_key);
	const struct cli_constant *class_of, *symbol;
	uint64_t name_key, class_key, class_name_key, address;
	char text[4096];

	*is_address = false;
	if (!method || !key_field(&rewrite->methods, method, "name", &name_key) ||
	    !key_field(&rewrite->methods, method, "type", &class_key))
		return NULL;
	symbol = find(&rewrite->symbols, name_key);
	class_of = find(&rewrite->classes, class_key);
	if (!symbol || !text_of(symbol, text, sizeof(text)) || !parse_address(text, &address))
		return NULL;
	*is_address = true;
	if (!class_of || !key_field(&rewrite->classes, class_of, "name", &class_name_key))
		return NULL;
	symbol = find(&rewrite->symbols, class_name_key);
	if (!symbol || !text_of(symbol, text, sizeof(text)))
		return NULL;
	return cli_names_of(names, text, address, class_key);
}

/* ---- new constants ---- */

static void use_symbol(struct cli_rewrite *rewrite, struct cli_names *names, uint32_t index)
{
	struct cli_symbol *symbol = &names->symbols[index];
	struct cli_out *out = &rewrite->added[ADDED_SYMBOL];

	if (symbol->chunk == rewrite->chunk)
		return;
	symbol->chunk = rewrite->chunk;
	rewrite->added_count[ADDED_SYMBOL]++;
	cli_out_varint(out, symbol->key);
	cli_out_jfr_string(out, symbol->text);
}

static void put_method_field(struct cli_out *out, const struct holter_field *field,
			     const struct cli_names *names, const struct cli_method *method)
{
	const char *name = holter_field_name(field);

	if (strcmp(name, "type") == 0)
		cli_out_varint(out, method->class_key);
	else if (strcmp(name, "name") == 0)
		cli_out_varint(out, names->symbols[method->name].key);
	else if (strcmp(name, "descriptor") == 0)
		cli_out_varint(out, names->symbols[method->descriptor].key);
	else if (strcmp(name, "modifiers") == 0)
		cli_out_varint(out, MODIFIER_NATIVE);
	else
		cli_out_char(out, 0); /* false, 0, null: one byte each */
}

static uint64_t use_method(struct cli_rewrite *rewrite, struct cli_names *names, uint32_t index)
{
	struct cli_method *method = &names->methods[index];
	const struct holter_type *type = rewrite->methods.type;
	struct cli_out *out = &rewrite->added[ADDED_METHOD];

	if (method->chunk == rewrite->chunk)
		return method->key;
	method->chunk = rewrite->chunk;
	rewrite->added_count[ADDED_METHOD]++;
	use_symbol(rewrite, names, method->name);
	use_symbol(rewrite, names, method->descriptor);
	cli_out_varint(out, method->key);
	for (size_t i = 0; i < holter_type_field_count(type); i++)
		put_method_field(out, holter_type_field(type, i), names, method);
	return method->key;
}

static uint64_t use_kind(struct cli_rewrite *rewrite, uint8_t kind, uint64_t spare_key)
{
	struct cli_out *out = &rewrite->added[ADDED_FRAME_TYPE];

	if (!rewrite->frame_keys[kind]) {
		rewrite->frame_keys[kind] = spare_key + kind;
		rewrite->added_count[ADDED_FRAME_TYPE]++;
		cli_out_varint(out, spare_key + kind);
		cli_out_jfr_string(out, kind_names[kind]);
	}
	return rewrite->frame_keys[kind];
}

/* ---- stacks ---- */

/* What one stack is written with. */
struct job {
	struct cli_rewrite *rewrite;
	struct cli_names *names;
	struct cli_out *out;
	uint64_t spare_key;
};

/* One frame of the stack under a name: its other fields as they were. */
static void put_frame(const struct job *job, const struct holter_type *type, const uint8_t *at,
		      const uint8_t *end, const struct cli_name *name)
{
	struct cli_out *out = job->out;

	for (size_t i = 0; i < holter_type_field_count(type); i++) {
		const struct holter_field *field = holter_type_field(type, i);
		const uint8_t *next = cli_raw_skip_field(field, at, end, 0);
		const char *what = holter_field_name(field);

		if (!next)
			return; /* never, as in put_stacks() */
		if (strcmp(what, "method") == 0)
			cli_out_varint(out, use_method(job->rewrite, job->names, name->method));
		else if (strcmp(what, "lineNumber") == 0)
			cli_out_varint(out, (uint32_t)name->line);
		else if (strcmp(what, "type") == 0)
			cli_out_varint(out, use_kind(job->rewrite, name->kind, job->spare_key));
		else
			cli_out_bytes(out, (const char *)at, (size_t)(next - at));
		at = next;
	}
}

static uint64_t method_key(const struct holter_type *type, const uint8_t *at, const uint8_t *end)
{
	uint64_t key = 0;

	for (size_t i = 0; i < holter_type_field_count(type); i++) {
		const struct holter_field *field = holter_type_field(type, i);

		if (strcmp(holter_field_name(field), "method") == 0 &&
		    holter_field_is_pooled(field) && !holter_field_is_array(field)) {
			leb128_get(at, end, &key);
			break;
		}
		at = cli_raw_skip_field(field, at, end, 0);
	}
	return key;
}

/* An array of frames; the number of frames changes when inlined functions are found. */
static const uint8_t *put_frames(const struct job *job, const struct holter_type *type,
				 const uint8_t *at, const uint8_t *end)
{
	struct cli_out frames;
	struct job inner = *job;
	uint64_t written = 0;
	uint64_t count = 0;

	cli_out_init(&frames, -1, 0);
	inner.out = &frames;
	at = leb128_get(at, end, &count);
	for (; at && count; count--) {
		const uint8_t *next = cli_raw_skip(type, at, end, 0);
		const struct cli_place *place;
		bool is_address;

		if (!next)
			break;
		place = place_of(job->rewrite, job->names, method_key(type, at, end), &is_address);
		job->rewrite->addresses += is_address;
		job->rewrite->named += place && place->count;
		for (uint32_t i = 0; place && i < place->count; i++, written++)
			put_frame(&inner, type, at, next, &place->names[i]);
		if (!place || !place->count) {
			cli_out_bytes(&frames, (const char *)at, (size_t)(next - at));
			written++;
		}
		at = next;
	}
	cli_out_varint(job->out, written);
	if (frames.used)
		cli_out_bytes(job->out, frames.data, frames.used);
	cli_out_free(&frames);
	return at;
}

static bool is_frames(const struct holter_field *field)
{
	const struct holter_type *type = holter_field_type(field);

	return type && holter_field_is_array(field) && !holter_field_is_pooled(field) &&
	       strcmp(holter_type_name(type), "jdk.types.StackFrame") == 0;
}

static void put_stacks(const struct job *job, const struct cli_raw_pool *pool)
{
	struct cli_out *out = job->out;
	const uint8_t *at = pool->entries;
	uint64_t key = 0;

	cli_out_bytes(out, (const char *)pool->start, (size_t)(pool->entries - pool->start));
	for (uint64_t i = 0; i < pool->count && at; i++) {
		at = leb128_get(at, pool->end, &key);
		cli_out_varint(out, key);
		for (size_t n = 0; at && n < holter_type_field_count(pool->type); n++) {
			const struct holter_field *field = holter_type_field(pool->type, n);
			const uint8_t *next;

			if (is_frames(field)) {
				at = put_frames(job, holter_field_type(field), at, pool->end);
				continue;
			}
			next = cli_raw_skip_field(field, at, pool->end, 0);
			if (!next)
				return; /* never: the pool was walked before */
			cli_out_bytes(out, (const char *)at, (size_t)(next - at));
			at = next;
		}
	}
}

static void put_checkpoint(struct job *job, const struct cli_raw_chunk *raw,
			   const struct cli_raw_event *checkpoint, struct cli_chunk_out *chunk)
{
	const struct holter_type *stacks =
		holter_reader_find_type(raw->reader, "jdk.types.StackTrace");
	struct cli_raw_pools pools;
	struct cli_raw_pool pool;
	uint64_t count = 0;
	int found = 0;

	job->out->used = 0;
	if (!cli_raw_pools_begin(raw, checkpoint, &pools))
		return;
	while ((found = cli_raw_pools_next(&pools, &pool)) > 0) {
		count++;
		if (pool.type == stacks)
			put_stacks(job, &pool);
		else
			cli_out_bytes(job->out, (const char *)pool.start,
				      (size_t)(pool.end - pool.start));
	}
	if (found < 0)
		cli_chunk_checkpoint(chunk, checkpoint);
	else
		cli_chunk_pools(chunk, checkpoint, count, job->out->data, job->out->used);
}

/* Whether a type's constants are a single text, as new ones are written. */
static bool is_text_type(const struct cli_constants *constants)
{
	const struct holter_field *field;
	const struct holter_type *type = constants->type;

	if (!type || holter_type_field_count(type) != 1)
		return false;
	field = holter_type_field(type, 0);
	return !holter_field_is_array(field) && !holter_field_is_pooled(field) &&
	       holter_field_type(field) &&
	       holter_type_base(holter_field_type(field)) == HOLTER_BASE_STRING;
}

/* Whether new methods can be written: every field is a key, a number or a flag. */
static bool is_method_type(const struct cli_constants *constants)
{
	const struct holter_type *type = constants->type;

	for (size_t i = 0; type && i < holter_type_field_count(type); i++) {
		const struct holter_field *field = holter_type_field(type, i);
		enum holter_base base = holter_field_type(field)
						? holter_type_base(holter_field_type(field))
						: HOLTER_BASE_DOUBLE;

		if (holter_field_is_array(field))
			return false;
		if (!holter_field_is_pooled(field) &&
		    (base == HOLTER_BASE_FLOAT || base == HOLTER_BASE_DOUBLE ||
		     base == HOLTER_BASE_STRUCT))
			return false;
	}
	return type != NULL;
}

static void find_kinds(struct cli_rewrite *rewrite)
{
	char text[64];

	memset(rewrite->frame_keys, 0, sizeof(rewrite->frame_keys));
	for (size_t i = 0; i < rewrite->frame_types.count; i++) {
		const struct cli_constant *constant = &rewrite->frame_types.at[i];

		if (!text_of(constant, text, sizeof(text)))
			continue;
		for (size_t kind = 0; kind < CLI_FRAME_KINDS; kind++)
			if (strcmp(kind_names[kind], text) == 0)
				rewrite->frame_keys[kind] = constant->key;
	}
}

static bool prepare(struct cli_rewrite *rewrite, const struct cli_raw_chunk *raw)
{
	rewrite->chunk++;
	for (size_t i = 0; i < ARRAY_LEN(rewrite->added); i++) {
		if (!rewrite->added[i].data)
			cli_out_init(&rewrite->added[i], -1, 0);
		rewrite->added[i].used = 0;
		rewrite->added_count[i] = 0;
	}
	if (!rewrite->pools.data)
		cli_out_init(&rewrite->pools, -1, 0);
	gather(&rewrite->methods, raw, "jdk.types.Method");
	gather(&rewrite->classes, raw, "java.lang.Class");
	gather(&rewrite->symbols, raw, "jdk.types.Symbol");
	gather(&rewrite->frame_types, raw, "jdk.types.FrameType");
	if (!is_text_type(&rewrite->symbols) || !is_text_type(&rewrite->frame_types) ||
	    !is_method_type(&rewrite->methods) || !rewrite->classes.type)
		return false;
	find_kinds(rewrite);
	return true;
}

/* The new constants as one more checkpoint. */
static void put_added(struct cli_rewrite *rewrite, const struct cli_raw_chunk *raw,
		      struct cli_chunk_out *chunk)
{
	const struct holter_type *types[] = { rewrite->methods.type, rewrite->symbols.type,
					      rewrite->frame_types.type };
	struct cli_out *out = &rewrite->pools;
	uint64_t count = 0;

	out->used = 0;
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		if (!rewrite->added_count[i])
			continue;
		count++;
		cli_out_varint(out, (uint64_t)holter_type_id(types[i]));
		cli_out_varint(out, rewrite->added_count[i]);
		cli_out_bytes(out, rewrite->added[i].data, rewrite->added[i].used);
	}
	if (count)
		cli_chunk_pools(chunk, &raw->checkpoints[raw->checkpoint_count - 1], count,
				out->data, out->used);
}

void cli_rewrite_chunk(struct cli_rewrite *rewrite, struct cli_names *names,
		       const struct cli_raw_chunk *raw, struct cli_chunk_out *chunk,
		       uint64_t frame_type_key)
{
	struct job job = { rewrite, names, &rewrite->pools, frame_type_key };
	bool can_rewrite = prepare(rewrite, raw);

	for (size_t i = 0; i < raw->checkpoint_count; i++) {
		if (can_rewrite)
			put_checkpoint(&job, raw, &raw->checkpoints[i], chunk);
		else
			cli_chunk_checkpoint(chunk, &raw->checkpoints[i]);
	}
	put_added(rewrite, raw, chunk);
}

void cli_rewrite_fini(struct cli_rewrite *rewrite)
{
	free(rewrite->methods.at);
	free(rewrite->classes.at);
	free(rewrite->symbols.at);
	free(rewrite->frame_types.at);
	cli_out_free(&rewrite->pools);
	for (size_t i = 0; i < ARRAY_LEN(rewrite->added); i++)
		cli_out_free(&rewrite->added[i]);
}
