/*
 * Frames the events of a chunk and cuts each into its fields, so that everything the caller asks of
 * an event afterwards lies within checked bounds.
 *
 * In: chunk_read.c's window, types with their operations. Out: reader->event. No allocation here.
 */
#include "reader/event_read.h"

#include "reader/chunk_read.h"
#include "reader/counts.h"
#include "reader/pool_read.h"
#include "reader/skip.h"
#include "reader/time_read.h"

/*
 * Decodes the head and steps over the rest, so that every field is known to lie within the event.
 * Hot: only where segments start is noted, fields are found from there.
 */
static bool cut(struct holter_event *event)
{
	const struct holter_type *type = event->type;
	const uint8_t *at = event->body;
	const uint8_t *end = event->end;

	for (uint32_t i = 0; i < type->head_count; i++) {
		at = rdr_varint(at, end, &event->head[i]);
		if (unlikely(!at))
			return false;
	}
	for (uint32_t i = 0; i < type->segment_count; i++) {
		const struct rdr_segment *segment = &type->segments[i];
		const struct holter_field *field = &type->fields[segment->field];

		event->segments[i] = at;
		if (segment->run > 1)
			at = rdr_skip_varints(at, end, segment->run);
		else
			at = rdr_skip_field(field, at, end);
		if (unlikely(!at))
			return false;
	}
	return true;
}

const uint8_t *rdr_event_position(const struct holter_event *event, uint32_t number)
{
	const struct holter_type *type = event->type;
	uint32_t segment = type->fields[number].segment;

	if (number < type->head_count)
		return rdr_skip_varints(event->body, event->end, number);
	/* The fields of a segment before this one are integers. */
	return rdr_skip_varints(event->segments[segment], event->end,
				number - type->segments[segment].field);
}

uint64_t rdr_event_integer(const struct holter_event *event, int32_t number)
{
	uint64_t value = 0;
	const uint8_t *at;

	if (number < 0)
		return 0;
	if (likely((uint32_t)number < event->type->head_count))
		return event->head[number];
	at = rdr_event_position(event, (uint32_t)number);
	if (at)
		rdr_varint(at, event->end, &value);
	return value;
}

/* Makes reader->event of a frame; false when its bytes do not fit its type. */
static bool take(struct holter_reader *reader, const struct rdr_frame *frame,
		 const struct holter_type *type)
{
	struct holter_event *event = &reader->event;

	event->reader = reader;
	event->type = type;
	event->at = frame->at;
	event->body = frame->body;
	event->end = frame->end;
	event->segments = reader->event_segments;
	if (unlikely(!cut(event)))
		return false;
	event->start_ticks = (int64_t)rdr_event_integer(event, type->start_field);
	event->duration_ticks = (int64_t)rdr_event_integer(event, type->duration_field);
	if (rdr_arena_is_used(&reader->event_arena))
		rdr_arena_reset(&reader->event_arena);
	return true;
}

static void report_bad_event(struct holter_reader *reader, const struct rdr_frame *frame,
			     struct holter_type *type)
{
	uint64_t size = (uint64_t)(frame->end - frame->at);

	reader->totals.bad_event_count++;
	if (type->is_bad_reported) {
		reader->totals.lost_bytes += size;
		return;
	}
	type->is_bad_reported = true;
	rdr_problem(reader, HOLTER_E_CORRUPT, HOLTER_DAMAGE, rdr_offset(reader, frame->at), size,
		    "an event of type %.100s is damaged (more of them are only counted)",
		    type->name);
}

/* The rest of the chunk cannot be framed, unless the next chunk begins here already. */
static void report_broken_frame(struct holter_reader *reader, bool is_next_chunk)
{
	struct rdr_chunk *chunk = &reader->chunk;
	uint64_t left = (uint64_t)(chunk->end - chunk->cursor);
	uint64_t offset = rdr_offset(reader, chunk->cursor);

	chunk->lost_from = (uint64_t)(chunk->cursor - chunk->base);
	chunk->cursor = chunk->end;
	if (is_next_chunk)
		rdr_problem(reader, HOLTER_E_CORRUPT, HOLTER_NOTE, offset, 0,
			    "the next chunk begins before this one ends by its header");
	else if (chunk->info.size_present < chunk->info.size)
		rdr_problem(reader, HOLTER_E_TRUNCATED, HOLTER_DAMAGE, offset, left,
			    "the last event is cut off");
	else
		rdr_problem(reader, HOLTER_E_CORRUPT, HOLTER_DAMAGE, offset, left,
			    "an event has an impossible size: the rest of the chunk is lost");
}

/* Frames the next event; false at the end of the chunk or of what can be framed. */
static bool frame_next(struct holter_reader *reader, struct rdr_frame *frame)
{
	struct rdr_chunk *chunk = &reader->chunk;
	bool is_next_chunk;

	if (chunk->cursor >= chunk->end)
		return false;
	/* No event of type 76 with 70 bytes is likely; the four bytes are those of the magic. */
	is_next_chunk = unlikely(*chunk->cursor == 'F') &&
			rdr_chunk_begins(chunk->cursor, reader->source.base + reader->source.size);
	if (likely(!is_next_chunk && rdr_frame_read(chunk->cursor, chunk->end, frame))) {
		chunk->cursor = frame->end;
		return true;
	}
	report_broken_frame(reader, is_next_chunk);
	return false;
}

/* Counts a frame; returns its event type, NULL when it is none that can be decoded. */
static struct holter_type *count_frame(struct holter_reader *reader, const struct rdr_frame *frame)
{
	struct rdr_chunk *chunk = &reader->chunk;
	uint64_t size = (uint64_t)(frame->end - frame->at);
	const struct holter_type *type;

	if (unlikely(frame->id <= 1)) {
		rdr_count_event(reader, frame->id ? RDR_COUNT_CHECKPOINT : RDR_COUNT_METADATA,
				size);
		chunk->info.metadata_count += frame->id == 0;
		return NULL;
	}
	chunk->info.event_count++;
	reader->totals.event_count++;
	type = rdr_index_find(&chunk->types_by_id, frame->id);
	if (likely(type && type->is_event)) {
		rdr_count_event(reader, type->count_number, size);
		return (struct holter_type *)(uintptr_t)type;
	}
	rdr_count_event(reader, RDR_COUNT_UNKNOWN, size);
	if (!chunk->type_count)
		return NULL; /* reported with the metadata */
	reader->totals.lost_bytes += size;
	if (!chunk->is_unknown_reported)
		rdr_problem(reader, HOLTER_E_NO_TYPE, HOLTER_DAMAGE, rdr_offset(reader, frame->at),
			    0, "an event of the undeclared type %llu (more are only counted)",
			    (unsigned long long)frame->id);
	chunk->is_unknown_reported = true;
	return NULL;
}

int rdr_event_next(struct holter_reader *reader)
{
	struct rdr_frame frame;
	struct holter_type *type;

	if (unlikely(!reader->chunk.has_constants)) {
		int code = rdr_pools_read(reader);

		/* Set also on failure: the caller may go on, with keys that are null. */
		reader->chunk.has_constants = true;
		if (code)
			return code;
	}
	while (frame_next(reader, &frame)) {
		type = count_frame(reader, &frame);
		if (!type)
			continue;
		if (likely(take(reader, &frame, type)))
			return 1;
		report_bad_event(reader, &frame, type);
	}
	return 0;
}

void rdr_event_count_rest(struct holter_reader *reader)
{
	struct rdr_frame frame;

	while (frame_next(reader, &frame))
		count_frame(reader, &frame);
}

int holter_reader_event_at(struct holter_reader *reader, uint64_t offset,
			   const struct holter_event **event)
{
	struct rdr_chunk *chunk = &reader->chunk;
	const struct holter_type *type;
	struct rdr_frame frame;

	if (!reader->is_in_chunk || offset < chunk->info.offset + RDR_HEADER_BYTES ||
	    offset - chunk->info.offset >= (uint64_t)(chunk->end - chunk->base))
		return HOLTER_E_ARGUMENT;
	if (!rdr_frame_read(chunk->base + (offset - chunk->info.offset), chunk->end, &frame))
		return HOLTER_E_CORRUPT;
	type = rdr_index_find(&chunk->types_by_id, frame.id);
	if (frame.id <= 1 || !type || !type->is_event || !take(reader, &frame, type))
		return HOLTER_E_CORRUPT;
	*event = &reader->event;
	return 0;
}

const struct holter_type *holter_event_type(const struct holter_event *event)
{
	return event->type;
}

int64_t holter_event_start_ns(const struct holter_event *event)
{
	return rdr_time_ns(&event->reader->chunk, event->start_ticks);
}

int64_t holter_event_end_ns(const struct holter_event *event)
{
	int64_t end_ticks;

	if (__builtin_add_overflow(event->start_ticks, event->duration_ticks, &end_ticks))
		end_ticks = event->start_ticks;
	return rdr_time_ns(&event->reader->chunk, end_ticks);
}

int64_t holter_event_duration_ns(const struct holter_event *event)
{
	return rdr_span_ns(&event->reader->chunk, event->duration_ticks);
}

uint64_t holter_event_offset(const struct holter_event *event)
{
	return rdr_offset(event->reader, event->at);
}

uint64_t holter_event_size(const struct holter_event *event)
{
	return (uint64_t)(event->end - event->at);
}
