/*
 * Checkpoint events: the constants of a chunk, found by type and key.
 */
#ifndef HOLTER_READER_POOL_READ_H
#define HOLTER_READER_POOL_READ_H

#include "reader/model.h"

/*
 * Reads all checkpoints of the chunk into the pools of its types. Damage becomes a problem and
 * costs the checkpoint it is in. Returns 0 or HOLTER_E_NOMEM.
 */
int rdr_pools_read(struct holter_reader *reader);

/* The constant of `type` with this key; NULL when there is none: the reference is null. */
static inline struct rdr_constant *rdr_pool_find(const struct holter_type *type, uint64_t key)
{
	return (struct rdr_constant *)(uintptr_t)rdr_index_find(&type->pool.index, key);
}

#endif
