/*
 * Enters loaded objects into the region (modules.h).
 */
#include "preload/modules.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include "preload/executable.h"
#include "preload/scratch.h"
#include "recorder/base/text.h"
#include "recorder/capture/cfi.h"
#include "recorder/capture/thread.h"
#include "recorder/sys/raw.h"

#pragma weak _dl_find_object /* glibc 2.35 */

#define MET_MAX 1024u

/*
 * Mutable globals. What the last scan saw, written under the dynamic linker's list lock: objects
 * are appended to its list, so as long as none was removed the first ones are known.
 */
static uint64_t scanned_adds, scanned_subs;
static size_t scanned_objects;
/* Objects already entered, by a hash of their base; an entry may be overwritten by another object.
 */
static uint64_t met[MET_MAX];

static uint64_t *met_slot(uint64_t base)
{
	return &met[(base >> 12 ^ base >> 22) % MET_MAX];
}

/* The GNU build-id among the notes of [from, from + bytes). */
static void find_build_id(struct rec_module *module, uint64_t from, uint64_t bytes)
{
	uint64_t at = from;
	uint64_t end = from + bytes;

	while (at < end && end - at >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
		uint64_t name = at + sizeof(*note);
		uint64_t text = name + align_up(note->n_namesz, 4);
		uint64_t next = text + align_up(note->n_descsz, 4);

		if (next > end || next <= at)
			return;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
		    memcmp((const void *)name, "GNU", 4) == 0) {
			module->build_id_bytes = (uint8_t)min_u64(note->n_descsz, 20);
			memcpy(module->build_id, (const void *)text, module->build_id_bytes);
			return;
		}
		at = next;
	}
}

/* Extent and build-id from the program headers. */
static void read_headers(struct rec_module *module, const ElfW(Phdr) * headers, size_t count)
{
	uint64_t low = UINT64_MAX, high = 0;

	for (size_t i = 0; i < count; i++) {
		if (headers[i].p_type != PT_LOAD)
			continue;
		low = min_u64(low, align_down(headers[i].p_vaddr, PAGE_BYTES));
		high = max_u64(high, headers[i].p_vaddr + headers[i].p_memsz);
	}
	if (low >= high)
		return;
	module->base = module->bias + low;
	module->top = module->bias + high;
	/* A note outside of what is loaded is not there to be read. */
	for (size_t i = 0; i < count && module->build_id_bytes == 0; i++)
		if (headers[i].p_type == PT_NOTE && headers[i].p_vaddr >= low &&
		    headers[i].p_vaddr + headers[i].p_filesz <= high)
			find_build_id(module, module->bias + headers[i].p_vaddr,
				      headers[i].p_filesz);
}

/* The object's absolute path; the dynamic linker keeps it as it was asked for. */
static uint32_t path_of(const struct rec_module *module, const char *name)
{
	struct pre_scratch *scratch = pre_scratch_take();
	long length;
	uint32_t id;

	if (!scratch)
		return 0;
	if (module->base == getauxval(AT_SYSINFO_EHDR)) {
		length = text_copy(scratch->text, scratch->text + 16, "[vdso]") - scratch->text;
	} else if (!name || !*name) {
		length = (long)pre_executable(scratch->text, sizeof(scratch->text));
	} else {
		length = 0;
		if (*name != '/' && strchr(name, '/'))
			length = raw_syscall3(SYS_getcwd, (long)scratch->text,
					      sizeof(scratch->text) - 1, 0);
		if (length > 0)
			scratch->text[length - 1] = '/';
		length = text_copy(scratch->text + (length > 0 ? length : 0),
				   scratch->text + sizeof(scratch->text), name) -
			 scratch->text;
	}
	id = length > 0 ? rec_names_add(&rec_family, scratch->text, (uint32_t)length) : 0;
	pre_scratch_give(scratch);
	return id;
}

static void enter(uint64_t bias, const ElfW(Phdr) * headers, size_t count, const char *name)
{
	struct rec_module module = { .bias = bias };

	read_headers(&module, headers, count);
	if (module.base == 0 || *met_slot(module.base) == module.base)
		return;
	module.load_ticks = rec_clock_now();
	module.space = rec_process_own()->space;
	module.pid = rec_process_own()->pid;
	module.path = path_of(&module, name);
	if (rec_module_add(&rec_family, &module) == REC_NONE)
		__atomic_fetch_add(&rec_family.header->loss[REC_LOSS_NO_MODULE], 1,
				   __ATOMIC_RELAXED);
	__atomic_store_n(met_slot(module.base), module.base, __ATOMIC_RELAXED);
}

/* Runs under the dynamic linker's list lock, one thread at a time. */
static int visit(struct dl_phdr_info *info, size_t size, void *position)
{
	size_t index = (*(size_t *)position)++;

	if (index == 0 && size >= offsetof(struct dl_phdr_info, dlpi_tls_modid)) {
		if (scanned_objects && info->dlpi_adds == scanned_adds &&
		    info->dlpi_subs == scanned_subs)
			return 1;
		if (info->dlpi_subs != scanned_subs)
			scanned_objects = 0;
		scanned_adds = info->dlpi_adds;
		scanned_subs = info->dlpi_subs;
	}
	if (index < scanned_objects)
		return 0;
	enter(info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum, info->dlpi_name);
	scanned_objects = index + 1;
	return 0;
}

/* Has this process a place in the region? */
static bool is_recorded(void)
{
	const struct rec_own *own = rec_process_own();

	return rec_family.base && rec_thread_self() != &rec_thread_mute &&
	       (own->pid != 0 || rec_process_forked() != REC_NONE) && !own->silent;
}

void pre_modules_scan(void)
{
	size_t position = 0;

	if (!is_recorded())
		return;
	rec_cfi_object_met = pre_module_learn;
	dl_iterate_phdr(visit, &position);
}

struct search {
	uint64_t base;
	bool is_found;
};

static int visit_search(struct dl_phdr_info *info, size_t size, void *wanted)
{
	struct search *search = wanted;
	struct rec_module module = { .bias = info->dlpi_addr };

	(void)size;
	read_headers(&module, info->dlpi_phdr, info->dlpi_phnum);
	search->is_found = module.base == search->base;
	return search->is_found;
}

static bool is_loaded(uint64_t base)
{
	struct search search = { .base = base, .is_found = false };
	struct dl_find_object object;

	/* The vdso's map begins elsewhere in some versions; it never goes. */
	if (base == getauxval(AT_SYSINFO_EHDR))
		return true;
	if (_dl_find_object)
		return _dl_find_object((void *)base, &object) == 0 &&
		       (uint64_t)object.dlfo_map_start == base;
	dl_iterate_phdr(visit_search, &search);
	return search.is_found;
}

static int visit_subs(struct dl_phdr_info *info, size_t size, void *is_changed)
{
	*(bool *)is_changed = size < offsetof(struct dl_phdr_info, dlpi_tls_modid) ||
			      info->dlpi_subs != scanned_subs;
	return 1;
}

bool pre_modules_sweep(void)
{
	const struct rec_own *own = rec_process_own();
	const struct rec_module *module;
	bool is_changed = false;
	uint64_t now = rec_clock_now();

	if (!is_recorded())
		return false;
	dl_iterate_phdr(visit_subs, &is_changed);
	if (!is_changed)
		return false;
	for (size_t i = 0; i < MET_MAX; i++)
		if (met[i] != 0 && !is_loaded(met[i]))
			__atomic_store_n(&met[i], 0, __ATOMIC_RELAXED);
	for (uint32_t i = 0; (module = rec_module_at(&rec_family, i)) != NULL; i++) {
		uint64_t base = __atomic_load_n(&module->base, __ATOMIC_ACQUIRE);

		/*
		 * A forked child may close what its parent keeps: the space is one, so only who
		 * entered an object says that it went.
		 */
		if (base != 0 && module->space == own->space && module->pid == own->pid &&
		    __atomic_load_n(&module->unload_ticks, __ATOMIC_RELAXED) == 0 &&
		    !is_loaded(base))
			rec_module_unload(&rec_family, own->space, base, now);
	}
	pre_modules_scan();
	return true;
}

/* Apart: the result is big, and most calls end before. */
static __attribute__((noinline)) void learn(const void *pc)
{
	struct dl_find_object object;

	if (!is_recorded() || _dl_find_object((void *)(uintptr_t)pc, &object) != 0 ||
	    !object.dlfo_link_map)
		return;
	const ElfW(Ehdr) *head = object.dlfo_map_start;

	if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
	    head->e_phentsize != sizeof(ElfW(Phdr)) ||
	    head->e_phoff + head->e_phnum * sizeof(ElfW(Phdr)) > PAGE_BYTES)
		return;
	enter(object.dlfo_link_map->l_addr,
	      (const ElfW(Phdr) *)((const uint8_t *)head + head->e_phoff), head->e_phnum,
	      object.dlfo_link_map->l_name);
}

void pre_module_learn(const void *pc)
{
	uint64_t base = (uint64_t)(uintptr_t)pc;

	if (_dl_find_object && __atomic_load_n(met_slot(base), __ATOMIC_RELAXED) != base)
		learn(pc);
}

uint32_t pre_module_path(const void *handle)
{
	const struct rec_module *module;
	struct dl_find_object object;
	uint32_t space = rec_process_own()->space;

	if (!handle || !_dl_find_object || !is_recorded())
		return 0;
	for (uint32_t i = 0; (module = rec_module_at(&rec_family, i)) != NULL; i++) {
		uint64_t base = __atomic_load_n(&module->base, __ATOMIC_ACQUIRE);

		if (base != 0 && module->space == space && module->unload_ticks == 0 &&
		    _dl_find_object((void *)base, &object) == 0 && object.dlfo_link_map == handle)
			return module->path;
	}
	return 0;
}
