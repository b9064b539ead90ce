/*
 * Events: framing, and cutting an event into its fields.
 */
#ifndef HOLTER_READER_EVENT_READ_H
#define HOLTER_READER_EVENT_READ_H

#include "reader/model.h"

/* An event as framed: its bytes and type number, nothing else is known to be right. */
struct rdr_frame {
	const uint8_t *at;
	const uint8_t *body; /* behind the type number */
	const uint8_t *end;
	uint64_t id;
};

/* Frames the event at `at`; false when its size is wrong or reaches beyond `end`. */
static inline bool rdr_frame_read(const uint8_t *at, const uint8_t *end, struct rdr_frame *frame)
{
	uint64_t size;
	const uint8_t *body = rdr_varint(at, end, &size);

	if (unlikely(!body || size > (uint64_t)(end - at) || size <= (uint64_t)(body - at)))
		return false;
	frame->at = at;
	frame->end = at + size;
	frame->body = rdr_varint(body, frame->end, &frame->id);
	return frame->body != NULL;
}

/*
 * Reads the next event of the chunk into reader->event. Returns 1, 0 at the end of what can be
 * read of the chunk, or a negative code.
 */
int rdr_event_next(struct holter_reader *reader);

/* Where a field of the event starts; NULL only when the file changed while it was read. */
const uint8_t *rdr_event_position(const struct holter_event *event, uint32_t number);

/* The bits of an integer or the key in a field; 0 for number -1. */
uint64_t rdr_event_integer(const struct holter_event *event, int32_t number);

/* Counts what is left of the chunk without decoding it. */
void rdr_event_count_rest(struct holter_reader *reader);

#endif
