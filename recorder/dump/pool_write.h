/*
 * The constants of a file: what events refer to by key, and the checkpoint that holds them.
 *
 * In: ids of the region (strings, stacks, connections, threads). Out: keys for events, entered and
 * encoded at first sight, so that only what is used is written. Never here: events.
 *
 * An id that cannot be had any more gives null and is counted (REC_LOSS_STALE_STACK).
 */
#ifndef HOLTER_DUMP_POOL_WRITE_H
#define HOLTER_DUMP_POOL_WRITE_H

#include "recorder/dump/dump_stream.h"
#include "recorder/dump/frames.h"
#include "recorder/dump/thread_list.h"
#include "recorder/region/depot.h"

/* Strings of the dump itself have ids from here, that no region can have (depot.h). */
#define REC_LOCAL_BASE EV_NAME_MAX
#define REC_LOCAL_END (1u << 24)

/* The peer of a connection: keys of strings, and the three as they stand in an event. */
struct rec_peer {
	uint32_t host, address;
	uint32_t port;
	uint8_t count;
	uint8_t bytes[19];
};

struct rec_pools {
	const struct rec_region *region;
	struct rec_thread_list *threads;
	struct rec_frames frames;
	struct rec_texts strings;
	struct rec_pool traces, thread_pool, groups, interfaces;
	struct rec_map string_ids, class_ids, interface_ids, peer_ids, trace_ids, group_ids;
	struct rec_vec peers;  /* struct rec_peer */
	struct rec_vec buffer; /* of one entry of the depot, or a long text */
	uint64_t stale;	       /* references that could not be followed */
	uint32_t locals;       /* strings of the dump itself so far */
	uint32_t is_local;     /* 1: ids of the dump itself are valid now */
	uint32_t uses_state;
	int code; /* first error: HOLTER_E_NOMEM */
};

/**
 * rec_pools_init() - copies what is needed of the region's tables.
 * @pools: zeroed.
 * @threads: built, kept by the caller; outlives the pools.
 *
 * Return: 0, HOLTER_E_NOMEM. Context: one thread.
 */
int rec_pools_init(struct rec_pools *pools, const struct rec_region *region,
		   struct rec_thread_list *threads, const struct rec_symbolizer *symbolizer);

/**
 * rec_pools_string() - key of a string's id. rec_pools_class(), rec_pools_interface() - of the
 * Class or NetworkInterfaceName it names.
 *
 * Return: the key; 0 is null. Context: one thread.
 */
uint32_t rec_pools_string(struct rec_pools *pools, uint32_t id);
uint32_t rec_pools_class(struct rec_pools *pools, uint32_t id);
uint32_t rec_pools_interface(struct rec_pools *pools, uint32_t id);

/**
 * rec_pools_peer() - the peer of a connection's id.
 *
 * Return: keys and port, all 0 where it is unknown; valid until the next call. Context: one thread.
 */
const struct rec_peer *rec_pools_peer(struct rec_pools *pools, uint32_t id);

/**
 * rec_pools_trace() - key of a stack as seen by a process at a time.
 * @context: of rec_module_list_context().
 *
 * Return: the key; 0 is null. Context: one thread; calls the symbolizer.
 */
uint32_t rec_pools_trace(struct rec_pools *pools, uint32_t id, uint32_t context, uint64_t ticks);

/**
 * rec_pools_thread() - key of a thread. rec_pools_tid() - of the thread that had a number then.
 * @strand: index in the thread list.
 * @by: strand that mentions it, REC_NONE.
 *
 * Return: the key; 0 is null. Context: one thread.
 */
uint64_t rec_pools_thread(struct rec_pools *pools, uint32_t strand);
uint64_t rec_pools_tid(struct rec_pools *pools, uint32_t tid, uint64_t ticks, uint32_t by);

/* The usual case of rec_pools_thread() without a call. */
static inline uint64_t rec_pools_thread_key(struct rec_pools *pools, uint32_t strand)
{
	const struct rec_strand *one = rec_thread_list_at(pools->threads, strand);

	return likely(one->is_written) ? one->key : rec_pools_thread(pools, strand);
}

/**
 * rec_pools_local() - an id for a string of the dump itself, to be put in a record.
 * @bytes: NULL gives 0.
 *
 * Return: the id; 0 without memory. Context: one thread.
 */
uint32_t rec_pools_local(struct rec_pools *pools, const char *bytes, uint64_t count);

/**
 * rec_pools_names() - reads a long text of the region's names into pools->buffer, NUL-ended.
 *
 * Return: its bytes; -1 where there is none. Context: one thread; until the next call of any
 * function.
 */
int64_t rec_pools_names(struct rec_pools *pools, uint32_t id);

/**
 * rec_pools_write() - writes all constants as one checkpoint event.
 * @ticks: of the event, as in the file.
 *
 * Return: nothing; the stream's sink keeps errors. Context: one thread.
 */
void rec_pools_write(struct rec_pools *pools, struct rec_stream *stream, uint64_t ticks);

/**
 * rec_pools_free() - gives the memory back.
 *
 * Return: nothing. Context: one thread.
 */
void rec_pools_free(struct rec_pools *pools);

#endif
