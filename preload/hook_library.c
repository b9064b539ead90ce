/*
 * Hooks of loading and unloading libraries.
 *
 * In: the program's calls. Out: the real results, LibraryLoad, the module table kept up to date,
 * the walker told. dlopen looks at its caller's address (RUNPATH, $ORIGIN, namespaces), so where
 * that can matter the hook jumps to the real one and leaves no trace: no event then, and the
 * library is entered when the walker first meets it (modules.h). Never here: a call of dlerror,
 * whose text is the program's.
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>

#include "preload/call_failed.h"
#include "preload/hook_throw.h"
#include "preload/modules.h"
#include "preload/scratch.h"
#include "recorder/capture/cfi.h"
#include "recorder/sys/raw.h"

static int visit_main(struct dl_phdr_info *info, size_t size, void *result)
{
	uint64_t *range = result;

	(void)size;
	range[2] = 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t from = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X) {
			range[0] = from;
			range[1] = from + segment->p_memsz;
		}
		if (segment->p_type == PT_DYNAMIC)
			for (const ElfW(Dyn) *d = (const ElfW(Dyn) *)from; d->d_tag != DT_NULL; d++)
				range[2] |= d->d_tag == DT_RUNPATH;
	}
	return 1; /* the first object is the program */
}

/* Does the caller lie in a program without RUNPATH? Then what dlopen searches is the same for us.
 */
static __attribute__((noinline)) bool is_plain_program(const void *caller)
{
	/* Text of the program and whether it has a RUNPATH: found once, the same for every thread.
	 */
	static uint64_t program[3];
	uint64_t range[3] = { 0, 0, 1 };

	if (__atomic_load_n(&program[1], __ATOMIC_ACQUIRE) == 0) {
		dl_iterate_phdr(visit_main, range);
		program[0] = range[0];
		program[2] = range[2];
		__atomic_store_n(&program[1], range[1], __ATOMIC_RELEASE);
	}
	return program[2] == 0 && (uint64_t)caller >= program[0] && (uint64_t)caller < program[1];
}

/* True where the real dlopen does the same when it is called from here. */
static bool is_open_to_all(const char *path, const void *caller)
{
	if (!rec_family.base || pre_is_mute())
		return false;
	if (!path || !*path)
		return true; /* the program itself */
	if (strchr(path, '/'))
		return !strchr(path, '$');
	return is_plain_program(caller);
}

/* dlerror's text is the program's to read: an own, coarser one. */
static uint32_t error_id(struct rec_thread *thread, const char *path)
{
	const char *text = "could not be loaded";

	if (strchr(path, '/') && raw_syscall3(SYS_faccessat, AT_FDCWD, (long)path, 0) != 0)
		text = "no such file";
	return rec_string(thread, text, strlen(text));
}

static void emit_load(uint64_t start, enum ev_name call, const char *path, uint32_t module_path,
		      bool is_done)
{
	uint64_t end = rec_clock_now();
	struct pre_scratch *scratch;
	struct rec_thread *thread;
	int length;

	if (!pre_gate_any(PRE_GATE(LIBRARY)) || !rec_wanted(EV_LibraryLoad, end - start))
		return;
	thread = pre_thread();
	if (thread == &rec_thread_mute || !rec_sampled(thread, EV_LibraryLoad))
		return;
	struct ev_LibraryLoad event = {
		.stack = rec_stack(thread, EV_LibraryLoad),
		.call = call,
		.process = rec_process_own()->pid,
	};

	if (path) {
		event.path = rec_string(thread, path, strnlen(path, REC_DEPOT_BYTES_MAX));
		event.error = is_done ? 0 : error_id(thread, path);
	}
	scratch = module_path ? pre_scratch_take() : NULL;
	if (scratch) {
		length = rec_names_read(&rec_family, module_path, scratch->text,
					sizeof(scratch->text));
		if (length > 0)
			event.path = rec_string(thread, scratch->text, strlen(scratch->text));
		pre_scratch_give(scratch);
	}
	rec_emit_LibraryLoad(thread, start, end, &event);
}

/* What must follow a dlopen of any kind: new objects become known. */
static void note_opened(void *handle)
{
	if (!handle)
		return;
	pre_modules_scan();
	rec_cfi_refresh();
}

PRE_SLOW void *slow_dlopen(const char *path, int mode)
{
	uint64_t start = rec_clock_now();
	void *handle = pre_real.dlopen(path, mode);

	note_opened(handle);
	emit_load(start, EV_NAME_dlopen, path, 0, handle != NULL);
	return handle;
}

PRE_HOOK void *dlopen(const char *path, int mode)
{
	/* A jump, not a call: the real one must find our caller's address. */
	if (!is_open_to_all(path, __builtin_return_address(0)))
		return pre_real.dlopen(path, mode);
	return slow_dlopen(path, mode);
}

/* A namespace of its own: its objects are not in our list, but linked to each other. */
static void note_namespace(void *handle)
{
	struct link_map *map = handle;

	while (map && map->l_prev)
		map = map->l_prev;
	for (; map; map = map->l_next) {
		struct dl_find_object object;

		if (_dl_find_object(map->l_ld, &object) == 0)
			pre_module_learn(object.dlfo_map_start);
	}
}

PRE_SLOW void *slow_dlmopen(Lmid_t space, const char *path, int mode)
{
	uint64_t start = rec_clock_now();
	void *handle = pre_real.dlmopen(space, path, mode);

	note_opened(handle);
	note_namespace(handle);
	emit_load(start, EV_NAME_dlmopen, path, 0, handle != NULL);
	return handle;
}

PRE_HOOK void *dlmopen(Lmid_t space, const char *path, int mode)
{
	if (!is_open_to_all(path, __builtin_return_address(0)))
		return pre_real.dlmopen(space, path, mode);
	return slow_dlmopen(space, path, mode);
}

PRE_SLOW int slow_dlclose(void *handle)
{
	uint32_t path = rec_enabled(EV_LibraryLoad) ? pre_module_path(handle) : 0;
	uint64_t start = rec_clock_now();
	int result = pre_real.dlclose(handle);

	/* Whether the last reference went, and what went with it, only the list tells. */
	if (pre_modules_sweep()) {
		rec_cfi_refresh();
		rec_cfi_invalidate();
		pre_throw_forget();
	}
	emit_load(start, EV_NAME_dlclose, NULL, path, result == 0);
	return result;
}

PRE_HOOK int dlclose(void *handle)
{
	if (!rec_family.base || pre_is_mute())
		return pre_real.dlclose(handle);
	return slow_dlclose(handle);
}
