/*
 * A thread's hot state: its writer, its sampling counters, its last stack.
 *
 * In: the first event of a thread. Out: a struct rec_thread that hooks reach by one initial-exec
 * thread-local pointer. It lies in MADV_WIPEONFORK memory: a forked child, by any road, finds zeros
 * and so takes the slow path, which gives it an entry and a chunk of its own.
 */
#ifndef HOLTER_CAPTURE_THREAD_H
#define HOLTER_CAPTURE_THREAD_H

#include "recorder/region/append.h"
#include "recorder/region/depot.h"
#include "recorder/region/tables.h"

#define REC_MEMO_WORDS 224 /* of the stack walker (stackwalk.c) */

struct rec_thread {
	/* One cache line: all that the lean hooks touch. */
	struct rec_writer writer; /* 32 bytes */
	int64_t alloc_left;	  /* bytes until the next allocation sample; <= 0 after a fork */
	uint64_t alloc_random;	  /* state of the sampling generator; 0 = not yet seeded */
	uint32_t tid;		  /* 0: not attached in this process */
	uint32_t process;	  /* entry in the process table */
	uint32_t thread;	  /* entry in the thread table */
	uint32_t busy;		  /* > 0: inside the recorder; hooks call straight through */
	/* cold */
	struct rec_writer_cold cold __attribute__((aligned(CACHE_LINE)));
	uint64_t next_free; /* link of free states */
	uint32_t is_late;   /* attached after its thread's destructors: nobody will detach it */
	uint32_t reserved;
	uint64_t stack_low, stack_high; /* bounds known to be readable; 0 = not yet known */
	uint32_t sample_count[EV_NUMBER_MAX];
	uint64_t memo[REC_MEMO_WORDS]; /* stackwalk.c */
};

/* State of this process; wiped in a forked child, whose first event joins it to the family. */
struct rec_own {
	uint32_t pid;	  /* 0: not joined yet */
	uint32_t process; /* entry in the process table */
	uint32_t space;	  /* address space: inherited by fork */
	uint32_t joining; /* a thread joins now (thread.c) */
	uint32_t silent;  /* 1: this process does not record */
	uint32_t late_cursor;
	uint64_t free_states;	  /* tag 16 | address 48 */
	uint64_t slab, slab_used; /* where new states are cut from */
};

/*
 * Never NULL: a thread that has no state yet points at rec_thread_none, whose empty chunk leads to
 * the slow path. rec_thread_mute is the same, but never attaches: vfork children, the leader
 * thread.
 */
extern __thread struct rec_thread *rec_thread_current
	__attribute__((tls_model("initial-exec"), visibility("hidden")));
extern struct rec_thread rec_thread_none __attribute__((visibility("hidden")));
extern struct rec_thread rec_thread_mute __attribute__((visibility("hidden")));
extern struct rec_region rec_family __attribute__((visibility("hidden"))); /* base NULL: none */

static inline struct rec_thread *rec_thread_self(void)
{
	return rec_thread_current;
}

/**
 * rec_thread_attach() - gives the calling thread its state, and this process its entry, if need be.
 *
 * Return: the state; rec_thread_mute where nothing can or shall be recorded.
 * Context: any thread, handler, forked child; no allocation by malloc; async-signal-safe.
 */
struct rec_thread *rec_thread_attach(void);

/**
 * rec_thread_append_slow() - slow path of rec_emit(): attaches, changes the chunk, moves the time
 * base, or counts a loss.
 *
 * Return: nothing. Context: any thread and its handlers; async-signal-safe; a system call only when
 * it attaches or the ring grows.
 */
void rec_thread_append_slow(struct rec_thread *thread, uint32_t type, uint32_t flags,
			    uint64_t ticks, const void *body, uint32_t bytes);

/**
 * rec_thread_detach() - end of the calling thread: gives back its chunk and state. A later event of
 * it (in a destructor of thread-local storage) attaches again; that state is collected by the next
 * thread that attaches, when the kernel no longer knows the tid.
 *
 * Return: nothing. Context: the thread itself, last round of its key destructors.
 */
void rec_thread_detach(void);

/* Called in a thread that has just been attached: preload.c arms its key destructor. May be NULL.
 */
extern void (*rec_thread_attached)(struct rec_thread *thread) __attribute__((visibility("hidden")));

/* Called in a thread that has changed its chunk (slow path): preload.c starts a leader. May be
 * NULL. */
extern void (*rec_thread_chunk_taken)(void) __attribute__((visibility("hidden")));

/**
 * rec_thread_rename() - the calling thread was renamed (pthread_setname_np, prctl): its chunk and
 * entry follow.
 *
 * Return: nothing. Context: the thread itself; async-signal-safe.
 */
void rec_thread_rename(const char *name);

/**
 * rec_process_attach() - start-up of an image: maps the settings page, makes this process known.
 * @region: opened by the caller; copied into rec_family.
 * Return: 0, HOLTER_E_LIMIT. Context: constructor, one thread.
 */
int rec_process_attach(const struct rec_region *region);

/**
 * rec_process_forked() - in a forked child: joins the family now instead of at the first event.
 *
 * Return: the entry, REC_NONE. Context: the child's only thread; async-signal-safe.
 */
uint32_t rec_process_forked(void);

/**
 * rec_process_silence() - makes this process silent: its settings page becomes private and zero.
 *
 * Return: nothing. Context: any thread; a system call; async-signal-safe.
 */
void rec_process_silence(void);

/**
 * rec_process_own() - own entries; pid 0 while not joined.
 *
 * Return: never NULL. Context: any; async-signal-safe.
 */
const struct rec_own *rec_process_own(void);

/**
 * rec_stack_capture() - walks the calling thread's stack from the first frame outside the recorder
 * and interns it (stackwalk.c).
 *
 * Return: depot id; 0 where none can be had (counted).
 * Context: any thread, handlers too; async-signal-safe; errno untouched.
 */
uint32_t rec_stack_capture(struct rec_thread *thread);

/**
 * rec_string(), rec_address() - intern a string or an address for an event.
 *
 * Return: depot id; 0 where there is no room (counted). Context: as rec_depot_intern().
 */
uint32_t rec_string(struct rec_thread *thread, const char *text, size_t length);
uint32_t rec_address(struct rec_thread *thread, const struct rec_address *address);

#endif
