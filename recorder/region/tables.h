/*
 * The tables of a region: processes, threads, modules, names, a program's own event types, live
 * allocations. Entries are claimed with one compare-and-swap and never move.
 *
 * In: what hooks learn (a process began, a library was loaded). Out: entries for capture, engine
 * and dump. Readers in other processes trust no index, count or offset in them.
 */
#ifndef HOLTER_REGION_TABLES_H
#define HOLTER_REGION_TABLES_H

#include "recorder/region/region.h"

#define REC_NONE UINT32_MAX

enum rec_process_flag {
	REC_PROCESS_EXECUTED =
		1, /* has an image (and address space) of its own: exec, not fork only */
	REC_PROCESS_EXITING = 2, /* said so: exit, _exit or return from main */
	REC_PROCESS_EXECING = 4, /* called exec; the next image finds the region by its pid */
	REC_PROCESS_FATAL = 8,	 /* a fatal signal was seen */
	REC_PROCESS_LEADER = 16, /* the leader itself (periodic events) */
};

struct rec_process {
	uint32_t pid; /* 0: free. Written last, cleared first */
	uint32_t ppid;
	uint64_t start_time;  /* boot ticks; with the pid it is unique */
	uint64_t start_ticks; /* region's clock when it joined */
	uint64_t end_ticks;   /* 0: lives */
	uint32_t flags;	      /* enum rec_process_flag */
	uint32_t space;	      /* address space: modules are looked up by it; new after exec */
	uint32_t exit_status; /* wait status */
	uint32_t executable;  /* rec_names: path of the program */
	uint32_t arguments;   /* rec_names: command line, arguments separated by NUL */
	uint32_t environment; /* rec_names: variables separated by NUL, secrets masked */
	uint32_t arguments_bytes, environment_bytes;
	uint32_t directory;	  /* rec_names: starting directory */
	uint32_t hooks_missing;	  /* hooks whose real function was not found */
	uint32_t coverage;	  /* bits: REC_COVERAGE_* */
	uint32_t live_samples;	  /* sampled allocations alive */
	uint64_t live_bytes;	  /* their weights */
	uint64_t allocated_bytes; /* estimate since it joined */
	char name[16];		  /* comm */
};
#define REC_COVERAGE_STATIC_MALLOC 1u  /* the program defines malloc itself: not seen */
#define REC_COVERAGE_FOREIGN_MALLOC 2u /* malloc of another library */
#define REC_COVERAGE_SIGNAL_TAKEN 4u   /* the program took the trigger signal */
#define REC_COVERAGE_SECCOMP 8u
#define REC_COVERAGE_IO_URING 16u

struct rec_thread_entry {
	uint32_t tid; /* 0: free. Written last, cleared first */
	uint32_t pid;
	uint32_t process;
	uint32_t chunk; /* number it owns */
	uint64_t start_ticks, end_ticks;
	char name[16];
	uint64_t loss[REC_LOSS_COUNT]; /* only its thread adds; read by anybody */
	uint64_t loss_bytes;
} __attribute__((aligned(CACHE_LINE)));

struct rec_module {
	uint64_t base; /* 0: free. First mapped byte; written last, cleared first */
	uint64_t top;  /* first byte behind */
	uint64_t bias; /* address = bias + virtual address in the file */
	uint64_t load_ticks, unload_ticks; /* 0: from the start; still loaded */
	uint32_t space;
	uint32_t pid;
	uint32_t path;		/* rec_names */
	uint8_t build_id_bytes; /* 0..20 */
	uint8_t build_id[20];
	uint8_t reserved[7];
};

/* A program's own event type (holter.h). */
#define REC_USER_FIELDS 16u
struct rec_user_type {
	uint32_t state; /* 0 free, 1 being written, 2 valid */
	uint32_t field_count;
	uint32_t shape; /* EV_SHAPE_* */
	uint32_t reserved;
	char name[64], label[64], category[64], description[128];
	struct {
		char name[32], label[32];
		uint32_t kind; /* enum ev_kind */
		uint32_t reserved;
	} field[REC_USER_FIELDS];
};

/* A sampled allocation. Buckets of REC_LIVE_BUCKET entries; the key names address and process. */
#define REC_LIVE_BUCKET 16u
struct rec_live {
	uint64_t key; /* 0 free; 1 being written; else address | process << 48 */
	uint64_t size;
	uint64_t weight;
	uint64_t ticks;
	uint32_t stack;
	uint32_t tid;
};

/**
 * rec_process_join() - enters a process, or finds its entry again after exec.
 * @start_time, @ppid: of the process. @space: inherited by fork; 0 gives a new one.
 * Return: index; REC_NONE when the table is full. Context: many processes at once; lock-free;
 * async-signal-safe.
 */
uint32_t rec_process_join(struct rec_region *region, uint32_t pid, uint64_t start_time,
			  uint32_t ppid, uint32_t space);
/* The process is gone: its entry and those of its threads end, and may be used again. Once counts.
 */
void rec_process_leave(struct rec_region *region, uint32_t index, uint64_t now);
/* NULL where the table does not reach that far (yet); so all rec_*_at(). */
struct rec_process *rec_process_at(const struct rec_region *region, uint32_t index);
/* Index of a live pid with this start time (0 = any), REC_NONE. */
uint32_t rec_process_find(const struct rec_region *region, uint32_t pid, uint64_t start_time);

/**
 * rec_thread_join() - claims an entry for a thread; entries of ended threads are used again, in the
 * order they were claimed. rec_thread_leave() marks the end; the entry's losses are added to the
 * header's totals. rec_thread_leave_all() does so for all threads of a process.
 * Return: index, REC_NONE when full. Context: as rec_process_join().
 */
uint32_t rec_thread_join(struct rec_region *region, uint32_t pid, uint32_t tid, uint32_t process,
			 uint64_t now, const char *name);
void rec_thread_leave(struct rec_region *region, uint32_t index, uint64_t now);
void rec_thread_leave_all(struct rec_region *region, uint32_t process, uint64_t now);
struct rec_thread_entry *rec_thread_at(const struct rec_region *region, uint32_t index);

/**
 * rec_names_add() - stores bytes for the life of the region (module paths, arguments). The last
 * quarter of the pool is kept for strings of up to 1 KiB.
 * Return: id > 0; 0 when full. Equal strings are found again. Context: as above.
 */
uint32_t rec_names_add(struct rec_region *region, const void *bytes, uint32_t length);
/* Copies at most size - 1 bytes and a NUL; returns the whole length, or HOLTER_E_CORRUPT. */
int rec_names_read(const struct rec_region *region, uint32_t id, char *buffer, uint32_t size);

/**
 * rec_module_add() - enters a loaded object; an equal live entry (space, base, path) is found
 * again. rec_module_unload() - marks those of `space` that begin at `base` (0 = all) as gone.
 * Return: index, REC_NONE. Context: as above.
 */
uint32_t rec_module_add(struct rec_region *region, const struct rec_module *module);
void rec_module_unload(struct rec_region *region, uint32_t space, uint64_t base, uint64_t now);
const struct rec_module *rec_module_at(const struct rec_region *region, uint32_t index);

/**
 * rec_live_add() / rec_live_remove() - a sampled allocation begins, ends; the process's
 * live_samples and live_bytes follow. An address added again replaces its older entry.
 * rec_live_forget() drops all of a process, whose address space is gone. Return: 1 done; 0 full, or
 * not found. Context: any thread; lock-free; async-signal-safe.
 */
int rec_live_add(struct rec_region *region, uint32_t process, uint64_t address, uint64_t size,
		 uint64_t weight, uint32_t stack, uint32_t tid, uint64_t now);
int rec_live_remove(struct rec_region *region, uint32_t process, uint64_t address,
		    struct rec_live *removed);
void rec_live_forget(struct rec_region *region, uint32_t process);
/* A verified copy of entry `index` (< REC_LIVE_MAX): 1 alive, 0 not. */
int rec_live_read(const struct rec_region *region, uint32_t index, struct rec_live *copy);

/**
 * rec_user_type_add() - registers a program's own type; an equal name is found again.
 * Return: index, REC_NONE. rec_user_type_read() copies a bounded, NUL-ended one: 1, else 0.
 * Context: any thread.
 */
uint32_t rec_user_type_add(struct rec_region *region, const struct rec_user_type *type);
int rec_user_type_read(const struct rec_region *region, uint32_t index, struct rec_user_type *copy);

#endif
