/*
 * Copies of the process and module tables, arranged for look-ups.
 *
 * In: tables that nobody vouches for. Out: sorted copies. Every walk is bounded, whatever stands in
 * them.
 */
#include "recorder/dump/module_list.h"

#define WALK_MAX 256u	 /* modules that may have used one address in turn */
#define ANCESTORS_MAX 8u /* parents asked for the space before an exec */
#define SEARCHES_MAX 20000u
#define EPOCH_BITS 13 /* REC_MODULE_MAX unloads and one */
_Static_assert(REC_MODULE_MAX < 1u << EPOCH_BITS, "an epoch must fit");

/* What a module is sorted by, and where it is. */
struct module_order {
	uint64_t base, load_ticks;
	uint32_t space, index;
};

static int module_before(const void *a, const void *b)
{
	const struct module_order *x = a, *y = b;

	if (x->space != y->space)
		return x->space < y->space ? -1 : 1;
	if (x->base != y->base)
		return x->base < y->base ? -1 : 1;
	return x->load_ticks < y->load_ticks ? -1 : x->load_ticks > y->load_ticks;
}

static int ticks_before(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int copy_processes(struct rec_module_list *list, const struct rec_region *region)
{
	uint32_t count = __atomic_load_n(&region->header->process_count, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < count && i < REC_PROCESS_MAX; i++) {
		const struct rec_process *process = rec_process_at(region, i);

		if (!process)
			break;
		if (!rec_vec_put(&list->processes, process, sizeof(*process)))
			return HOLTER_E_NOMEM;
		list->process_count++;
	}
	return 0;
}

/* Copies all modules that can be, and lists them in `order`. */
static int copy_unsorted(const struct rec_region *region, struct rec_vec *copies,
			 struct rec_vec *order)
{
	uint32_t count = __atomic_load_n(&region->header->module_count, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < count && i < REC_MODULE_MAX; i++) {
		const struct rec_module *module = rec_module_at(region, i);
		struct module_order row = { .index = (uint32_t)(copies->used / sizeof(*module)) };
		struct rec_module copy;

		if (!module)
			break;
		copy = *module;
		if (copy.base == 0 || copy.top <= copy.base)
			continue;
		row.base = copy.base;
		row.load_ticks = copy.load_ticks;
		row.space = copy.space;
		if (!rec_vec_put(copies, &copy, sizeof(copy)) ||
		    !rec_vec_put(order, &row, sizeof(row)))
			return HOLTER_E_NOMEM;
	}
	return 0;
}

/* Copies in order of address; the order is sorted apart, since a module is more than 64 bytes. */
static int copy_modules(struct rec_module_list *list, const struct rec_region *region)
{
	struct rec_vec copies = { NULL, 0, 0 }, order = { NULL, 0, 0 };
	int code = copy_unsorted(region, &copies, &order);
	uint32_t count = (uint32_t)(order.used / sizeof(struct module_order));

	if (count > 0)
		rec_sort(order.data, count, sizeof(struct module_order), module_before);
	for (uint32_t i = 0; code == 0 && i < count; i++) {
		const struct module_order *row = (const struct module_order *)order.data + i;

		if (!rec_vec_put(&list->modules, (struct rec_module *)copies.data + row->index,
				 sizeof(struct rec_module)))
			code = HOLTER_E_NOMEM;
		list->module_count = i + 1;
	}
	rec_vec_free(&copies);
	rec_vec_free(&order);
	return code;
}

static int list_spaces(struct rec_module_list *list)
{
	const struct rec_module *modules = (const struct rec_module *)list->modules.data;

	for (uint32_t i = 0, end; i < list->module_count; i = end) {
		struct rec_space space = { .space = modules[i].space, .first = i };
		uint64_t gone = list->gone.used / sizeof(uint64_t);

		bool has_ended = true;

		space.from_ticks = modules[i].load_ticks;
		space.gone_first = (uint32_t)gone;
		for (end = i; end < list->module_count && modules[end].space == space.space;
		     end++) {
			space.from_ticks = min_u64(space.from_ticks, modules[end].load_ticks);
			space.until_ticks = max_u64(space.until_ticks, modules[end].unload_ticks);
			has_ended &= modules[end].unload_ticks != 0;
			if (modules[end].unload_ticks &&
			    !rec_vec_put(&list->gone, &modules[end].unload_ticks, sizeof(uint64_t)))
				return HOLTER_E_NOMEM;
		}
		space.until_ticks = has_ended ? space.until_ticks : UINT64_MAX;
		space.last = end;
		space.gone_last = (uint32_t)(list->gone.used / sizeof(uint64_t));
		/* Where nothing was unloaded so far there is no memory to point into. */
		if (space.gone_last > gone)
			rec_sort((uint64_t *)list->gone.data + gone, space.gone_last - gone,
				 sizeof(uint64_t), ticks_before);
		if (!rec_vec_put(&list->spaces, &space, sizeof(space)))
			return HOLTER_E_NOMEM;
		list->space_count++;
	}
	return 0;
}

int rec_module_list_build(struct rec_module_list *list, const struct rec_region *region)
{
	int code = copy_processes(list, region);

	if (code == 0)
		code = copy_modules(list, region);
	return code ? code : list_spaces(list);
}

uint32_t rec_module_list_process(const struct rec_module_list *list, uint32_t index, uint32_t pid)
{
	if (index < list->process_count && rec_module_list_at(list, index)->pid == pid)
		return index;
	for (uint32_t i = list->process_count; pid && i-- > 0;)
		if (rec_module_list_at(list, i)->pid == pid)
			return i;
	return REC_NONE;
}

/* Number of a space among list->spaces; REC_NONE when it has no modules. */
static uint32_t space_number(const struct rec_module_list *list, uint32_t space)
{
	const struct rec_space *spaces = (const struct rec_space *)list->spaces.data;
	uint32_t low = 0, high = list->space_count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (spaces[middle].space < space)
			low = middle + 1;
		else
			high = middle;
	}
	return low < list->space_count && spaces[low].space == space ? low : REC_NONE;
}

/*
 * An earlier image of the same process that had begun by then; REC_NONE when there is none.
 * @is_sure: only one that is known to have ended later.
 */
static uint32_t earlier_image(const struct rec_module_list *list, const struct rec_process *process,
			      uint64_t ticks, bool is_sure)
{
	const struct rec_space *spaces = (const struct rec_space *)list->spaces.data;
	const struct rec_module *modules = (const struct rec_module *)list->modules.data;

	for (uint32_t i = list->space_count; i-- > 0;)
		if (spaces[i].space < process->space && spaces[i].from_ticks <= ticks &&
		    modules[spaces[i].first].pid == process->pid &&
		    (!is_sure ||
		     (spaces[i].until_ticks > ticks && spaces[i].until_ticks != UINT64_MAX)))
			return i;
	return REC_NONE;
}

/*
 * The space a process had at some time: its own, that of an earlier image, that of its parent.
 * `is_settled`: it is its own, which stays so.
 */
static uint32_t space_at(const struct rec_module_list *list, uint32_t index, uint64_t ticks,
			 bool *is_settled)
{
	const struct rec_space *spaces = (const struct rec_space *)list->spaces.data;
	uint32_t own = REC_NONE;

	for (uint32_t i = 0; i < ANCESTORS_MAX && index < list->process_count; i++) {
		const struct rec_process *process = rec_module_list_at(list, index);
		uint32_t number = space_number(list, process->space);

		uint32_t earlier = earlier_image(list, process, ticks, true);

		if (i == 0)
			own = number;
		if (earlier != REC_NONE)
			return earlier;
		if (number != REC_NONE && spaces[number].from_ticks <= ticks) {
			*is_settled = i == 0;
			return number;
		}
		number = earlier_image(list, process, ticks, false);
		if (number != REC_NONE)
			return number;
		index = rec_module_list_process(list, REC_NONE, process->ppid);
	}
	return own;
}

/* The next time after `ticks` at which any image began or ended. */
static uint64_t next_change(const struct rec_module_list *list, uint64_t ticks)
{
	const struct rec_space *spaces = (const struct rec_space *)list->spaces.data;
	uint64_t next = UINT64_MAX;

	for (uint32_t i = 0; i < list->space_count; i++) {
		if (spaces[i].from_ticks > ticks)
			next = min_u64(next, spaces[i].from_ticks);
		if (spaces[i].until_ticks > ticks)
			next = min_u64(next, spaces[i].until_ticks);
	}
	return next;
}

uint32_t rec_module_list_context(struct rec_module_list *list, uint32_t process, uint64_t ticks,
				 uint64_t *until)
{
	bool is_settled = false;
	uint32_t number = space_at(list, process, ticks, &is_settled);
	const uint64_t *gone = (const uint64_t *)list->gone.data;
	const struct rec_space *space;
	uint32_t low, high;

	*until = UINT64_MAX;
	/* A damaged region could make this search dear: after so many it is not repeated. */
	if (!is_settled && list->searches++ < SEARCHES_MAX)
		*until = next_change(list, ticks);
	if (number == REC_NONE)
		return REC_NONE;
	space = (const struct rec_space *)list->spaces.data + number;
	low = space->gone_first;
	high = space->gone_last;
	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (gone[middle] <= ticks)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < space->gone_last)
		*until = min_u64(*until, gone[low]);
	return number << EPOCH_BITS | (low - space->gone_first);
}

static bool is_loaded(const struct rec_module *module, uint64_t ticks)
{
	return module->load_ticks <= ticks &&
	       (!module->unload_ticks || ticks < module->unload_ticks);
}

uint32_t rec_module_list_find(const struct rec_module_list *list, uint32_t context, uint64_t ticks,
			      uint64_t address)
{
	const struct rec_module *modules = (const struct rec_module *)list->modules.data;
	const struct rec_space *space;
	uint32_t low, high, other = REC_NO_MODULE;

	if (context == REC_NONE || context >> EPOCH_BITS >= list->space_count)
		return REC_NO_MODULE;
	space = (const struct rec_space *)list->spaces.data + (context >> EPOCH_BITS);
	low = space->first;
	high = space->last;
	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (modules[middle].base <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (uint32_t i = 0; i < WALK_MAX && low > space->first; i++) {
		const struct rec_module *module = &modules[--low];

		if (address >= module->top)
			continue;
		if (is_loaded(module, ticks))
			return low;
		/* Constructors run before dlopen's hook has entered the library. */
		if (other == REC_NO_MODULE || module->load_ticks > ticks)
			other = low;
	}
	return other;
}

void rec_module_list_free(struct rec_module_list *list)
{
	rec_vec_free(&list->processes);
	rec_vec_free(&list->modules);
	rec_vec_free(&list->spaces);
	rec_vec_free(&list->gone);
}
