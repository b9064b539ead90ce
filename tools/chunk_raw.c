/*
 * Pieces of chunks (chunk_raw.h; jfr-format 1, 3, 5).
 *
 * In: bytes and the types of the reader. Out: pieces, and chunks of pieces. Never here: files.
 */
#include "tools/chunk_raw.h"

#include <stdlib.h>

#include "recorder/base/leb128.h"
#include "recorder/format/jfr.h"
#include "tools/cmd.h"

#define DEPTH_MAX 32
#define SIZE_BYTES 5 /* room for the size of an event of 2 GiB */

bool cli_raw_event_at(const uint8_t *at, const uint8_t *end, struct cli_raw_event *event)
{
	uint64_t size;
	const uint8_t *type_at = leb128_get(at, end, &size);
	const uint8_t *body;
	uint64_t id;

	if (!type_at || size > (uint64_t)(end - at) || size <= (uint64_t)(type_at - at))
		return false;
	body = leb128_get(type_at, at + size, &id);
	if (!body)
		return false;
	*event = (struct cli_raw_event){ at, body, at + size, id };
	return true;
}

static void add_checkpoint(struct cli_raw_chunk *raw, const struct cli_raw_event *event)
{
	/* Doubles at powers of two. */
	if ((raw->checkpoint_count & (raw->checkpoint_count - 1)) == 0)
		raw->checkpoints = cli_realloc(
			raw->checkpoints,
			(raw->checkpoint_count ? 2 * raw->checkpoint_count : 1) * sizeof(*event));
	raw->checkpoints[raw->checkpoint_count++] = *event;
}

bool cli_raw_enter(struct cli_raw_chunk *raw, struct holter_reader *reader)
{
	const struct holter_chunk *info = holter_reader_chunk(reader);
	struct cli_raw_event event;
	const uint8_t *end;

	raw->reader = reader;
	raw->checkpoint_count = 0;
	raw->metadata.at = NULL;
	raw->bytes = holter_reader_chunk_bytes(reader, &raw->size);
	if (!raw->bytes || raw->size < JFR_HEADER_BYTES)
		return false;
	raw->offset = info->offset;
	end = raw->bytes + raw->size;
	for (const uint8_t *at = raw->bytes + JFR_HEADER_BYTES; cli_raw_event_at(at, end, &event);
	     at = event.end) {
		/* The one the header names, else the last. */
		if (event.type_id == JFR_EVENT_METADATA &&
		    (!raw->metadata.at ||
		     (uint64_t)(raw->metadata.at - raw->bytes) != info->metadata_offset))
			raw->metadata = event;
		else if (event.type_id == JFR_EVENT_CHECKPOINT)
			add_checkpoint(raw, &event);
	}
	return raw->metadata.at != NULL;
}

void cli_raw_fini(struct cli_raw_chunk *raw)
{
	free(raw->checkpoints);
	raw->checkpoints = NULL;
}

static const uint8_t *skip_bytes(const uint8_t *at, const uint8_t *end, uint64_t count)
{
	return count <= (uint64_t)(end - at) ? at + count : NULL;
}

static const uint8_t *skip_string(const uint8_t *at, const uint8_t *end)
{
	uint64_t count = 0;
	uint8_t encoding;

	if (at >= end)
		return NULL;
	encoding = *at++;
	if (encoding <= JFR_STRING_EMPTY)
		return at;
	if (encoding > JFR_STRING_LATIN1)
		return NULL;
	at = leb128_get(at, end, &count);
	if (!at || encoding == JFR_STRING_CONSTANT)
		return at;
	if (encoding != JFR_STRING_UTF16)
		return skip_bytes(at, end, count);
	if (count > (uint64_t)(end - at))
		return NULL;
	for (uint64_t unit; count && at; count--)
		at = leb128_get(at, end, &unit);
	return at;
}

static const uint8_t *skip_struct(const struct holter_type *type, const uint8_t *at,
				  const uint8_t *end, int depth)
{
	size_t count = holter_type_field_count(type);

	if (depth > DEPTH_MAX || !count)
		return NULL;
	for (size_t i = 0; i < count && at; i++)
		at = cli_raw_skip_field(holter_type_field(type, i), at, end, depth + 1);
	return at;
}

const uint8_t *cli_raw_skip(const struct holter_type *type, const uint8_t *at, const uint8_t *end,
			    int depth)
{
	uint64_t value;

	switch (holter_type_base(type)) {
	case HOLTER_BASE_STRUCT:
		return skip_struct(type, at, end, depth);
	case HOLTER_BASE_BOOLEAN:
	case HOLTER_BASE_BYTE:
		return skip_bytes(at, end, 1);
	case HOLTER_BASE_FLOAT:
		return skip_bytes(at, end, 4);
	case HOLTER_BASE_DOUBLE:
		return skip_bytes(at, end, 8);
	case HOLTER_BASE_STRING:
		return skip_string(at, end);
	default:
		return leb128_get(at, end, &value);
	}
}

const uint8_t *cli_raw_skip_field(const struct holter_field *field, const uint8_t *at,
				  const uint8_t *end, int depth)
{
	const struct holter_type *type = holter_field_type(field);
	uint64_t count = 1;
	uint64_t key;

	if (!type)
		return NULL;
	if (holter_field_is_array(field)) {
		at = leb128_get(at, end, &count);
		if (!at || count > (uint64_t)(end - at))
			return NULL;
	}
	for (; count && at; count--)
		at = holter_field_is_pooled(field) ? leb128_get(at, end, &key)
						   : cli_raw_skip(type, at, end, depth);
	return at;
}

/* Behind start, duration and delta of a checkpoint: its flags. */
static const uint8_t *checkpoint_flags(const struct cli_raw_event *checkpoint,
				       const uint8_t **delta_at)
{
	const uint8_t *at = checkpoint->body;
	uint64_t value;

	for (int i = 0; i < 2 && at; i++)
		at = leb128_get(at, checkpoint->end, &value);
	*delta_at = at;
	at = at ? leb128_get(at, checkpoint->end, &value) : NULL;
	return at && at < checkpoint->end ? at : NULL;
}

bool cli_raw_pools_begin(const struct cli_raw_chunk *raw, const struct cli_raw_event *checkpoint,
			 struct cli_raw_pools *pools)
{
	const uint8_t *delta_at;
	const uint8_t *flags = checkpoint_flags(checkpoint, &delta_at);

	*pools = (struct cli_raw_pools){ .chunk = raw, .end = checkpoint->end };
	if (!flags)
		return false;
	pools->at = leb128_get(flags + 1, checkpoint->end, &pools->left);
	return pools->at != NULL;
}

static const struct holter_type *type_by_id(struct holter_reader *reader, uint64_t id)
{
	size_t count = holter_reader_type_count(reader);

	for (size_t i = 0; i < count; i++)
		if ((uint64_t)holter_type_id(holter_reader_type(reader, i)) == id)
			return holter_reader_type(reader, i);
	return NULL;
}

int cli_raw_pools_next(struct cli_raw_pools *pools, struct cli_raw_pool *pool)
{
	const uint8_t *at = pools->at;
	uint64_t id = 0;
	uint64_t key;

	if (!pools->left)
		return 0;
	pool->start = at;
	at = leb128_get(at, pools->end, &id);
	at = at ? leb128_get(at, pools->end, &pool->count) : NULL;
	pool->type = type_by_id(pools->chunk->reader, id);
	if (!at || !pool->type || pool->count > (uint64_t)(pools->end - at))
		return -1;
	pool->entries = at;
	for (uint64_t i = 0; i < pool->count && at; i++) {
		at = leb128_get(at, pools->end, &key);
		at = at ? cli_raw_skip(pool->type, at, pools->end, 0) : NULL;
	}
	if (!at)
		return -1;
	pool->end = at;
	pools->at = at;
	pools->left--;
	return 1;
}

void cli_out_varint(struct cli_out *out, uint64_t value)
{
	uint8_t *at = (uint8_t *)cli_out_room(out, LEB128_MAX_BYTES);

	out->used += (size_t)(leb128_put(at, value) - at);
}

void cli_out_jfr_string(struct cli_out *out, const char *text)
{
	size_t count = strlen(text);

	cli_out_char(out, count ? JFR_STRING_UTF8 : JFR_STRING_EMPTY);
	if (!count)
		return;
	cli_out_varint(out, count);
	cli_out_bytes(out, text, count);
}

static void put_be64(char *at, uint64_t value)
{
	value = __builtin_bswap64(value);
	memcpy(at, &value, sizeof(value));
}

void cli_chunk_begin(struct cli_chunk_out *chunk, const struct cli_raw_chunk *raw)
{
	if (!chunk->out.data)
		cli_out_init(&chunk->out, -1, 0);
	chunk->out.used = 0;
	chunk->checkpoint_at = 0;
	chunk->event_count = 0;
	cli_out_bytes(&chunk->out, (const char *)raw->bytes, JFR_HEADER_BYTES);
	chunk->metadata_at = chunk->out.used;
	cli_out_bytes(&chunk->out, (const char *)raw->metadata.at,
		      (size_t)(raw->metadata.end - raw->metadata.at));
}

void cli_chunk_event(struct cli_chunk_out *chunk, const uint8_t *bytes, size_t count)
{
	cli_out_bytes(&chunk->out, (const char *)bytes, count);
	chunk->event_count++;
}

/* Starts a checkpoint: room for its size, its times and the way to the one before. */
static size_t begin_checkpoint(struct cli_chunk_out *chunk, const struct cli_raw_event *like,
			       const uint8_t *delta_at)
{
	struct cli_out *out = &chunk->out;
	size_t start = out->used;

	cli_out_spaces(out, SIZE_BYTES);
	cli_out_varint(out, JFR_EVENT_CHECKPOINT);
	cli_out_bytes(out, (const char *)like->body, (size_t)(delta_at - like->body));
	cli_out_varint(out, chunk->checkpoint_at ? chunk->checkpoint_at - start : 0);
	return start;
}

/* The size in as many bytes as were kept free: padded, which every reader takes. */
static void end_checkpoint(struct cli_chunk_out *chunk, size_t start)
{
	uint64_t size = chunk->out.used - start;
	uint8_t *at = (uint8_t *)chunk->out.data + start;

	for (int i = 0; i < SIZE_BYTES; i++)
		at[i] = (uint8_t)((size >> (7 * i) & 0x7f) | (i + 1 < SIZE_BYTES ? 0x80 : 0));
	chunk->checkpoint_at = start;
}

void cli_chunk_checkpoint(struct cli_chunk_out *chunk, const struct cli_raw_event *checkpoint)
{
	const uint8_t *delta_at;
	const uint8_t *flags = checkpoint_flags(checkpoint, &delta_at);
	size_t start;

	if (!flags)
		return;
	start = begin_checkpoint(chunk, checkpoint, delta_at);
	cli_out_bytes(&chunk->out, (const char *)flags, (size_t)(checkpoint->end - flags));
	end_checkpoint(chunk, start);
}

void cli_chunk_pools(struct cli_chunk_out *chunk, const struct cli_raw_event *like,
		     uint64_t pool_count, const char *bytes, size_t count)
{
	const uint8_t *delta_at;
	const uint8_t *flags = checkpoint_flags(like, &delta_at);
	size_t start;

	if (!flags || !pool_count)
		return;
	start = begin_checkpoint(chunk, like, delta_at);
	cli_out_char(&chunk->out, (char)*flags);
	cli_out_varint(&chunk->out, pool_count);
	cli_out_bytes(&chunk->out, bytes, count);
	end_checkpoint(chunk, start);
}

void cli_chunk_end(struct cli_chunk_out *chunk)
{
	char *header = chunk->out.data;

	put_be64(header + JFR_HEADER_SIZE, chunk->out.used);
	put_be64(header + JFR_HEADER_CHECKPOINT, chunk->checkpoint_at);
	put_be64(header + JFR_HEADER_METADATA, chunk->metadata_at);
	header[JFR_HEADER_STATE] = JFR_STATE_FINISHED;
}
