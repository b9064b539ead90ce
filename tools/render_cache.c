/*
 * Remembers constants as they were rendered: most of a recording's text is the same few stacks,
 * threads and classes again and again (render.h).
 *
 * In: what a renderer wrote. Out: the same bytes again. Bounded: when it is full it begins anew.
 */
#include <stdlib.h>

#include "tools/cmd.h"
#include "tools/render.h"

#define SLOTS 32768u /* a power of two */

struct cli_cache_entry {
	const struct holter_type *type; /* NULL = empty */
	uint64_t key;
	uint32_t indent;
	uint32_t length;
	size_t offset;
};

static size_t slot_of(const struct holter_value *value, uint32_t indent)
{
	uint64_t hash = (value->key + holter_type_index(value->type) * 0x9e3779b97f4a7c15u) ^
			(uint64_t)indent << 32;

	hash *= 0xd6e8feb86659fd93u;
	return (size_t)(hash >> 32) & (SLOTS - 1);
}

static struct cli_cache_entry *find(const struct cli_render *render,
				    const struct holter_value *value)
{
	const struct cli_cache *cache = &render->cache;
	size_t slot = slot_of(value, render->indent);

	for (;; slot = (slot + 1) & (SLOTS - 1)) {
		struct cli_cache_entry *entry = &cache->slots[slot];

		if (!entry->type || (entry->type == value->type && entry->key == value->key &&
				     entry->indent == render->indent))
			return entry;
	}
}

bool cli_cache_find(struct cli_render *render, const struct holter_value *value)
{
	const struct cli_cache_entry *entry = find(render, value);

	if (!entry->type)
		return false;
	cli_out_bytes(render->out, render->cache.bytes + entry->offset, entry->length);
	return true;
}

static void empty(struct cli_cache *cache)
{
	memset(cache->slots, 0, SLOTS * sizeof(*cache->slots));
	cache->used = 0;
	cache->byte_count = 0;
}

void cli_cache_keep(struct cli_render *render, const struct holter_value *value, size_t from)
{
	struct cli_cache *cache = &render->cache;
	size_t length = render->out->used - from;
	struct cli_cache_entry *entry;

	if (length > CLI_CACHE_BYTES / 8)
		return;
	if (cache->used >= SLOTS / 2 || cache->byte_count + length > CLI_CACHE_BYTES)
		empty(cache);
	if (cache->byte_count + length > cache->byte_size) {
		cache->byte_size = max_u64(2 * cache->byte_size, CLI_CACHE_BYTES / 32);
		cache->byte_size = max_u64(cache->byte_size, cache->byte_count + length);
		cache->bytes = cli_realloc(cache->bytes, cache->byte_size);
	}
	entry = find(render, value);
	*entry = (struct cli_cache_entry){ .type = value->type,
					   .key = value->key,
					   .indent = render->indent,
					   .length = (uint32_t)length,
					   .offset = cache->byte_count };
	memcpy(cache->bytes + cache->byte_count, render->out->data + from, length);
	cache->byte_count += length;
	cache->used++;
}

void cli_render_init(struct cli_render *render, struct cli_out *out, uint32_t stack_depth)
{
	*render = (struct cli_render){ .out = out, .stack_depth = stack_depth, .is_first = true };
	render->cache.slots = cli_alloc(SLOTS * sizeof(*render->cache.slots));
	empty(&render->cache);
}

void cli_render_enter(struct cli_render *render, struct holter_reader *reader)
{
	cli_views_enter(&render->views, reader);
	if (render->cache.used)
		empty(&render->cache);
}

void cli_render_fini(struct cli_render *render)
{
	cli_views_fini(&render->views);
	free(render->cache.slots);
	free(render->cache.bytes);
}
