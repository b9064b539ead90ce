/*
 * Region -> file: copies the ring, adds what is told once per dump, writes one JFR chunk.
 *
 * In: a mapped region (trusted in nothing) and options. Out: a finished file under its final name,
 * or nothing. Steps, one file each: dump.c (order of work), snapshot.c (verified copies, records
 * merged by time), thread_list.c (whose they are), module_list.c and frames.c (addresses),
 * meta_write.c, chunk_write.c (header, events), pool_write.c (constants), once_write.c and
 * once_machine.c (events once per dump), dump_stream.c (blocks), lz4_encode.c, sink.c (temporary
 * name, fsync, rename). Works inside the recorded program too (leader=thread): memory from vec.h,
 * raw system calls.
 */
#ifndef HOLTER_DUMP_DUMP_H
#define HOLTER_DUMP_DUMP_H

#include "recorder/region/region.h"

/* One resolved frame; inlined functions give several for one address, innermost first. */
struct rec_symbol {
	char name[256];	      /* demangled, without parameters; "" = unknown */
	char parameters[256]; /* "int, char const*"; "" = none known */
	int32_t line;	      /* -1 unknown */
	uint8_t is_cplusplus;
	uint8_t is_inlined;
};

/*
 * Resolves an address of a file outside the recorded program; NULL in the leader thread, then names
 * are "0x..." and `holter symbolize` does it later.
 * @module: path, @build_id: hex or "", @address: virtual address in that file.
 * Returns how many of `max` symbols were filled; 0 = unknown.
 */
struct rec_symbolizer {
	int (*resolve)(void *context, const char *module, const char *build_id, uint64_t address,
		       struct rec_symbol *symbols, int max);
	void *context;
	/* Name of a C++ class from its mangled one, NUL-ended; NULL: they stay mangled. False:
	 * unknown. */
	bool (*type_name)(void *context, const char *mangled, size_t length, char *name,
			  size_t size);
};

struct rec_dump_options {
	const char *path;      /* final name; NULL = default name in `directory` */
	const char *directory; /* made if missing; falls back to /tmp; NULL = the configured one */
	int compress;	       /* 1 LZ4 frame; -1 by the suffix of `path` (unnamed: configured) */
	const char *reason;    /* jdk.DumpReason, e.g. "Signal SIGUSR2" */
	uint64_t last_ns;      /* only events that ended within; 0 = all */
	uint64_t begin_epoch_ns, end_epoch_ns;	 /* only events between; 0 = open */
	const struct rec_symbolizer *symbolizer; /* may be NULL */
	int force; /* 1: `path` may be overwritten (always by rename, never in place) */
};

struct rec_dump_result {
	char path[4096]; /* of the finished file */
	uint64_t bytes;	 /* of the file */
	uint64_t events;
	uint64_t chunks_copied, chunks_recycled, chunks_damaged;
	uint64_t events_lost; /* sum of all loss counters */
	uint64_t cpu_ns, wall_ns;
	char error[512]; /* one line for people where the dump failed: what, which file, why */
};

/**
 * rec_dump_write() - writes everything the region holds to a file.
 * @region: mapped, read-only suffices.
 * @result: out; `error` is filled on failure.
 *
 * The file is written under a temporary name beside it (O_EXCL|O_NOFOLLOW, 0600), synced and
 * renamed.
 *
 * Return: 0; HOLTER_E_WRITE, HOLTER_E_NOSPACE, HOLTER_E_PERMISSION, HOLTER_E_REGION,
 * HOLTER_E_NOMEM: no file is left behind. Context: one thread at a time per region in a process;
 * blocks on I/O; not in a hook.
 */
int rec_dump_write(struct rec_region *region, const struct rec_dump_options *options,
		   struct rec_dump_result *result);

#endif
