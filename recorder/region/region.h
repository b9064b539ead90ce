/*
 * The region: ONE bounded shared mapping that holds all recorder state of a process family.
 *
 * In: memory size and names from the configuration (engine/config.h). Out: a mapped region for
 * capture (writes), dump and engine (read). The layout is a pure function of `memory`, so an opener
 * trusts two numbers of the file at most. Never here: what the events mean.
 *
 * Layout, page-aligned sections in this order:
 *   header | settings | mailbox | text (configuration) | pids | processes | threads | modules |
 *   names | user types | live table | ring slots | depot (2 generations) | chunks
 *
 * Pages are reserved before they are touched (rec_region_reserve), so a full /dev/shm is an error
 * and never a SIGBUS.
 */
#ifndef HOLTER_REGION_REGION_H
#define HOLTER_REGION_REGION_H

#include <stdint.h>

#include "recorder/base/util.h"
#include "recorder/format/holter_error.h"
#include "recorder/format/schema.h"
#include "recorder/sys/clock.h"

#define REC_REGION_MAGIC 0x31304e4747524c48ull /* "HLRGGN01" */
#define REC_REGION_VERSION 1u
#define REC_CHUNK_BYTES 8192u
#define REC_MEMORY_MIN (1ull << 20)
#define REC_MEMORY_MAX (1ull << 32)
#define REC_PROCESS_MAX 1024u
#define REC_THREAD_MAX 8192u
#define REC_MODULE_MAX 4096u
#define REC_LIVE_MAX 16384u
#define REC_NAMES_BYTES (1u << 20)
#define REC_TEXT_BYTES 8192u
#define REC_MAILBOX_BYTES 8192u
#define REC_USER_TYPE_MAX (EV_USER_MAX / 2) /* each has a setting */
#define REC_PATH_MAX 128u		    /* of a region file */

/* Why something was lost; one counter each, per thread and in total. */
#define REC_LOSS_LIST(X)                                                                           \
	X(NO_CHUNK, "no free chunk: more threads than chunks")                                     \
	X(NESTED, "interrupted while changing chunks")                                             \
	X(DEPOT_FULL, "no room for a stack, string or address")                                    \
	X(LIVE_FULL, "no room in the table of live allocations")                                   \
	X(NO_THREAD, "no free thread entry")                                                       \
	X(NO_PROCESS, "no free process entry")                                                     \
	X(NO_MODULE, "no free module entry")                                                       \
	X(NO_MEMORY, "no memory could be reserved")                                                \
	X(RECYCLED, "overwritten while the dump copied it")                                        \
	X(DAMAGED, "damaged in the region")                                                        \
	X(STALE_STACK, "stack, string or address already dropped from the depot")                  \
	X(NO_STACK, "stack not taken: inside another walk, or too little room for one")
enum rec_loss {
#define REC_LOSS_ENUM(name, text) REC_LOSS_##name,
	REC_LOSS_LIST(REC_LOSS_ENUM)
#undef REC_LOSS_ENUM
		REC_LOSS_COUNT
};
extern const char *const rec_loss_text[REC_LOSS_COUNT];

/* How allocations are recorded; the one word the memory hooks look at. */
enum rec_memory_mode { REC_MEMORY_OFF, REC_MEMORY_SAMPLE, REC_MEMORY_ALL };
enum rec_lock_mode { REC_LOCK_OFF, REC_LOCK_TRY, REC_LOCK_TIMED };

/* Settings of one event in force. A disabled event has threshold_ticks UINT64_MAX. */
struct rec_event_setting {
	uint64_t threshold_ticks; /* record when the duration is at least this */
	uint32_t flags;		  /* REC_EVENT_* */
	uint32_t period_ms;	  /* periodic events; 0 = the interval */
	uint32_t sample;	  /* record one of so many; 0 and 1 = each */
	uint32_t threshold_us;	  /* as configured, for jdk.ActiveSetting */
};
#define REC_EVENT_ENABLED 1u
#define REC_EVENT_STACK 2u

/*
 * The settings page. The shim maps it over rec_live (capture/capture.h), so that a hook learns from
 * one load with a fixed address whether it is wanted; writers are the leader and `holter`.
 */
struct rec_settings {
	uint8_t gate[16];	 /* by enum ev_gate: 0 = no event of the class is enabled */
	uint8_t memory_mode;	 /* enum rec_memory_mode */
	uint8_t lock_mode;	 /* enum rec_lock_mode */
	uint8_t stack_depth;	 /* frames at most */
	uint8_t recording;	 /* 0: stopped, all gates are 0 */
	uint32_t generation;	 /* raised by every change */
	uint64_t alloc_interval; /* mean bytes between two samples */
	uint64_t reserved[2];
	struct rec_event_setting event[EV_NUMBER_MAX];
	struct rec_event_setting user[EV_USER_MAX / 2];
	uint8_t rest[208]; /* the page is mapped whole over rec_live */
};
_Static_assert(sizeof(struct rec_settings) == PAGE_BYTES, "settings fill their page");

/* Lease of the leader: who runs the loop, until when. Fields are changed with atomics. */
struct rec_lease {
	uint32_t pid;	       /* 0: nobody */
	uint32_t tid;	       /* of a leader thread inside the program; 0 for a process */
	uint64_t start_time;   /* of the pid, in boot ticks (stat field 22), against reuse */
	uint64_t expires_ns;   /* CLOCK_MONOTONIC */
	uint32_t starting_pid; /* a program that is starting a leader now; 0 = none */
	uint32_t generation;   /* raised by every takeover */
	uint64_t cpu_ns;       /* the leader's own CPU so far (holter.SelfCost) */
};

/* Ring control; the words that many threads change sit on lines of their own. */
struct rec_ring_control {
	uint64_t head __attribute__((aligned(CACHE_LINE))); /* next slot, counts for ever */
	uint64_t free_list
		__attribute__((aligned(CACHE_LINE))); /* tag 32 | chunk number 32; 0 = end */
	uint32_t fresh
		__attribute__((aligned(CACHE_LINE))); /* chunks ever handed out the first time */
	uint32_t ready; /* the highest chunk whose pages are reserved; each has a byte of its own */
	uint32_t capacity; /* slots in use: chunk_max, or less where growth failed */
	uint32_t reserved;
	uint64_t filled; /* chunks handed over full, for ever */
};

/* Depot control, see depot.h. Turning a generation takes no lock: anybody finishes it. */
struct rec_depot_control {
	uint32_t generation; /* current, 1..; half = generation & 1 */
	uint32_t turns;	     /* generations dropped so far */
	struct {
		/* generation 32 | bytes handed out 32, index included; so no late hand-out is taken
		 * for new */
		uint64_t used __attribute__((aligned(CACHE_LINE)));
		uint64_t ready;	      /* bytes whose pages are reserved */
		uint64_t index_ready; /* reserved pages of the index: one bit each 1/64 */
		uint32_t entries;
	} half[2];
};

/* Trigger: what makes the leader wake. The word is a futex shared between processes. */
struct rec_trigger {
	uint32_t word;	  /* raised by anything that wants the leader; futex */
	uint32_t signals; /* dumps asked for by signal; the leader compares with `served` */
	uint32_t signals_served;
	uint32_t exit_dumps;	    /* dumps asked for by an ending process (dumponexit) */
	uint32_t exit_dumps_served; /* futex: the ending process waits for it, bounded */
	uint32_t signal_pid;	    /* who got the last trigger signal */
};

struct rec_header {
	uint64_t magic;
	uint32_t version;
	uint32_t chunk_max;   /* memory / REC_CHUNK_BYTES */
	uint64_t total_bytes; /* of the file; must equal rec_layout()'s */
	uint64_t memory_bytes;
	struct rec_clock clock; /* ticks <-> nanoseconds, at creation */
	uint64_t created_epoch_ns;
	uint32_t root_pid; /* first process of the family */
	uint32_t root_uid;
	uint64_t root_start_time;
	uint32_t children; /* 1: forked and executed children record too */
	uint32_t dump_on_exit;
	uint32_t compress; /* 1: unnamed dumps are .jfr.lz4 */
	uint32_t interval_ms;
	int32_t trigger_signal; /* 0 = none */
	uint32_t leader_mode;	/* enum rec_leader_mode of engine/config.h */
	uint32_t dump_count;	/* dumps made, for names that would be equal */
	uint32_t log_lines;
	uint64_t dumped_ns;	 /* CLOCK_MONOTONIC of the last dump */
	uint64_t anonymous;	 /* 1: no file behind it, nobody else can open it */
	char path[REC_PATH_MAX]; /* of the region file */
	struct rec_lease lease __attribute__((aligned(CACHE_LINE)));
	struct rec_trigger trigger __attribute__((aligned(CACHE_LINE)));
	struct rec_ring_control ring;
	struct rec_depot_control depot;
	uint32_t process_count __attribute__((aligned(CACHE_LINE))); /* entries ever used */
	uint32_t thread_count;
	uint32_t process_hand; /* where the search for an entry to use again goes on */
	uint32_t thread_hand;
	uint32_t module_hand;
	uint32_t space_count; /* address spaces ever seen */
	uint32_t module_count;
	uint32_t user_type_count;
	uint64_t names_used;
	uint64_t threads_ready; /* bytes of that section that are reserved */
	uint64_t processes_ready;
	uint64_t modules_ready;
	uint64_t names_ready;
	uint64_t live_ready; /* a bit for each 1/64 of that section */
	uint64_t user_types_ready;
	uint32_t accumulated_threads;
	uint32_t live_entries;
	uint64_t loss[REC_LOSS_COUNT]
		__attribute__((aligned(CACHE_LINE))); /* of threads without entry */
	uint64_t loss_bytes;
};
_Static_assert(sizeof(struct rec_header) <= PAGE_BYTES, "header must fit its page");

/* Offsets of the sections, from the start of the file. */
struct rec_layout {
	uint64_t header, settings, mailbox, text, pids, processes, threads, modules, names,
		user_types, live, slots, depot, chunks, total;
	uint64_t depot_half; /* bytes of one generation, index included */
	uint32_t chunk_max;
	uint32_t depot_slots; /* of the index of one generation, a power of two */
};

/* A mapped region as one process sees it; the caller's memory. Plain pointers into the mapping. */
struct rec_region {
	uint8_t *base;
	struct rec_layout layout;
	struct rec_header *header;
	struct rec_settings *settings;
	char *text; /* configuration as text, NUL-ended, for children and `check` */
	int writable;
};

/**
 * rec_layout_compute() - where everything lies for a given ring size.
 * @memory_bytes: of the chunk ring, REC_MEMORY_MIN..REC_MEMORY_MAX, rounded to chunks by the
 * caller.
 * @layout: out.
 *
 * Return: 0; HOLTER_E_LIMIT when out of range, the layout untouched.
 * Context: any; async-signal-safe.
 */
int rec_layout_compute(uint64_t memory_bytes, struct rec_layout *layout);

/**
 * rec_region_create() - makes a region file under /dev/shm (mode 0600, O_EXCL|O_NOFOLLOW) and maps
 * it; without usable /dev/shm an anonymous shared mapping (header->anonymous = 1).
 * @region: out, the caller's memory.
 * @memory_bytes: of the ring.
 * @root_pid: first process of the family, named in the file's name: /dev/shm/holter-PID-STARTTIME.
 * @root_start_time: stat field 22 of that pid.
 *
 * Reserves the first pages and 8 chunks (64 KiB); keeps no descriptor. The header's clock, ring and
 * depot control are ready; settings are all zero, so nothing is recorded yet.
 *
 * Return: 0; HOLTER_E_NOSPACE, HOLTER_E_SYSTEM: nothing left behind.
 * Context: any thread; no allocation; async-signal-safe.
 */
int rec_region_create(struct rec_region *region, uint64_t memory_bytes, uint32_t root_pid,
		      uint64_t root_start_time);

/**
 * rec_region_open() - maps an existing region file and checks that it can be one of ours.
 * @path: of the file; symbolic links are refused, and files not owned by root or the caller's
 *	effective user (root may open any; what it reads is trusted in nothing).
 * @writable: 1 maps read-write.
 *
 * Return: 0; HOLTER_E_OPEN, HOLTER_E_PERMISSION, HOLTER_E_REGION.
 * Context: as rec_region_create().
 */
int rec_region_open(struct rec_region *region, const char *path, int writable);

/**
 * rec_region_find() - the region of a process: that in which it, or one of its ancestors when
 * `with_parent` is set, stands as a process of the family.
 * @pid, @start_time: the process; @ppid: its parent, 0 = do not look for it.
 * @path: out, REC_PATH_MAX bytes.
 *
 * Only files owned by the caller's effective user or root count; for root also those of the user
 * that owns the process, so that nobody can lay a region under another user's program.
 *
 * Return: 0; HOLTER_E_NOT_RECORDED when there is none.
 * Context: as rec_region_create(); reads /dev/shm once and two pages of every region of this user.
 */
int rec_region_find(uint32_t pid, uint64_t start_time, uint32_t ppid, char *path);

/**
 * rec_region_tidy() - removes the oldest region of this user whose whole family and leader are
 * dead, when there are more than `keep` of them: what killed programs leave must not fill the
 * memory.
 *
 * Return: 1 removed one, 0 did not.
 * Context: as rec_region_find().
 */
int rec_region_tidy(uint32_t keep);

/**
 * rec_region_unmap() - removes the mapping, not the file.
 *
 * Return: nothing. Context: any thread that knows nobody uses the region.
 */
void rec_region_unmap(struct rec_region *region);

/**
 * rec_region_reserve() - makes pages [from, to) of the region usable, so that touching them later
 * cannot fail (MADV_POPULATE_WRITE; fallocate by path on kernels before 5.14).
 * @from, @to: offsets from the base; rounded to pages.
 *
 * Return: 0, HOLTER_E_NOSPACE.
 * Context: any thread; system call; async-signal-safe.
 */
int rec_region_reserve(struct rec_region *region, uint64_t from, uint64_t to);

/**
 * rec_region_ensure() - reserves a section's first bytes up to `need`, in steps of 4 to 16 KiB.
 * @section: offset of the section, @limit its size, @ready the watermark in the header.
 *
 * Return: 0, HOLTER_E_NOSPACE, HOLTER_E_LIMIT when need > limit.
 * Context: any thread, many at once; async-signal-safe.
 */
int rec_region_ensure(struct rec_region *region, uint64_t section, uint64_t limit, uint64_t *ready,
		      uint64_t need);

/**
 * rec_region_start_time() - start time of a process in boot ticks (field 22 of /proc/PID/stat), and
 * its parent.
 *
 * Return: 0, HOLTER_E_NO_PROCESS.
 * Context: any thread; async-signal-safe.
 */
int rec_region_start_time(uint32_t pid, uint64_t *start_time, uint32_t *ppid);

#endif
