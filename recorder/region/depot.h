/*
 * The depot: stacks, strings and socket addresses, each stored once and named by a 32-bit id.
 *
 * In: bytes and their kind. Out: an id that events carry; at dump time the bytes again. Two
 * generations: when the current half is full the older one is dropped, so memory stays bounded and
 * a long run never stops getting ids. An entry carries its hash, so a torn or stale one is noticed.
 *
 * id: 31..24 generation (low 8 bits, never all zero for a depot id) | 23..0 offset / 8 in its half.
 * Ids below EV_NAME_MAX are rows of names.def instead; 0 is null.
 */
#ifndef HOLTER_REGION_DEPOT_H
#define HOLTER_REGION_DEPOT_H

#include "recorder/region/region.h"

enum rec_depot_kind { REC_DEPOT_STACK = 1, REC_DEPOT_STRING = 2, REC_DEPOT_ADDRESS = 3 };

#define REC_DEPOT_BYTES_MAX 2048u /* of one entry; longer strings are cut */
#define REC_DEPOT_TRUNCATED 1u	  /* flag of a stack that is deeper than recorded */

/* Peer and own address of a connection; the content of a REC_DEPOT_ADDRESS entry. */
struct rec_address {
	uint16_t family;    /* AF_INET, AF_INET6, AF_UNIX, 0 unknown */
	uint16_t peer_port; /* host order */
	uint16_t local_port;
	uint16_t type;	  /* SOCK_STREAM, ... */
	uint8_t peer[16]; /* AF_INET: the first four bytes */
	uint8_t local[16];
	char path[64]; /* AF_UNIX: name, abstract ones begin with '@'; NUL-ended, may be cut */
};

struct rec_depot_entry {
	uint64_t hash;
	uint16_t bytes; /* of the content */
	uint8_t kind;
	uint8_t flags;	     /* REC_DEPOT_TRUNCATED */
	uint32_t generation; /* whole number, not only the id's 8 bits */
	uint64_t content[];
};

/**
 * rec_depot_intern() - the id of some bytes, storing them if they are new.
 * @kind, @flags: part of what makes it equal.
 * @content: any alignment.
 * @bytes: cut at REC_DEPOT_BYTES_MAX.
 *
 * Return: the id; 0 when there is no room (the caller counts REC_LOSS_DEPOT_FULL).
 * Context: any number of threads and processes; lock-free; async-signal-safe; a system call only
 * when pages must be reserved.
 */
uint32_t rec_depot_intern(struct rec_region *region, enum rec_depot_kind kind, uint32_t flags,
			  const void *content, uint32_t bytes);

/**
 * rec_depot_refresh() - keeps an id alive: in the current generation it is returned as it is, from
 * the older one it is copied over, a dropped one gives 0. Return: the id to use from now on, 0 =
 * intern again. Context: as rec_depot_intern(); a load and a compare in the usual case.
 */
uint32_t rec_depot_refresh(struct rec_region *region, uint32_t id);

/* True while an id of this depot belongs to its current generation: the check of a cached id. */
static inline int rec_depot_is_current(const struct rec_region *region, uint32_t id)
{
	return (id >> 24) ==
	       (__atomic_load_n(&region->header->depot.generation, __ATOMIC_RELAXED) & 0xff);
}

/**
 * rec_depot_read() - a verified copy of an entry.
 * @kind: what it must be.
 * @buffer: out, REC_DEPOT_BYTES_MAX bytes; @flags: out, may be NULL.
 *
 * Return: bytes; HOLTER_E_CORRUPT when the id is stale, torn or of another kind.
 * Context: any process that maps the region, read-only suffices.
 */
int rec_depot_read(const struct rec_region *region, uint32_t id, enum rec_depot_kind kind,
		   void *buffer, uint32_t *flags);

#endif
