/*
 * Plans and the one loop that encodes all events; the chunk header.
 *
 * In: words of a record, bounded by the snapshot. Out: size | type | start | duration | thread |
 * stack | fields. An event is below REC_STREAM_EVENT bytes, whatever a record holds.
 */
#include "recorder/dump/chunk_write.h"

enum op {
	OP_SKIP,
	OP_U32,
	OP_U64,
	OP_BOOL,
	OP_FLOAT,
	OP_DOUBLE,
	OP_STRING,
	OP_CLASS,
	OP_THREAD,
	OP_STATE,
	OP_INTERFACE,
	OP_HOST,
	OP_ADDRESS,
	OP_PORT,
	OP_PEER, /* host, address and port of one slot in a row */
	OP_EMPTY32,
	OP_EMPTY64,
	OP_ZERO,
	OP_SIZE48,
	OP_ADDRESS48,
	OP_WEIGHT
};

/* Largest event: size 2, type 3, four common fields, a peer counts as one; none is above 9 bytes.
 */
_Static_assert(5 + (4 + REC_PLAN_OPS) * (LEB128_MAX_BYTES + 1) <= REC_STREAM_EVENT,
	       "an event fits the room it is given");

static enum op op_of(uint32_t kind, uint32_t slot_bits)
{
	switch (kind) {
	case EV_KIND_BOOL:
		return OP_BOOL;
	case EV_KIND_FLOAT:
	case EV_KIND_PERCENT:
	case EV_KIND_HERTZ:
		return OP_FLOAT;
	case EV_KIND_DOUBLE:
		return OP_DOUBLE;
	case EV_KIND_STRING:
		return OP_STRING;
	case EV_KIND_CLASS:
		return OP_CLASS;
	case EV_KIND_THREAD:
		return OP_THREAD;
	case EV_KIND_STATE:
		return OP_STATE;
	case EV_KIND_NETIF:
		return OP_INTERFACE;
	case EV_KIND_HOST:
		return OP_HOST;
	case EV_KIND_ADDRESS:
		return OP_ADDRESS;
	case EV_KIND_PORT:
		return OP_PORT;
	case EV_KIND_EMPTY:
		return slot_bits == 64 ? OP_EMPTY64 : OP_EMPTY32;
	case EV_KIND_ZERO:
		return OP_ZERO;
	case EV_KIND_SIZE48:
		return OP_SIZE48;
	case EV_KIND_ADDR48:
		return OP_ADDRESS48;
	case EV_KIND_WEIGHT:
		return OP_WEIGHT;
	default:
		return slot_bits == 64 ? OP_U64 : slot_bits == 32 ? OP_U32 : OP_ZERO;
	}
}

/* Offset of the slot of some kind; where there is none, of the given one. */
static uint16_t slot_of_kind(const struct ev_type *type, uint32_t kind, uint16_t otherwise)
{
	for (uint32_t i = 0; i < type->field_count; i++)
		if (type->fields[i].kind == kind)
			return ev_field_slot(type, i).offset;
	return otherwise;
}

/* The usual views of a connection become one step. */
static void join_peer(struct rec_plan *plan)
{
	struct rec_op *last = &plan->op[plan->op_count - 1];

	if (plan->op_count < 3 || last[0].code != OP_PORT || last[-1].code != OP_ADDRESS ||
	    last[-2].code != OP_HOST || last[0].offset != last[-1].offset ||
	    last[0].offset != last[-2].offset)
		return;
	plan->op_count = (uint8_t)(plan->op_count - 2);
	last[-2].code = OP_PEER;
}

static void compile(struct rec_plan *plan, const struct ev_type *type)
{
	plan->shape = type->shape;
	plan->bytes = plan->min_bytes = type->bytes;
	plan->id_bytes =
		(uint8_t)(leb128_put(plan->id, EV_JFR_ID_BASE + (uint64_t)type->number) - plan->id);
	for (uint32_t i = 0; i < type->field_count && plan->op_count < REC_PLAN_OPS; i++) {
		const struct ev_field *field = &type->fields[i];
		struct ev_slot slot = ev_field_slot(type, i);
		struct rec_op op = { .offset = slot.offset };

		if (field->role == EV_ROLE_HIDDEN || !ev_kinds[field->kind].jfr_type)
			continue;
		op.code = (uint8_t)op_of(field->kind, slot.bits);
		if (op.code == OP_SIZE48)
			op.second = slot_of_kind(type, EV_KIND_ADDR48, op.offset);
		if (op.code == OP_WEIGHT) {
			op.second = slot_of_kind(type, EV_KIND_SIZE48, op.offset);
			plan->min_bytes = (uint16_t)(type->bytes - 8);
		}
		plan->op[plan->op_count++] = op;
		join_peer(plan);
	}
}

void rec_encoder_init(struct rec_encoder *encoder, const struct rec_own_types *own)
{
	encoder->first_ticks = UINT64_MAX;
	for (uint32_t i = 0; i < ev_type_count; i++)
		compile(&encoder->plan[ev_types[i].number], &ev_types[i]);
	for (uint32_t i = 0; own && i < EV_USER_MAX; i++)
		if (own->copy[i].is_valid)
			compile(&encoder->plan[EV_NUMBER_MAX + i], &own->copy[i].type);
}

/*
 * leb128_put() without a loop: the seven-bit groups are spread at once. Writes eight bytes,
 * whatever the length; an event's room allows it.
 */
static inline uint8_t *put_varint(uint8_t *at, uint64_t value)
{
	uint64_t spread;
	uint32_t bytes;

	if (value < 0x80) {
		*at = (uint8_t)value;
		return at + 1;
	}
	if (unlikely(value >> 56))
		return leb128_put(at, value);
	bytes = leb128_size(value);
	spread = (value & 0xfffffffull) | (value & 0xfffffff0000000ull) << 4;
	spread = (spread & 0x3fff00003fffull) | (spread & 0xfffc0000fffc000ull) << 2;
	spread = (spread & 0x7f007f007f007full) | (spread & 0x3f803f803f803f80ull) << 1;
	spread |= 0x8080808080808080ull & ((1ull << 8 * (bytes - 1)) - 1);
	memcpy(at, &spread, 8);
	return at + bytes;
}

static inline uint32_t load32(const uint8_t *body, uint32_t offset)
{
	uint32_t value;

	memcpy(&value, body + offset, 4);
	return value;
}

static inline uint64_t load64(const uint8_t *body, uint32_t offset)
{
	uint64_t value;

	memcpy(&value, body + offset, 8);
	return value;
}

static uint8_t *put_string(uint8_t *at, uint32_t key)
{
	if (key == 0) {
		*at = JFR_STRING_NULL;
		return at + 1;
	}
	*at++ = JFR_STRING_CONSTANT;
	return put_varint(at, key);
}

static inline uint64_t size48(const struct rec_op *op, const uint8_t *body)
{
	return load32(body, op->offset) | (load64(body, op->second) >> 48) << 32;
}

/* Of a sample: absent where it equals the size, whose high bits are in the address behind it. */
static inline uint64_t weight_of(const struct rec_plan *plan, const struct rec_op *op,
				 const uint8_t *body, uint32_t bytes)
{
	const struct rec_op *size = &plan->op[0];

	if (bytes >= plan->bytes)
		return load64(body, op->offset);
	while (size->code != OP_SIZE48 && size < op)
		size++;
	return size->code == OP_SIZE48 ? size48(size, body) : 0;
}

struct record {
	const uint8_t *body;
	uint32_t bytes;
	uint32_t strand;
	uint64_t ticks;
};

/* The kinds that need the pools. */
static __attribute__((noinline)) uint8_t *put_reference(struct rec_encoder *encoder, uint8_t *at,
							const struct rec_op *op,
							const struct record *record)
{
	struct rec_pools *pools = encoder->pools;
	uint32_t value = load32(record->body, op->offset);

	switch (op->code) {
	case OP_STRING:
		return put_string(at, rec_pools_string(pools, value));
	case OP_CLASS:
		return put_varint(at, rec_pools_class(pools, value));
	case OP_THREAD:
		return put_varint(at, rec_pools_tid(pools, value, record->ticks, record->strand));
	case OP_STATE:
		pools->uses_state = 1;
		return put_varint(at, value <= JFR_STATE_IN_OBJECT_WAIT ? value : 0);
	case OP_INTERFACE:
		return put_varint(at, rec_pools_interface(pools, value));
	case OP_HOST:
		return put_string(at, rec_pools_peer(pools, value)->host);
	case OP_ADDRESS:
		return put_string(at, rec_pools_peer(pools, value)->address);
	default:
		return put_varint(at, rec_pools_peer(pools, value)->port);
	}
}

static uint8_t *put_fields(struct rec_encoder *encoder, uint8_t *at, const struct rec_plan *plan,
			   const struct record *record)
{
	const uint8_t *body = record->body;

	for (const struct rec_op *op = plan->op; op < plan->op + plan->op_count; op++) {
		switch (op->code) {
		case OP_U32:
			at = put_varint(at, load32(body, op->offset));
			break;
		case OP_U64:
			at = put_varint(at, load64(body, op->offset));
			break;
		case OP_BOOL:
			*at++ = load32(body, op->offset) != 0;
			break;
		case OP_FLOAT: {
			uint32_t value = __builtin_bswap32(load32(body, op->offset));

			memcpy(at, &value, 4);
			at += 4;
			break;
		}
		case OP_DOUBLE: {
			uint64_t value = __builtin_bswap64(load64(body, op->offset));

			memcpy(at, &value, 8);
			at += 8;
			break;
		}
		case OP_EMPTY32:
			*at++ = load32(body, op->offset) == 0;
			break;
		case OP_EMPTY64:
			*at++ = load64(body, op->offset) == 0;
			break;
		case OP_PEER: {
			const struct rec_peer *peer =
				rec_pools_peer(encoder->pools, load32(body, op->offset));

			memcpy(at, peer->bytes, sizeof(peer->bytes));
			at += peer->count;
			break;
		}
		case OP_ZERO:
			*at++ = 0;
			break;
		case OP_SIZE48:
			at = put_varint(at, size48(op, body));
			break;
		case OP_ADDRESS48:
			at = put_varint(at, load64(body, op->offset) & 0xffffffffffffull);
			break;
		case OP_WEIGHT:
			at = put_varint(at, weight_of(plan, op, body, record->bytes));
			break;
		default:
			at = put_reference(encoder, at, op, record);
		}
	}
	return at;
}

/* The context of a thread's stacks, asked for again only when it may have changed. */
static uint32_t context_of(struct rec_encoder *encoder, uint32_t index, uint64_t ticks)
{
	struct rec_strand *strand = rec_thread_list_at(encoder->pools->threads, index);
	struct rec_module_list *modules = &encoder->pools->frames.modules;

	if (ticks < strand->context_from || ticks >= strand->context_until) {
		uint32_t process = rec_module_list_process(modules, strand->process, strand->pid);

		strand->context =
			rec_module_list_context(modules, process, ticks, &strand->context_until);
		strand->context_from = ticks;
	}
	return strand->context;
}

/* Writes one event. @flags of word 0; @context of the stack, REC_NONE: the thread's. */
static void encode(struct rec_encoder *encoder, struct rec_plan *plan, uint32_t flags,
		   const struct record *record, uint32_t context)
{
	uint8_t *start = rec_stream_room(encoder->stream);
	uint8_t *at = start + 1;
	uint32_t head = plan->shape & EV_HAS_STACK ? 4 : 0;
	uint64_t duration = 0, begin = record->ticks, size;

	memcpy(at, plan->id, 4); /* ids are three bytes at most */
	at += plan->id_bytes;
	if (plan->shape & EV_HAS_DURATION) {
		duration = (uint64_t)load32(record->body, head)
			   << 10 * (flags & EV_FLAG_SCALE_MASK);
		begin = duration < begin ? begin - duration : 0;
	}
	at = put_varint(at, rec_encoder_ticks(encoder, begin));
	if (plan->shape & EV_HAS_DURATION)
		at = put_varint(at, duration);
	if (plan->shape & EV_HAS_THREAD)
		at = put_varint(at, record->strand == REC_NONE
					    ? 0
					    : rec_pools_thread_key(encoder->pools, record->strand));
	if (plan->shape & EV_HAS_STACK) {
		uint32_t stack = load32(record->body, 0);

		if (stack && context == REC_NONE && record->strand != REC_NONE)
			context = context_of(encoder, record->strand, record->ticks);
		at = put_varint(
			at,
			stack ? rec_pools_trace(encoder->pools, stack, context, record->ticks) : 0);
	}
	at = put_fields(encoder, at, plan, record);
	size = (uint64_t)(at - start);
	if (likely(size < 0x80)) {
		*start = (uint8_t)size;
	} else {
		memmove(start + 2, start + 1, size - 1);
		put_varint(start, size + 1);
		at++;
	}
	encoder->stream->at = at;
	plan->events++;
	encoder->events++;
}

static struct rec_plan *plan_of(struct rec_encoder *encoder, uint32_t type)
{
	struct rec_plan *plan;

	if (type < EV_NUMBER_MAX)
		plan = &encoder->plan[type];
	else if (type >= EV_USER_BASE && type < EV_USER_BASE + EV_USER_MAX)
		plan = &encoder->plan[EV_NUMBER_MAX + type - EV_USER_BASE];
	else
		return NULL;
	return plan->id_bytes ? plan : NULL;
}

void rec_encoder_record(struct rec_encoder *encoder, const struct rec_cursor *cursor)
{
	uint64_t word = *cursor->at;
	struct rec_plan *plan = plan_of(encoder, EV_TYPE(word));
	struct record record = {
		.body = (const uint8_t *)(cursor->at + 1),
		.bytes = 8 * (EV_WORDS(word) - 1),
		.strand = cursor->strand,
		.ticks = cursor->ticks,
	};

	if (!plan || record.bytes < plan->min_bytes || record.ticks > encoder->sane_ticks ||
	    record.ticks < encoder->tick_zero) {
		encoder->damaged++;
		return;
	}
	if (record.ticks < encoder->min_ticks || record.ticks > encoder->max_ticks)
		return;
	if (record.ticks < encoder->first_ticks)
		encoder->first_ticks = record.ticks;
	if (record.ticks > encoder->last_ticks)
		encoder->last_ticks = record.ticks;
	encode(encoder, plan, EV_FLAGS(word), &record, REC_NONE);
}

void rec_encoder_once(struct rec_encoder *encoder, enum ev_number type, uint64_t ticks,
		      const void *body, uint32_t strand, uint32_t context)
{
	struct rec_plan *plan = plan_of(encoder, type);
	struct record record = { .body = body, .strand = strand, .ticks = ticks };

	if (!plan)
		return;
	record.bytes = plan->bytes;
	encode(encoder, plan, 0, &record, context);
}

static void put_big(uint8_t *at, uint64_t value, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		at[i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
}

void rec_chunk_header(uint8_t *out, const struct rec_chunk_header *header)
{
	memset(out, 0, JFR_HEADER_BYTES);
	put_big(out + JFR_HEADER_MAGIC, JFR_MAGIC, 4);
	put_big(out + JFR_HEADER_MAJOR, JFR_MAJOR, 2);
	put_big(out + JFR_HEADER_MINOR, JFR_MINOR, 2);
	put_big(out + JFR_HEADER_SIZE, header->bytes, 8);
	put_big(out + JFR_HEADER_CHECKPOINT, header->checkpoint, 8);
	put_big(out + JFR_HEADER_METADATA, header->metadata, 8);
	put_big(out + JFR_HEADER_START_NANOS, header->start_nanos, 8);
	put_big(out + JFR_HEADER_DURATION_NANOS, header->duration_nanos, 8);
	put_big(out + JFR_HEADER_START_TICKS, header->start_ticks, 8);
	put_big(out + JFR_HEADER_TICKS_PER_SECOND, header->ticks_per_second, 8);
	out[JFR_HEADER_STATE] = JFR_STATE_FINISHED;
	put_big(out + JFR_HEADER_FLAGS, JFR_FLAG_COMPRESSED | JFR_FLAG_FINAL, 2);
}
