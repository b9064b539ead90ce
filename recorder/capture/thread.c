/*
 * Threads and their hot state: attach on the first event, detach at the end, survive fork.
 *
 * In: the slow path of an event. Out: a struct rec_thread with an entry in the region's tables. All
 * memory here that names this process (own page, states) is wiped in a forked child, by whatever
 * call it was made; the region's mapping is kept. Never here: malloc, locks, anything a hook
 * covers.
 */
#include "recorder/capture/capture.h"

#include <sys/mman.h>

#include "recorder/sys/raw.h"

#define SLAB_BYTES (64u * 1024)
#define ADDRESS_BITS 48
#define ADDRESS_MASK ((1ull << ADDRESS_BITS) - 1)
#define JOIN_SPINS 20000
#define JOIN_NOW 1  /* somebody is at it */
#define JOIN_SLOW 2 /* and was waited for in vain */
#define PR_GET_NAME_ 16

/* Mutable globals: the family's mapping, the process's own page, the thread's pointer. */
struct rec_settings rec_live __attribute__((aligned(PAGE_BYTES)));
struct rec_region rec_family;
/*
 * Shared by threads that move `pos` at the same time, each back after a failed append and not
 * always by what it was moved: it begins so far from both ends that it never comes near a place
 * with room.
 */
#define NOWHERE (1ull << 62)
struct rec_thread rec_thread_none __attribute__((aligned(CACHE_LINE))) = { .writer.pos = NOWHERE };
struct rec_thread rec_thread_mute __attribute__((aligned(CACHE_LINE))) = { .writer.pos = NOWHERE };
void (*rec_thread_attached)(struct rec_thread *thread);
void (*rec_thread_chunk_taken)(void);
static struct rec_own own_unmapped; /* until there is a page of its own */
static struct rec_own *own = &own_unmapped;
static uint32_t inherited_space;     /* survives fork, so that a child learns it */
static uint64_t inherited_namespace; /* likewise */
/*
 * initial-exec: one instruction, and no call to __tls_get_addr, which allocates on first use. Eight
 * bytes of the static TLS surplus.
 */
__thread struct rec_thread *rec_thread_current = &rec_thread_none;
/* The thread's key destructors are over; what comes now is attached as late. */
static __thread uint8_t thread_is_late __attribute__((tls_model("initial-exec")));

const struct rec_own *rec_process_own(void)
{
	return own;
}

static void *map_wiped(size_t bytes)
{
	void *memory =
		raw_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (raw_is_error(memory))
		return NULL;
	raw_madvise(memory, bytes, MADV_WIPEONFORK);
	return memory;
}

int rec_process_attach(const struct rec_region *region)
{
	struct rec_own *page = map_wiped(PAGE_BYTES);

	if (!page)
		return HOLTER_E_LIMIT;
	rec_family = *region;
	rec_clock_adopt(&region->header->clock);
	own = page;
	/* Old length 0 of a shared mapping makes a second one of the same page, without descriptor.
	 */
	long mapped = raw_syscall6(SYS_mremap, (long)region->settings, 0, PAGE_BYTES,
				   MREMAP_MAYMOVE | MREMAP_FIXED, (long)&rec_live, 0);

	if (mapped < 0 && mapped > -4096) {
		rec_family.base = NULL;
		return HOLTER_E_LIMIT;
	}
	return 0;
}

void rec_process_silence(void)
{
	own->silent = 1;
	raw_mmap(&rec_live, PAGE_BYTES, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/* Number of the namespace in which this process's pid counts; 0 where it cannot be had. */
static uint64_t pid_namespace(void)
{
	char link[32]; /* pid:[4026531836] */
	long length = raw_readlink("/proc/self/ns/pid", link, sizeof(link));
	uint64_t number = 0;

	for (long i = 0; i < length; i++)
		if (link[i] >= '0' && link[i] <= '9')
			number = number * 10 + (uint64_t)(link[i] - '0');
	return number;
}

/*
 * In another namespace our pid and tids are other processes' to the leader, which would take them
 * for dead and their chunks for free.
 */
static bool is_foreign(void)
{
	uint64_t namespace = pid_namespace();

	if (inherited_namespace == 0)
		inherited_namespace = namespace;
	return namespace != 0 && namespace != inherited_namespace;
}

/* Enters this process into the family's table; the caller holds own->joining. */
static void join_family(void)
{
	struct rec_header *header = rec_family.header;
	uint32_t pid = (uint32_t)raw_getpid();
	uint64_t start_time = 0;
	uint32_t ppid = 0;
	uint32_t process;

	if (!header->children && pid != header->root_pid) {
		rec_process_silence();
		__atomic_store_n(&own->pid, pid, __ATOMIC_RELEASE);
		return;
	}
	if (is_foreign()) {
		__atomic_fetch_add(&header->loss[REC_LOSS_NO_PROCESS], 1, __ATOMIC_RELAXED);
		rec_process_silence();
		__atomic_store_n(&own->pid, pid, __ATOMIC_RELEASE);
		return;
	}
	rec_region_start_time(pid, &start_time, &ppid);
	process = rec_process_join(&rec_family, pid, start_time, ppid, inherited_space);
	struct rec_process *entry = rec_process_at(&rec_family, process);

	if (entry) {
		own->space = entry->space;
		inherited_space = entry->space;
	} else {
		__atomic_fetch_add(&header->loss[REC_LOSS_NO_PROCESS], 1, __ATOMIC_RELAXED);
	}
	own->process = process;
	__atomic_store_n(&own->pid, pid, __ATOMIC_RELEASE);
}

static bool process_joined(void)
{
	uint32_t nobody = 0;

	if (likely(__atomic_load_n(&own->pid, __ATOMIC_ACQUIRE) != 0))
		return !own->silent;
	if (__atomic_compare_exchange_n(&own->joining, &nobody, JOIN_NOW, false, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED)) {
		join_family();
		__atomic_store_n(&own->joining, 0, __ATOMIC_RELEASE);
	}
	for (int i = 0; i < JOIN_SPINS && nobody != JOIN_SLOW; i++) {
		if (__atomic_load_n(&own->pid, __ATOMIC_ACQUIRE) != 0)
			return !own->silent;
		__builtin_ia32_pause();
	}
	/* It may have been left by siglongjmp for good: the next ones do not wait. */
	nobody = JOIN_NOW;
	__atomic_compare_exchange_n(&own->joining, &nobody, JOIN_SLOW, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	return false;
}

uint32_t rec_process_forked(void)
{
	if (!rec_family.base || !process_joined())
		return REC_NONE;
	return own->process;
}

static void state_push(struct rec_thread *state)
{
	uint64_t old = __atomic_load_n(&own->free_states, __ATOMIC_RELAXED);
	uint64_t new;

	do {
		state->next_free = old & ADDRESS_MASK;
		new = ((old >> ADDRESS_BITS) + 1) << ADDRESS_BITS | (uint64_t)(uintptr_t)state;
	} while (!__atomic_compare_exchange_n(&own->free_states, &old, new, true, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

static struct rec_thread *state_pop(void)
{
	uint64_t old = __atomic_load_n(&own->free_states, __ATOMIC_ACQUIRE);
	uint64_t new;

	do {
		struct rec_thread *first = (struct rec_thread *)(uintptr_t)(old & ADDRESS_MASK);

		if (!first)
			return NULL;
		new = ((old >> ADDRESS_BITS) + 1) << ADDRESS_BITS | first->next_free;
	} while (!__atomic_compare_exchange_n(&own->free_states, &old, new, true, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	return (struct rec_thread *)(uintptr_t)(old & ADDRESS_MASK);
}

/* Cuts a new state from the slab. Two threads that meet at its end make two slabs; both are used.
 */
static struct rec_thread *state_cut(void)
{
	const uint64_t size = align_up(sizeof(struct rec_thread), CACHE_LINE);

	for (;;) {
		uint64_t slab = __atomic_load_n(&own->slab, __ATOMIC_ACQUIRE);
		uint64_t used = __atomic_load_n(&own->slab_used, __ATOMIC_RELAXED);

		/* slab_used counts from the slab's own address, so a mix of two slabs never fits.
		 */
		if (slab && used >= slab && used + size <= slab + SLAB_BYTES) {
			if (__atomic_compare_exchange_n(&own->slab_used, &used, used + size, false,
							__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
				return (struct rec_thread *)(uintptr_t)used;
			continue;
		}
		void *fresh = map_wiped(SLAB_BYTES);

		if (!fresh)
			return NULL;
		if (!__atomic_compare_exchange_n(&own->slab, &slab, (uint64_t)(uintptr_t)fresh,
						 false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			raw_munmap(fresh, SLAB_BYTES);
			while (__atomic_load_n(&own->slab_used, __ATOMIC_RELAXED) == used)
				__builtin_ia32_pause();
			continue;
		}
		__atomic_store_n(&own->slab_used, (uint64_t)(uintptr_t)fresh, __ATOMIC_RELEASE);
	}
}

/* The losses of a thread without an entry go to the family's totals, counted without exactness. */
static void state_fill(struct rec_thread *state)
{
	struct rec_header *header = rec_family.header;
	uint32_t tid = (uint32_t)raw_gettid();
	struct rec_chunk_owner *owner = &state->cold.owner;
	struct rec_thread_entry *entry;
	uint64_t now = rec_clock_now();

	memset(state, 0, sizeof(*state));
	raw_syscall3(SYS_prctl, PR_GET_NAME_, (long)owner->name, 0);
	owner->pid = own->pid;
	owner->tid = tid;
	owner->process = own->process;
	owner->thread = rec_thread_join(&rec_family, own->pid, tid, own->process, now, owner->name);
	entry = rec_thread_at(&rec_family, owner->thread);
	if (!entry)
		__atomic_fetch_add(&header->loss[REC_LOSS_NO_THREAD], 1, __ATOMIC_RELAXED);
	state->cold.loss = entry ? entry->loss : header->loss;
	state->cold.loss_bytes = entry ? &entry->loss_bytes : &header->loss_bytes;
	state->cold.chunk_shown = entry ? &entry->chunk : NULL;
	state->cold.region = &rec_family;
	/* A thread that comes back under an old tid must not seem older than it is. */
	owner->sequence = now;
	state->process = own->process;
	state->thread = owner->thread;
	state->is_late = thread_is_late;
	state->tid = tid;
}

/*
 * Gives back what a dead thread held, as far as the leader has not done so: by then chunk and entry
 * may be another thread's.
 */
static void leave_for(struct rec_thread *dead, uint32_t tid)
{
	const struct rec_chunk *chunk = rec_ring_chunk(&rec_family, dead->writer.chunk);
	const struct rec_thread_entry *entry = rec_thread_at(&rec_family, dead->thread);

	if (chunk && chunk->tid == tid && chunk->pid == own->pid)
		rec_append_detach(&dead->writer, &dead->cold);
	if (entry && entry->tid == tid && entry->pid == own->pid)
		rec_thread_leave(&rec_family, dead->thread, rec_clock_now());
}

/* Collects one state whose thread ended after attaching late; costs a system call only then. */
static struct rec_thread *collect_late(void)
{
	const uint64_t size = align_up(sizeof(struct rec_thread), CACHE_LINE);
	uint64_t slab = __atomic_load_n(&own->slab, __ATOMIC_ACQUIRE);

	if (!slab)
		return NULL;
	uint32_t index = __atomic_fetch_add(&own->late_cursor, 1, __ATOMIC_RELAXED) %
			 (uint32_t)(SLAB_BYTES / size);
	struct rec_thread *state = (struct rec_thread *)(uintptr_t)(slab + index * size);
	uint32_t tid = __atomic_load_n(&state->tid, __ATOMIC_ACQUIRE);
	uint32_t late = 1;

	if (slab + (index + 1) * size > __atomic_load_n(&own->slab_used, __ATOMIC_ACQUIRE))
		return NULL;
	if (tid == 0 || !state->is_late || raw_tgkill((int)own->pid, (int)tid, 0) != -3 /* ESRCH */)
		return NULL;
	if (!__atomic_compare_exchange_n(&state->is_late, &late, 0, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return NULL;
	leave_for(state, tid);
	/* The dead thread's name and entry are not the next one's. */
	__atomic_store_n(&state->tid, 0, __ATOMIC_RELEASE);
	return state;
}

struct rec_thread *rec_thread_attach(void)
{
	struct rec_thread *state = rec_thread_current;

	/* Under a filter neither the thread's number nor its process's is to be had. */
	if (state == &rec_thread_mute || !rec_family.base || raw_refused())
		return &rec_thread_mute;
	/* A handler that interrupts from here on finds the thread mute and records nothing. */
	rec_thread_current = &rec_thread_mute;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (process_joined()) {
		if (state == &rec_thread_none) {
			state = state_pop();
			if (!state)
				state = collect_late();
			if (!state)
				state = state_cut();
		}
		if (state && state->tid == 0)
			state_fill(state);
	}
	if (!state || state->tid == 0 || own->silent) {
		rec_thread_current = &rec_thread_none;
		return &rec_thread_mute;
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	rec_thread_current = state;
	if (rec_thread_attached && !state->is_late)
		rec_thread_attached(state);
	return state;
}

void rec_thread_append_slow(struct rec_thread *thread, uint32_t type, uint32_t flags,
			    uint64_t ticks, const void *body, uint32_t bytes)
{
	uint32_t before;

	if (thread->tid == 0)
		thread = rec_thread_attach();
	if (thread == &rec_thread_mute)
		return;
	before = thread->writer.chunk;
	rec_append_slow(&thread->writer, &thread->cold, type, flags, ticks, body, bytes);
	if (before != REC_CHUNK_NONE && before != thread->writer.chunk && rec_thread_chunk_taken)
		rec_thread_chunk_taken();
}

void rec_thread_detach(void)
{
	struct rec_thread *state = rec_thread_current;

	thread_is_late = 1;
	if (state == &rec_thread_none || state == &rec_thread_mute || state->tid == 0)
		return;
	rec_thread_current = &rec_thread_mute;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	rec_append_detach(&state->writer, &state->cold);
	rec_thread_leave(&rec_family, state->thread, rec_clock_now());
	__atomic_store_n(&state->tid, 0, __ATOMIC_RELEASE);
	state_push(state);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	rec_thread_current = &rec_thread_none;
}

void rec_thread_rename(const char *name)
{
	struct rec_thread *state = rec_thread_current;
	struct rec_chunk *chunk;
	struct rec_thread_entry *entry;
	char copy[16] = { 0 };

	if (state->tid == 0)
		return;
	for (size_t i = 0; i + 1 < sizeof(copy) && name[i]; i++)
		copy[i] = name[i];
	memcpy(state->cold.owner.name, copy, sizeof(copy));
	chunk = rec_ring_chunk(&rec_family, state->writer.chunk);
	if (chunk)
		memcpy(chunk->name, copy, sizeof(copy));
	entry = rec_thread_at(&rec_family, state->thread);
	if (entry)
		memcpy(entry->name, copy, sizeof(copy));
}

static void count_depot_loss(struct rec_thread *thread)
{
	uint64_t *loss = thread->cold.loss ? &thread->cold.loss[REC_LOSS_DEPOT_FULL] : NULL;

	if (loss)
		__atomic_store_n(loss, *loss + 1, __ATOMIC_RELAXED);
}

uint32_t rec_string(struct rec_thread *thread, const char *text, size_t length)
{
	uint32_t bytes = length > REC_DEPOT_BYTES_MAX ? REC_DEPOT_BYTES_MAX : (uint32_t)length;
	uint32_t id;

	if (!rec_family.base || bytes == 0)
		return 0;
	id = rec_depot_intern(&rec_family, REC_DEPOT_STRING, 0, text, bytes);
	if (id == 0)
		count_depot_loss(thread);
	return id;
}

uint32_t rec_address(struct rec_thread *thread, const struct rec_address *address)
{
	uint32_t id;

	if (!rec_family.base)
		return 0;
	id = rec_depot_intern(&rec_family, REC_DEPOT_ADDRESS, 0, address, sizeof(*address));
	if (id == 0)
		count_depot_loss(thread);
	return id;
}
