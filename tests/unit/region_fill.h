/*
 * Fills regions with known content, for the tests and the bench of the dump.
 *
 * In: what a test wants recorded. Out: a region as the recorded program would have left it, made by
 * the same functions. Its clock is fixed: a nanosecond is a tick, and tick `FILL_TICKS` is
 * `FILL_EPOCH_NS`.
 */
#ifndef HOLTER_TESTS_REGION_FILL_H
#define HOLTER_TESTS_REGION_FILL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "recorder/region/append.h"
#include "recorder/region/depot.h"
#include "recorder/region/tables.h"

#define FILL_EPOCH_NS 1700000000123456789ull
#define FILL_BEFORE_NS 100000000000ull /* the region was made 100 s ago */

struct fill_thread {
	struct rec_writer writer;
	struct rec_writer_cold cold;
	uint64_t loss[REC_LOSS_COUNT];
	uint64_t loss_bytes;
};

/* Of a thread's name, without its NUL. */
static inline size_t fill_length(const char *name)
{
	size_t length = strlen(name);

	return length < 15 ? length : 15;
}

/* Tick 0 of a test's own count. */
static inline uint64_t fill_base(const struct rec_region *region)
{
	return region->header->clock.base_ticks;
}

static inline void fill_create(struct rec_region *region, uint64_t memory)
{
	struct timespec now;
	struct rec_clock *clock;
	int code = rec_region_create(region, memory, (uint32_t)getpid(), 4711);

	if (code) {
		fprintf(stderr, "rec_region_create: %d\n", code);
		exit(1);
	}
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	clock = &region->header->clock;
	clock->is_tsc = 0;
	clock->ticks_per_second = 1000000000;
	clock->base_ticks =
		(uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - FILL_BEFORE_NS;
	/* In the future, so that nothing is measured again. */
	clock->base_mono_ns = 1ull << 62;
	clock->base_epoch_ns = FILL_EPOCH_NS;
	rec_clock_adopt(clock);
	region->header->created_epoch_ns = FILL_EPOCH_NS;
	region->header->interval_ms = 5000;
}

static inline void fill_destroy(struct rec_region *region)
{
	char path[REC_PATH_MAX];

	memcpy(path, region->header->path, sizeof(path));
	if (!region->header->anonymous)
		unlink(path);
	rec_region_unmap(region);
}

/* A process; `space` 0 gives it an address space of its own. */
static inline uint32_t fill_process(struct rec_region *region, uint32_t pid, uint32_t ppid,
				    uint32_t space, const char *name)
{
	uint32_t index = rec_process_join(region, pid, 1000 + pid, ppid, space);
	struct rec_process *process = rec_process_at(region, index);

	process->start_ticks = fill_base(region);
	memset(process->name, 0, sizeof(process->name));
	memcpy(process->name, name, fill_length(name));
	return index;
}

static inline void fill_thread(struct fill_thread *thread, struct rec_region *region,
			       uint32_t process, uint32_t tid, const char *name, uint64_t start)
{
	uint32_t pid = rec_process_at(region, process)->pid;
	uint32_t entry = rec_thread_join(region, pid, tid, process, start, name);
	struct rec_thread_entry *row = rec_thread_at(region, entry);

	memset(thread, 0, sizeof(*thread));
	thread->cold.region = region;
	thread->cold.owner = (struct rec_chunk_owner){
		.pid = pid, .tid = tid, .thread = entry, .process = process
	};
	memcpy(thread->cold.owner.name, name, fill_length(name));
	thread->cold.loss = row ? row->loss : thread->loss;
	thread->cold.loss_bytes = row ? &row->loss_bytes : &thread->loss_bytes;
}

static inline void fill_record(struct fill_thread *thread, uint32_t type, uint32_t flags,
			       uint64_t ticks, const void *body, uint32_t bytes)
{
	if (!rec_append(&thread->writer, type, flags, ticks, body, bytes))
		rec_append_slow(&thread->writer, &thread->cold, type, flags, ticks, body, bytes);
}

static inline uint32_t fill_string(struct rec_region *region, const char *text)
{
	return rec_depot_intern(region, REC_DEPOT_STRING, 0, text, (uint32_t)strlen(text));
}

static inline uint32_t fill_stack(struct rec_region *region, const uint64_t *addresses,
				  uint32_t count, uint32_t flags)
{
	return rec_depot_intern(region, REC_DEPOT_STACK, flags, addresses, count * 8);
}

static inline uint32_t fill_ipv4(struct rec_region *region, uint32_t address, uint16_t port)
{
	struct rec_address peer = { .family = AF_INET, .peer_port = port, .type = SOCK_STREAM };

	for (int i = 0; i < 4; i++)
		peer.peer[i] = (uint8_t)(address >> (24 - 8 * i));
	return rec_depot_intern(region, REC_DEPOT_ADDRESS, 0, &peer, sizeof(peer));
}

static inline uint32_t fill_module(struct rec_region *region, uint32_t process, uint64_t base,
				   uint64_t top, const char *path, uint64_t load, uint64_t unload)
{
	const struct rec_process *owner = rec_process_at(region, process);
	struct rec_module module = {
		.base = base,
		.top = top,
		.bias = base,
		.load_ticks = load,
		.space = owner->space,
		.pid = owner->pid,
		.path = rec_names_add(region, path, (uint32_t)strlen(path)),
		.build_id_bytes = 20,
		.build_id = { 0xab, 0xcd, 0xef },
	};

	uint32_t index = rec_module_add(region, &module);

	if (unload)
		rec_module_unload(region, owner->space, base, unload);
	return index;
}

#endif
