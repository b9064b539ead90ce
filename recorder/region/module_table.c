/*
 * Loaded objects (tables.h): which file lay where in which address space, from when to when.
 *
 * In: modules from preload's look at the link map. Out: entries from which a dump turns addresses
 * into file and offset. Two libraries may use one address in turn, so an unloaded one stays until
 * the table is full.
 */
#include "recorder/region/claim.h"

#define REUSE_LOOKS 512u /* entries looked at before the table counts as full */

static struct claim_table module_table(const struct rec_region *region)
{
	struct rec_header *header = region->header;

	return (struct claim_table){ .section = region->layout.modules,
				     .ready = &header->modules_ready,
				     .count = &header->module_count,
				     .hand = &header->module_hand,
				     .max = REC_MODULE_MAX,
				     .bytes = sizeof(struct rec_module) };
}

static struct rec_module *module_at(const struct rec_region *region, uint32_t index)
{
	struct claim_table table = module_table(region);

	return claim_at(region, &table, index);
}

const struct rec_module *rec_module_at(const struct rec_region *region, uint32_t index)
{
	return module_at(region, index);
}

static bool module_is_live(const struct rec_module *module, uint32_t space)
{
	return __atomic_load_n(&module->base, __ATOMIC_ACQUIRE) != 0 &&
	       __atomic_load_n(&module->space, __ATOMIC_RELAXED) == space &&
	       __atomic_load_n(&module->unload_ticks, __ATOMIC_RELAXED) == 0;
}

static uint32_t module_find(const struct rec_region *region, const struct rec_module *wanted)
{
	const struct rec_module *module;

	for (uint32_t i = 0; (module = rec_module_at(region, i)) != NULL; i++)
		if (module_is_live(module, wanted->space) && module->base == wanted->base &&
		    module->path == wanted->path)
			return i;
	return REC_NONE;
}

static bool space_is_live(const struct rec_region *region, uint32_t space)
{
	const struct rec_process *process;

	for (uint32_t i = 0; (process = rec_process_at(region, i)) != NULL; i++)
		if (__atomic_load_n(&process->pid, __ATOMIC_ACQUIRE) != 0 &&
		    __atomic_load_n(&process->space, __ATOMIC_RELAXED) == space &&
		    __atomic_load_n(&process->end_ticks, __ATOMIC_RELAXED) == 0)
			return true;
	return false;
}

static uint32_t entry_reuse(struct rec_region *region, const struct claim_table *table)
{
	for (uint32_t i = 0; i < REUSE_LOOKS; i++) {
		uint32_t index = claim_hand(table);
		struct rec_module *module = module_at(region, index);
		uint64_t base = module ? __atomic_load_n(&module->base, __ATOMIC_ACQUIRE) : 0;

		if (base == 0 ||
		    (__atomic_load_n(&module->unload_ticks, __ATOMIC_RELAXED) == 0 &&
		     space_is_live(region, __atomic_load_n(&module->space, __ATOMIC_RELAXED))))
			continue;
		if (__atomic_compare_exchange_n(&module->base, &base, 0, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			return index;
	}
	return REC_NONE;
}

uint32_t rec_module_add(struct rec_region *region, const struct rec_module *module)
{
	struct claim_table table = module_table(region);
	struct rec_module *entry;
	uint32_t index;

	if (module->base == 0)
		return REC_NONE;
	index = module_find(region, module);
	if (index != REC_NONE)
		return index;
	index = claim_fresh(region, &table);
	if (index == REC_NONE)
		index = entry_reuse(region, &table);
	entry = module_at(region, index);
	if (!entry)
		return REC_NONE;
	entry->top = module->top;
	entry->bias = module->bias;
	entry->load_ticks = module->load_ticks;
	__atomic_store_n(&entry->unload_ticks, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->space, module->space, __ATOMIC_RELAXED);
	entry->pid = module->pid;
	entry->path = module->path;
	entry->build_id_bytes = (uint8_t)min_u64(module->build_id_bytes, sizeof(entry->build_id));
	memcpy(entry->build_id, module->build_id, sizeof(entry->build_id));
	/* Last: a reader that sees the base sees the rest. */
	__atomic_store_n(&entry->base, module->base, __ATOMIC_RELEASE);
	return index;
}

void rec_module_unload(struct rec_region *region, uint32_t space, uint64_t base, uint64_t now)
{
	struct rec_module *module;

	for (uint32_t i = 0; (module = module_at(region, i)) != NULL; i++)
		if (module_is_live(module, space) &&
		    (base == 0 || __atomic_load_n(&module->base, __ATOMIC_RELAXED) == base))
			__atomic_store_n(&module->unload_ticks, now != 0 ? now : 1,
					 __ATOMIC_RELEASE);
}
