/*
 * Constants: looked up by the region's ids, encoded at first sight, written at the end.
 *
 * In: ids out of records. Out: keys, and a checkpoint. Never here: trust in an id.
 */
#include "recorder/dump/pool_write.h"

#include <sys/socket.h>

#include "recorder/dump/dump_text.h"

/* Ten times what a depot holds: a damaged region may name each stack in thousands of contexts. */
#define TRACES_MAX (256ull << 20)

int rec_pools_init(struct rec_pools *pools, const struct rec_region *region,
		   struct rec_thread_list *threads, const struct rec_symbolizer *symbolizer)
{
	pools->region = region;
	pools->threads = threads;
	if (!rec_vec_grow(&pools->buffer, REC_DEPOT_BYTES_MAX + 8))
		return HOLTER_E_NOMEM;
	return rec_frames_init(&pools->frames, region, symbolizer);
}

static uint32_t no_memory(struct rec_pools *pools)
{
	pools->code = HOLTER_E_NOMEM;
	return 0;
}

/* Text behind a string's id: its bytes, or NULL. Short-lived: pools->buffer. */
static const char *text_of(struct rec_pools *pools, uint32_t id, uint64_t *count)
{
	int bytes;

	if (id < EV_NAME_COUNT) {
		*count = strlen(ev_names[id]);
		return ev_names[id];
	}
	if (id < REC_LOCAL_END)
		return NULL;
	bytes = rec_depot_read(pools->region, id, REC_DEPOT_STRING, pools->buffer.data, NULL);
	if (bytes < 0)
		return NULL;
	*count = (uint64_t)bytes;
	return (const char *)pools->buffer.data;
}

uint32_t rec_pools_string(struct rec_pools *pools, uint32_t id)
{
	const char *text;
	uint64_t count;
	uint32_t key = 0;

	if (id == 0)
		return 0;
	if (id >= REC_LOCAL_BASE && id < REC_LOCAL_END && !pools->is_local) {
		pools->stale++;
		return 0;
	}
	if (!rec_map_get(&pools->string_ids, id, &key)) {
		text = text_of(pools, id, &count);
		if (text)
			key = rec_texts_add(&pools->strings, text, count);
		if (key == UINT32_MAX || !rec_map_put(&pools->string_ids, id, key))
			return no_memory(pools);
	}
	if (key == 0)
		pools->stale++;
	return key;
}

uint32_t rec_pools_local(struct rec_pools *pools, const char *bytes, uint64_t count)
{
	uint32_t key, id;

	if (!bytes)
		return 0;
	key = rec_texts_add(&pools->strings, bytes, count);
	id = REC_LOCAL_BASE + pools->locals;
	if (key == UINT32_MAX || id >= REC_LOCAL_END || !rec_map_put(&pools->string_ids, id, key))
		return no_memory(pools);
	pools->locals++;
	return id;
}

int64_t rec_pools_names(struct rec_pools *pools, uint32_t id)
{
	struct rec_vec *buffer = &pools->buffer;
	int length;

	if (id == 0)
		return -1;
	length = rec_names_read(pools->region, id, (char *)buffer->data, (uint32_t)buffer->size);
	if (length < 0)
		return -1;
	if ((uint64_t)length + 1 > buffer->size) {
		buffer->used = 0;
		if ((uint32_t)length > REC_NAMES_BYTES ||
		    !rec_vec_room(buffer, (uint64_t)length + 1)) {
			no_memory(pools);
			return -1;
		}
		int again = rec_names_read(pools->region, id, (char *)buffer->data,
					   (uint32_t)length + 1);
		/* It may have changed meanwhile: never longer than what was read. */
		if (again < 0)
			return -1;
		length = again < length ? again : length;
	}
	return length;
}

uint32_t rec_pools_class(struct rec_pools *pools, uint32_t id)
{
	const struct rec_symbolizer *symbolizer = pools->frames.symbolizer;
	const char *text;
	char name[1024];
	uint64_t count;
	uint32_t key = 0;

	if (id == 0)
		return 0;
	if (!rec_map_get(&pools->class_ids, id, &key)) {
		text = text_of(pools, id, &count);
		/* What is not of names.def is the type_info name of a C++ class. */
		if (text && id >= EV_NAME_MAX && symbolizer && symbolizer->type_name &&
		    symbolizer->type_name(symbolizer->context, text, count, name, sizeof(name))) {
			text = name;
			count = strlen(name);
		}
		if (text) {
			key = rec_frames_class(&pools->frames, text, count);
			if (!key)
				return no_memory(pools);
		}
		if (!rec_map_put(&pools->class_ids, id, key))
			return no_memory(pools);
	}
	if (key == 0)
		pools->stale++;
	return key;
}

/* Appends key and inline string to a pool. */
static uint8_t *put_string(uint8_t *at, const char *text, uint64_t count)
{
	uint64_t clean = rec_text_utf8(text, count, NULL);

	*at++ = count ? JFR_STRING_UTF8 : JFR_STRING_EMPTY;
	if (!count)
		return at;
	at = leb128_put(at, clean);
	return at + rec_text_utf8(text, count, at);
}

uint32_t rec_pools_interface(struct rec_pools *pools, uint32_t id)
{
	struct rec_pool *pool = &pools->interfaces;
	const char *text;
	uint64_t count;
	uint32_t key = 0;
	uint8_t *at;

	if (id == 0)
		return 0;
	if (!rec_map_get(&pools->interface_ids, id, &key)) {
		text = text_of(pools, id, &count);
		if (text) {
			at = rec_vec_room(&pool->bytes, 32 + 3 * count);
			if (!at)
				return no_memory(pools);
			key = ++pool->count;
			at = put_string(leb128_put(at, key), text, count);
			pool->bytes.used = (uint64_t)(at - pool->bytes.data);
		}
		if (!rec_map_put(&pools->interface_ids, id, key))
			return no_memory(pools);
	}
	if (key == 0)
		pools->stale++;
	return key;
}

/* Address as text; the length 0 where there is none. */
static uint64_t address_text(const struct rec_address *address, char *buffer, size_t size)
{
	struct text text = text_init(buffer, size);

	if (address->family == AF_INET)
		rec_text_ipv4(&text, address->peer);
	else if (address->family == AF_INET6)
		rec_text_ipv6(&text, address->peer);
	else if (address->family == AF_UNIX)
		text_put_bytes(&text, address->path, strnlen(address->path, sizeof(address->path)));
	return text.used;
}

/* Reads an address; false when it is stale. */
static bool make_peer(struct rec_pools *pools, uint32_t id, struct rec_peer *peer)
{
	struct rec_address address;
	char buffer[80];
	uint64_t count;
	int bytes = rec_depot_read(pools->region, id, REC_DEPOT_ADDRESS, pools->buffer.data, NULL);

	if (bytes < (int)sizeof(address))
		return false;
	memcpy(&address, pools->buffer.data, sizeof(address));
	count = address_text(&address, buffer, sizeof(buffer));
	if (count) {
		peer->address = rec_texts_add(&pools->strings, buffer, count);
		if (peer->address == UINT32_MAX)
			peer->address = no_memory(pools);
		/* No name was looked up: its place takes what groups events as well. */
		peer->host = peer->address;
	}
	peer->port =
		address.family == AF_INET || address.family == AF_INET6 ? address.peer_port : 0;
	return true;
}

/* Host, address, port, one after the other. */
static void encode_peer(struct rec_peer *peer)
{
	const uint32_t keys[] = { peer->host, peer->address };
	uint8_t *at = peer->bytes;

	for (int i = 0; i < 2; i++) {
		*at++ = keys[i] ? JFR_STRING_CONSTANT : JFR_STRING_NULL;
		if (keys[i])
			at = leb128_put(at, keys[i]);
	}
	at = leb128_put(at, peer->port);
	peer->count = (uint8_t)(at - peer->bytes);
}

const struct rec_peer *rec_pools_peer(struct rec_pools *pools, uint32_t id)
{
	static const struct rec_peer unknown = { .count = 3 };
	struct rec_peer peer = { 0, 0, 0, 0, { 0 } };
	uint32_t number;

	if (id == 0)
		return &unknown;
	if (!rec_map_get(&pools->peer_ids, id, &number)) {
		number = 0;
		if (make_peer(pools, id, &peer)) {
			encode_peer(&peer);
			if (!rec_vec_put(&pools->peers, &peer, sizeof(peer)))
				no_memory(pools);
			number = (uint32_t)(pools->peers.used / sizeof(peer));
		}
		if (!rec_map_put(&pools->peer_ids, id, number))
			no_memory(pools);
	}
	if (number == 0) {
		pools->stale++;
		return &unknown;
	}
	return (const struct rec_peer *)pools->peers.data + number - 1;
}

/* Encodes a stack; the key, 0 when it is stale. */
static uint32_t make_trace(struct rec_pools *pools, uint32_t id, uint32_t context, uint64_t ticks)
{
	struct rec_pool *pool = &pools->traces;
	const uint64_t *addresses = (const uint64_t *)pools->buffer.data;
	uint32_t flags = 0, count = 0;
	uint64_t length_at;
	int bytes = rec_depot_read(pools->region, id, REC_DEPOT_STACK, pools->buffer.data, &flags);

	if (bytes < 8 || pool->bytes.used > TRACES_MAX)
		return 0;
	if (!rec_vec_varint(&pool->bytes, pool->count + 1) ||
	    !rec_vec_room(&pool->bytes, 1 + LEB128_MAX_BYTES))
		return no_memory(pools);
	pool->bytes.data[pool->bytes.used++] = (flags & REC_DEPOT_TRUNCATED) != 0;
	/* The number of frames comes first and is known last: inlined functions add some. */
	length_at = pool->bytes.used;
	pool->bytes.used += 2;
	for (int i = 0; i < bytes / 8; i++) {
		struct rec_frame_span span;

		if (addresses[i] == 0)
			continue;
		if (rec_frames_of(&pools->frames, context, ticks, addresses[i], &span) ||
		    !rec_vec_room(&pool->bytes, span.bytes))
			return no_memory(pools);
		rec_vec_put(&pool->bytes, pools->frames.bytes.data + span.offset, span.bytes);
		count += span.count;
	}
	pool->bytes.data[length_at] = (uint8_t)(count | 0x80);
	pool->bytes.data[length_at + 1] = (uint8_t)(count >> 7 & 0x7f);
	return ++pool->count;
}

uint32_t rec_pools_trace(struct rec_pools *pools, uint32_t id, uint32_t context, uint64_t ticks)
{
	uint64_t key = (uint64_t)context << 32 | id;
	uint32_t number;

	if (id == 0)
		return 0;
	if (!rec_map_get(&pools->trace_ids, key, &number)) {
		number = make_trace(pools, id, context, ticks);
		if (!rec_map_put(&pools->trace_ids, key, number))
			return no_memory(pools);
	}
	if (number == 0)
		pools->stale++;
	return number;
}

/* Key of a process as a ThreadGroup named `comm[pid]`; 0 where it is unknown. */
static uint32_t group_of(struct rec_pools *pools, uint32_t index)
{
	const struct rec_process *process;
	struct rec_pool *pool = &pools->groups;
	char buffer[64];
	struct text text = text_init(buffer, sizeof(buffer));
	uint32_t key = index + 1;
	uint8_t *at;

	if (index >= pools->frames.modules.process_count)
		return 0;
	if (rec_map_get(&pools->group_ids, key, &key))
		return key;
	process = rec_module_list_at(&pools->frames.modules, index);
	text_put_bytes(&text, process->name, strnlen(process->name, sizeof(process->name)));
	text_put(&text, "[");
	text_put_u64(&text, process->pid);
	text_put(&text, "]");
	at = rec_vec_room(&pool->bytes, 32 + 3 * sizeof(buffer));
	if (!at || !rec_map_put(&pools->group_ids, key, key))
		return no_memory(pools);
	at = leb128_put(at, key);
	*at++ = 0; /* parent */
	at = put_string(at, buffer, text.used);
	pool->bytes.used = (uint64_t)(at - pool->bytes.data);
	pool->count++;
	return key;
}

uint64_t rec_pools_thread(struct rec_pools *pools, uint32_t index)
{
	struct rec_strand *strand = rec_thread_list_at(pools->threads, index);
	struct rec_pool *pool = &pools->thread_pool;
	uint32_t process, group;
	uint8_t *at;

	if (strand->is_written || strand->tid == 0)
		return strand->key;
	process = rec_module_list_process(&pools->frames.modules, strand->process, strand->pid);
	group = group_of(pools, process);
	at = rec_vec_room(&pool->bytes, 5 * LEB128_MAX_BYTES + 3 * sizeof(strand->name) + 8);
	if (!at)
		return no_memory(pools);
	at = leb128_put(at, strand->key);
	at = put_string(at, strand->name, strnlen(strand->name, sizeof(strand->name)));
	at = leb128_put(at, strand->tid);
	*at++ = JFR_STRING_NULL; /* no Java name: null, not "" (T23) */
	*at++ = 0;		 /* Java thread id */
	at = leb128_put(at, group);
	pool->bytes.used = (uint64_t)(at - pool->bytes.data);
	pool->count++;
	strand->is_written = 1;
	return strand->key;
}

uint64_t rec_pools_tid(struct rec_pools *pools, uint32_t tid, uint64_t ticks, uint32_t by)
{
	uint32_t pid = 0, process = REC_NONE;
	uint32_t index;

	if (tid == 0)
		return 0;
	if (by != REC_NONE) {
		pid = rec_thread_list_at(pools->threads, by)->pid;
		process = rec_thread_list_at(pools->threads, by)->process;
	}
	index = rec_thread_list_find(pools->threads, tid, ticks, pid, process);
	return index == REC_NONE ? no_memory(pools) : rec_pools_thread(pools, index);
}

struct pool_view {
	uint32_t type;
	uint32_t count;
	const struct rec_vec *bytes;
};

static void add_fixed(struct rec_pool *pool, uint32_t key, const char *text)
{
	uint8_t *at = rec_vec_room(&pool->bytes, 32 + 3 * strlen(text));

	if (!at)
		return;
	at = put_string(leb128_put(at, key), text, strlen(text));
	pool->bytes.used = (uint64_t)(at - pool->bytes.data);
	pool->count++;
}

static void fixed_pools(struct rec_pools *pools, struct rec_pool *types, struct rec_pool *states)
{
	if (pools->frames.methods.count) {
		add_fixed(types, JFR_FRAME_NATIVE, "Native");
		add_fixed(types, JFR_FRAME_CPLUSPLUS, "C++");
		add_fixed(types, JFR_FRAME_KERNEL, "Kernel");
		add_fixed(types, JFR_FRAME_INLINED, "Inlined");
	}
	if (pools->uses_state) {
		add_fixed(states, JFR_STATE_RUNNABLE, "STATE_RUNNABLE");
		add_fixed(states, JFR_STATE_SLEEPING, "STATE_SLEEPING");
		add_fixed(states, JFR_STATE_PARKED, "STATE_PARKED");
		add_fixed(states, JFR_STATE_BLOCKED, "STATE_BLOCKED_ON_MONITOR_ENTER");
		add_fixed(states, JFR_STATE_IN_OBJECT_WAIT, "STATE_IN_OBJECT_WAIT");
	}
}

/* Size, type and the fields in front of the pools; `bytes` is what the pools take. */
static void write_head(struct rec_stream *stream, uint64_t ticks, uint32_t pool_count,
		       uint64_t bytes)
{
	uint8_t head[8 * LEB128_MAX_BYTES], prefix[LEB128_MAX_BYTES];
	uint8_t *at = head, *end;

	at = leb128_put(at, JFR_EVENT_CHECKPOINT);
	at = leb128_put(at, ticks);
	*at++ = 0; /* duration */
	*at++ = 0; /* no older checkpoint */
	*at++ = JFR_CHECKPOINT_GENERIC;
	at = leb128_put(at, pool_count);
	bytes += (uint64_t)(at - head);
	/* The size counts itself: in four bytes, padded, or in the five of larger numbers. */
	if (bytes + 4 <= LEB128_PADDED4_MAX)
		end = leb128_put_padded4(prefix, (uint32_t)bytes + 4);
	else
		end = leb128_put(prefix, bytes + 5);
	rec_stream_put(stream, prefix, (uint64_t)(end - prefix));
	rec_stream_put(stream, head, (uint64_t)(at - head));
}

static void write_views(struct rec_stream *stream, uint64_t ticks, const struct pool_view *views,
			size_t count)
{
	uint8_t head[2 * LEB128_MAX_BYTES];
	uint32_t pool_count = 0;
	uint64_t bytes = 0;

	/* A pool without entries makes the whole file unreadable for jfr (T5). */
	for (size_t i = 0; i < count; i++) {
		if (views[i].count == 0)
			continue;
		pool_count++;
		bytes += leb128_size(views[i].type) + leb128_size(views[i].count) +
			 views[i].bytes->used;
	}
	write_head(stream, ticks, pool_count, bytes);
	for (size_t i = 0; i < count; i++) {
		uint8_t *at = leb128_put(head, views[i].type);

		if (views[i].count == 0)
			continue;
		at = leb128_put(at, views[i].count);
		rec_stream_put(stream, head, (uint64_t)(at - head));
		rec_stream_put(stream, views[i].bytes->data, views[i].bytes->used);
	}
}

void rec_pools_write(struct rec_pools *pools, struct rec_stream *stream, uint64_t ticks)
{
	struct rec_pool types = { { NULL, 0, 0 }, 0 }, states = { { NULL, 0, 0 }, 0 };
	struct rec_frames *frames = &pools->frames;

	fixed_pools(pools, &types, &states);
	const struct pool_view views[] = {
		{ JFR_TYPE_THREAD, pools->thread_pool.count, &pools->thread_pool.bytes },
		{ JFR_TYPE_THREAD_GROUP, pools->groups.count, &pools->groups.bytes },
		{ JFR_TYPE_STACK_TRACE, pools->traces.count, &pools->traces.bytes },
		{ JFR_TYPE_METHOD, frames->methods.count, &frames->methods.bytes },
		{ JFR_TYPE_CLASS, frames->classes.count, &frames->classes.bytes },
		{ JFR_TYPE_SYMBOL, frames->symbols.count, &frames->symbols.bytes },
		{ JFR_TYPE_NETWORK_INTERFACE, pools->interfaces.count, &pools->interfaces.bytes },
		{ JFR_TYPE_STRING, pools->strings.count, &pools->strings.bytes },
		{ JFR_TYPE_FRAME_TYPE, types.count, &types.bytes },
		{ JFR_TYPE_THREAD_STATE, states.count, &states.bytes },
	};
	write_views(stream, ticks, views, ARRAY_LEN(views));
	rec_vec_free(&types.bytes);
	rec_vec_free(&states.bytes);
}

void rec_pools_free(struct rec_pools *pools)
{
	rec_frames_free(&pools->frames);
	rec_texts_free(&pools->strings);
	rec_vec_free(&pools->traces.bytes);
	rec_vec_free(&pools->thread_pool.bytes);
	rec_vec_free(&pools->groups.bytes);
	rec_vec_free(&pools->interfaces.bytes);
	rec_map_free(&pools->string_ids);
	rec_map_free(&pools->class_ids);
	rec_map_free(&pools->interface_ids);
	rec_map_free(&pools->peer_ids);
	rec_map_free(&pools->trace_ids);
	rec_map_free(&pools->group_ids);
	rec_vec_free(&pools->peers);
	rec_vec_free(&pools->buffer);
}
