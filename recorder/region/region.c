/*
 * The region's file and mapping: layout, create, open, reserve (region.h).
 *
 * In: a ring size or a path. Out: a mapped region. What is read from an existing file decides
 * nothing but its memory_bytes, and that only when everything else agrees with it. Never here: what
 * the sections contain (ring.c, depot.c, the tables), finding a process's region (region_find.c).
 */
#include "recorder/region/region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "recorder/region/path.h"
#include "recorder/region/tables.h"
#include "recorder/sys/raw.h"

#define ADVICE_POPULATE_WRITE                                                                      \
	23 /* MADV_POPULATE_WRITE, Linux 5.14; not in every libc's headers                         \
	    */
#define FIRST_BYTES (4ull * REC_CHUNK_BYTES) /* a page costs 1.2 to 2.6 us */
#define ENSURE_STEP_MIN                                                                            \
	(4ull << 10) /* small programs pay for little: a page costs 1.2 to 2.6 us                  \
		      */
#define ENSURE_STEP_MAX (16ull << 10)
#define DEPOT_HALF_MIN (512ull << 10)
#define DEPOT_HALF_MAX (1ull << 27) /* an id has 24 bits for offset / 8 */
#define DEPOT_INDEX_RATIO 128u /* bytes for each slot of the index: entries are about that long */
#define NAME_TRIES 16u
#define POPULATE_TRIES 200 /* signals cut it short; a failure would shrink the ring for good */
#define E_INTR 4
#define E_AGAIN 11
#define E_INVAL 22
#define E_ACCES 13
#define E_PERM 1

const char *const rec_loss_text[REC_LOSS_COUNT] = {
#define LOSS_TEXT(name, text) text,
	REC_LOSS_LIST(LOSS_TEXT)
#undef LOSS_TEXT
};

/* What an opener reads of the header before it believes anything. */
struct header_start {
	uint64_t magic;
	uint32_t version;
	uint32_t chunk_max;
	uint64_t total_bytes;
	uint64_t memory_bytes;
};
_Static_assert(sizeof(struct header_start) == offsetof(struct rec_header, clock),
	       "header_start mirrors the start of rec_header");

static uint64_t section(uint64_t *at, uint64_t bytes)
{
	uint64_t start = *at;

	*at = start + align_up(bytes, PAGE_BYTES);
	return start;
}

int rec_layout_compute(uint64_t memory_bytes, struct rec_layout *layout)
{
	struct rec_layout l;
	uint64_t at = 0;

	if (memory_bytes < REC_MEMORY_MIN || memory_bytes > REC_MEMORY_MAX ||
	    memory_bytes % REC_CHUNK_BYTES != 0)
		return HOLTER_E_LIMIT;
	l.chunk_max = (uint32_t)(memory_bytes / REC_CHUNK_BYTES);
	l.depot_half = align_up(max_u64(memory_bytes / 4, DEPOT_HALF_MIN), PAGE_BYTES);
	l.depot_half = min_u64(l.depot_half, DEPOT_HALF_MAX);
	l.depot_slots = 1u << (63 - __builtin_clzll(l.depot_half / DEPOT_INDEX_RATIO));
	l.header = section(&at, sizeof(struct rec_header));
	l.settings = section(&at, sizeof(struct rec_settings));
	l.mailbox = section(&at, REC_MAILBOX_BYTES);
	l.text = section(&at, REC_TEXT_BYTES);
	l.pids = section(&at, REC_PROCESS_MAX * sizeof(uint32_t));
	l.processes = section(&at, REC_PROCESS_MAX * sizeof(struct rec_process));
	l.threads = section(&at, REC_THREAD_MAX * sizeof(struct rec_thread_entry));
	l.modules = section(&at, REC_MODULE_MAX * sizeof(struct rec_module));
	l.names = section(&at, REC_NAMES_BYTES);
	l.user_types = section(&at, REC_USER_TYPE_MAX * sizeof(struct rec_user_type));
	l.live = section(&at, REC_LIVE_MAX * (sizeof(uint64_t) + sizeof(struct rec_live)));
	/* A slot and a byte for each chunk, see ring.c. */
	l.slots = section(&at, (uint64_t)l.chunk_max * (sizeof(uint32_t) + 1));
	l.depot = section(&at, 2 * l.depot_half);
	l.chunks = section(&at, memory_bytes);
	l.total = at;
	*layout = l;
	return 0;
}

/* Fills the caller's struct; the header's own numbers are not looked at again after this. */
static void region_set(struct rec_region *region, uint8_t *base, const struct rec_layout *layout,
		       int writable)
{
	region->base = base;
	region->layout = *layout;
	region->header = (struct rec_header *)(base + layout->header);
	region->settings = (struct rec_settings *)(base + layout->settings);
	region->text = (char *)(base + layout->text);
	region->writable = writable;
}

/* A program that closed its standard streams must not find ours on 0 to 2, not even for a moment.
 */
static int fd_above_streams(int fd)
{
	int higher;

	if (fd < 0 || fd > 2)
		return fd;
	higher = (int)raw_syscall3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3);
	raw_close(fd);
	return higher;
}

static int region_open_fd(const char *path, int flags, int mode)
{
	return fd_above_streams(raw_open(path, flags | O_NOFOLLOW | O_CLOEXEC, mode));
}

/* Maps `bytes` of an open file (-1: anonymous memory); NULL when that fails. */
static uint8_t *region_map(int fd, uint64_t bytes, int writable)
{
	int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
	int flags = MAP_SHARED | MAP_NORESERVE | (fd < 0 ? MAP_ANONYMOUS : 0);
	void *base = raw_mmap(NULL, bytes, protection, flags, fd, 0);

	return raw_is_error(base) ? NULL : base;
}

static void path_make(char *path, uint32_t pid, uint64_t start_time, uint32_t number)
{
	const char *end = path + REC_PATH_MAX;
	char *at = path_word(path, end, "/dev/shm/holter-");

	at = path_number(at, end, pid, 10);
	at = path_word(at, end, "-");
	at = path_number(at, end, start_time, 16);
	if (number == 0)
		return;
	at = path_word(at, end, "-");
	path_number(at, end, number, 10);
}

/*
 * Beyond the limit on file sizes the kernel would not only refuse but send SIGXFSZ, which ends the
 * program. The soft limit is lifted for the moment where the hard one allows it.
 */
static int file_resize(int fd, uint64_t bytes)
{
	struct rlimit limit, lifted;
	long result;

	if (raw_syscall6(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0, 0) != 0 ||
	    limit.rlim_max < bytes)
		return HOLTER_E_NOSPACE;
	lifted = (struct rlimit){ limit.rlim_max, limit.rlim_max };
	if (limit.rlim_cur < bytes &&
	    raw_syscall6(SYS_prlimit64, 0, RLIMIT_FSIZE, (long)&lifted, 0, 0, 0) != 0)
		return HOLTER_E_NOSPACE;
	result = raw_syscall3(SYS_ftruncate, fd, (long)bytes, 0);
	if (limit.rlim_cur < bytes)
		raw_syscall6(SYS_prlimit64, 0, RLIMIT_FSIZE, (long)&limit, 0, 0, 0);
	return result == 0 ? 0 : HOLTER_E_NOSPACE;
}

/*
 * Makes and maps the file. An image that was executed in the same process wants a region of its own
 * while its predecessor's still lies there, hence the numbers.
 */
static uint8_t *file_create(char *path, uint32_t pid, uint64_t start_time, uint64_t bytes)
{
	uint8_t *base = NULL;
	int fd = -1;

	for (uint32_t number = 0; fd < 0 && number < NAME_TRIES; number++) {
		path_make(path, pid, start_time, number);
		fd = region_open_fd(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	}
	if (fd < 0)
		return NULL;
	if (file_resize(fd, bytes) == 0)
		base = region_map(fd, bytes, 1);
	if (!base)
		raw_syscall3(SYS_unlink, (long)path, 0, 0);
	raw_close(fd);
	return base;
}

/* Kernels before 5.14: the file is opened by its name for a moment. */
static int reserve_by_file(const char *name, uint64_t from, uint64_t to)
{
	char path[REC_PATH_MAX];
	struct rlimit limit;
	long result;
	int fd;

	memcpy(path, name, sizeof(path));
	path[sizeof(path) - 1] = 0;
	/* Anonymous memory is accounted by the kernel when it is touched: nothing to reserve. */
	if (path[0] == 0)
		return 0;
	/* As for file_resize(); nothing is lifted while other threads may be at work. */
	if (raw_syscall6(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0, 0) != 0 ||
	    limit.rlim_cur < to)
		return HOLTER_E_NOSPACE;
	fd = region_open_fd(path, O_RDWR | O_NONBLOCK, 0);
	if (fd < 0)
		return HOLTER_E_NOSPACE;
	do
		result = raw_syscall6(SYS_fallocate, fd, 0, (long)from, (long)(to - from), 0, 0);
	while (result == -E_INTR);
	raw_close(fd);
	return result == 0 ? 0 : HOLTER_E_NOSPACE;
}

/* @path: REC_PATH_MAX bytes; the header's, except while the header itself is being reserved. */
static int reserve(struct rec_region *region, const char *path, uint64_t from, uint64_t to)
{
	int result, tries = POPULATE_TRIES;

	from = align_down(from, PAGE_BYTES);
	to = align_up(min_u64(to, region->layout.total), PAGE_BYTES);
	if (from >= to)
		return 0;
	if (!region->writable)
		return HOLTER_E_NOSPACE;
	do
		result = raw_madvise(region->base + from, to - from, ADVICE_POPULATE_WRITE);
	while ((result == -E_INTR || result == -E_AGAIN) && --tries > 0);
	if (result == -E_INVAL)
		return reserve_by_file(path, from, to);
	if (result == -E_PERM)
		return HOLTER_E_PERMISSION; /* refused here, others of the family may go on */
	return result == 0 ? 0 : HOLTER_E_NOSPACE;
}

int rec_region_reserve(struct rec_region *region, uint64_t from, uint64_t to)
{
	return reserve(region, region->header->path, from, to);
}

/*
 * Reserves what every program needs at once: the first pages, the slots, and the first chunks,
 * without which there would be nothing to record into.
 */
static int region_reserve_first(struct rec_region *region, const char *path)
{
	const struct rec_layout *l = &region->layout;
	int error = reserve(region, path, 0, l->processes);

	if (error == 0)
		error = reserve(region, path, l->slots, l->depot);
	if (error == 0)
		error = reserve(region, path, l->chunks, l->chunks + FIRST_BYTES);
	return error;
}

static void header_fill(struct rec_region *region, uint64_t memory_bytes, uint32_t root_pid,
			uint64_t root_start_time, const char *path)
{
	struct rec_header *header = region->header;

	header->version = REC_REGION_VERSION;
	header->chunk_max = region->layout.chunk_max;
	header->total_bytes = region->layout.total;
	header->memory_bytes = memory_bytes;
	header->root_pid = root_pid;
	header->root_uid = (uint32_t)raw_syscall3(SYS_geteuid, 0, 0, 0);
	header->root_start_time = root_start_time;
	header->anonymous = path[0] == 0;
	memcpy(header->path, path, REC_PATH_MAX);
	header->ring.capacity = region->layout.chunk_max;
	header->depot.generation = 1;
}

int rec_region_create(struct rec_region *region, uint64_t memory_bytes, uint32_t root_pid,
		      uint64_t root_start_time)
{
	char path[REC_PATH_MAX] = "";
	struct rec_region new;
	struct rec_layout layout;
	struct rec_clock clock;
	int error = rec_layout_compute(memory_bytes, &layout);

	if (error != 0)
		return error;
	rec_clock_begin(&clock);
	region_set(&new, file_create(path, root_pid, root_start_time, layout.total), &layout, 1);
	if (new.base && region_reserve_first(&new, path) != 0) {
		rec_region_unmap(&new);
		raw_syscall3(SYS_unlink, (long)path, 0, 0);
	}
	if (!new.base) {
		/* Not bound to /dev/shm and its size; it only does not outlive the family. */
		memset(path, 0, sizeof(path));
		region_set(&new, region_map(-1, layout.total, 1), &layout, 1);
		if (!new.base)
			return HOLTER_E_SYSTEM;
		error = region_reserve_first(&new, path);
	}
	if (error != 0) {
		rec_region_unmap(&new);
		return error;
	}
	header_fill(&new, memory_bytes, root_pid, root_start_time, path);
	rec_clock_finish(&clock);
	new.header->clock = clock;
	new.header->created_epoch_ns = clock.base_epoch_ns;
	/* Last: whoever finds the file before sees that it is none of ours yet. */
	__atomic_store_n(&new.header->magic, REC_REGION_MAGIC, __ATOMIC_RELEASE);
	*region = new;
	return 0;
}

/* May this user's programs use a file of that owner? */
static int owner_check(int fd, uint64_t *bytes)
{
	uint32_t me = (uint32_t)raw_syscall3(SYS_geteuid, 0, 0, 0);
	struct stat status;

	if (raw_syscall3(SYS_fstat, fd, (long)&status, 0) != 0)
		return HOLTER_E_OPEN;
	if (!S_ISREG(status.st_mode))
		return HOLTER_E_REGION;
	if (me != 0 && status.st_uid != me && status.st_uid != 0)
		return HOLTER_E_PERMISSION;
	*bytes = (uint64_t)status.st_size;
	return 0;
}

/* Reads the header's start and believes it when it fits the file's size and itself. */
static int layout_read(int fd, uint64_t bytes, struct rec_layout *layout)
{
	struct header_start start;
	struct rec_layout expected;

	if (raw_pread(fd, &start, sizeof(start), 0) != (long)sizeof(start))
		return HOLTER_E_REGION;
	if (start.magic != REC_REGION_MAGIC || start.version != REC_REGION_VERSION ||
	    rec_layout_compute(start.memory_bytes, &expected) != 0)
		return HOLTER_E_REGION;
	if (start.chunk_max != expected.chunk_max || start.total_bytes != expected.total ||
	    bytes != expected.total)
		return HOLTER_E_REGION;
	*layout = expected;
	return 0;
}

int rec_region_open(struct rec_region *region, const char *path, int writable)
{
	int fd = region_open_fd(path, (writable ? O_RDWR : O_RDONLY) | O_NONBLOCK, 0);
	struct rec_layout layout;
	uint64_t bytes = 0;
	uint8_t *base;
	int error;

	if (fd < 0)
		return fd == -E_ACCES || fd == -E_PERM ? HOLTER_E_PERMISSION : HOLTER_E_OPEN;
	error = owner_check(fd, &bytes);
	if (error == 0)
		error = layout_read(fd, bytes, &layout);
	if (error == 0) {
		base = region_map(fd, layout.total, writable);
		if (base)
			region_set(region, base, &layout, writable);
		else
			error = HOLTER_E_OPEN;
	}
	raw_close(fd);
	return error;
}

void rec_region_unmap(struct rec_region *region)
{
	if (region->base)
		raw_munmap(region->base, region->layout.total);
	region->base = NULL;
	region->header = NULL;
	region->settings = NULL;
	region->text = NULL;
}

int rec_region_ensure(struct rec_region *region, uint64_t section_at, uint64_t limit,
		      uint64_t *ready, uint64_t need)
{
	uint64_t done = __atomic_load_n(ready, __ATOMIC_ACQUIRE);
	uint64_t target;
	int error;

	if (likely(need <= done && need <= limit))
		return 0;
	if (need > limit)
		return HOLTER_E_LIMIT;
	target = done + min_u64(max_u64(done, ENSURE_STEP_MIN), ENSURE_STEP_MAX);
	target = min_u64(align_up(max_u64(target, need), PAGE_BYTES), limit);
	error = rec_region_reserve(region, section_at + done, section_at + target);
	if (error != 0) {
		/* A smaller step may still fit. */
		target = need;
		error = rec_region_reserve(region, section_at + done, section_at + target);
	}
	if (error != 0)
		return error;
	/* Several may do this at once; all pages below the highest mark are there. */
	while (done < target && !__atomic_compare_exchange_n(ready, &done, target, true,
							     __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	return 0;
}
