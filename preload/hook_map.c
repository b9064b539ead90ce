/*
 * Hooks of mmap, munmap and mremap.
 *
 * In: calls of the program (those inside libc do not come here). Out: MemoryMap events. Never here:
 * mappings of our own, which are made by raw system calls.
 */
#include <errno.h>

#include "preload/call_failed.h"
#include "preload/real.h"
#include "recorder/capture/capture.h"

/* libc declares them variadic; the arguments lie in the same registers. */
PRE_HOOK void *pre_mremap(void *at, size_t old_size, size_t new_size, int flags,
			  void *to) __asm__("mremap");

struct map_call {
	uint64_t start;
	enum ev_name name;
	uint64_t address, size; /* asked for; the address is replaced by the result */
	uint32_t protection, flags, descriptor;
};

static inline bool is_off(void)
{
	return !(rec_gate(EV_GATE_MEMORY) && rec_enabled(EV_MemoryMap)) && !rec_gate(EV_GATE_ERROR);
}

/* The call is over; `failed` is the errno, 0 = it succeeded. */
static void map_done(const struct map_call *call, int failed)
{
	uint64_t end = rec_clock_now();
	struct rec_thread *thread = rec_thread_self();

	if (thread->tid == 0)
		thread = rec_thread_attach();
	if (thread == &rec_thread_mute)
		return;
	if (failed && rec_gate(EV_GATE_ERROR))
		pre_call_failed(thread, call->name, failed, (int)call->descriptor);
	if (failed || !rec_gate(EV_GATE_MEMORY) || !rec_enabled(EV_MemoryMap) ||
	    !rec_wanted(EV_MemoryMap, end - call->start) || !rec_sampled(thread, EV_MemoryMap))
		return;
	struct ev_MemoryMap event = {
		.stack = rec_stack(thread, EV_MemoryMap),
		.call = call->name,
		.protection = call->protection,
		.address = call->address,
		.size = call->size,
		.flags = call->flags,
		.descriptor = call->descriptor,
	};

	rec_emit_MemoryMap(thread, call->start, end, &event);
}

static __attribute__((noinline)) void *mmap_kept(void *at, size_t size, int prot, int flags, int fd,
						 off_t offset)
{
	struct map_call call = {
		.start = rec_clock_now(),
		.name = EV_NAME_mmap,
		.size = size,
		.protection = (uint32_t)prot,
		.flags = (uint32_t)flags,
		.descriptor = (uint32_t)((flags & MAP_ANONYMOUS) ? -1 : fd),
	};
	void *result = pre_real.mmap(at, size, prot, flags, fd, offset);

	call.address = (uintptr_t)result;
	map_done(&call, result == MAP_FAILED ? errno : 0);
	return result;
}

PRE_HOOK void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	if (likely(is_off()))
		return pre_real.mmap(at, size, prot, flags, fd, offset);
	return mmap_kept(at, size, prot, flags, fd, offset);
}

PRE_HOOK void *mmap64(void *at, size_t size, int prot, int flags, int fd, off64_t offset)
{
	if (likely(is_off()))
		return pre_real.mmap64(at, size, prot, flags, fd, offset);
	return mmap_kept(at, size, prot, flags, fd, offset);
}

static __attribute__((noinline)) int munmap_kept(void *at, size_t size)
{
	struct map_call call = {
		.start = rec_clock_now(),
		.name = EV_NAME_munmap,
		.address = (uintptr_t)at,
		.size = size,
		.descriptor = (uint32_t)-1,
	};
	int result = pre_real.munmap(at, size);

	map_done(&call, result != 0 ? errno : 0);
	return result;
}

PRE_HOOK int munmap(void *at, size_t size)
{
	if (likely(is_off()))
		return pre_real.munmap(at, size);
	return munmap_kept(at, size);
}

static __attribute__((noinline)) void *mremap_kept(void *at, size_t old_size, size_t new_size,
						   int flags, void *to)
{
	struct map_call call = {
		.start = rec_clock_now(),
		.name = EV_NAME_mremap,
		.size = new_size,
		.flags = (uint32_t)flags,
		.descriptor = (uint32_t)-1,
	};
	void *result = pre_real.mremap(at, old_size, new_size, flags, to);

	call.address = (uintptr_t)result;
	map_done(&call, result == MAP_FAILED ? errno : 0);
	return result;
}

PRE_HOOK void *pre_mremap(void *at, size_t old_size, size_t new_size, int flags, void *to)
{
	if (likely(is_off()))
		return pre_real.mremap(at, old_size, new_size, flags, to);
	return mremap_kept(at, old_size, new_size, flags, to);
}
