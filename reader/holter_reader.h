/*
 * holter_reader.h - reads JDK Flight Recorder files of versions 1 and 2.x: those of Holter, of a
 * JVM, of async-profiler; plain, inside LZ4 frames or inside gzip (public, installed).
 *
 *     struct holter_reader *reader;
 *     const struct holter_event *event;
 *     int code = holter_reader_open("app.jfr.lz4", NULL, &reader, NULL);
 *
 *     while (code == 0 && (code = holter_reader_next(reader, &event)) > 0)
 *             use(holter_type_name(holter_event_type(event)), holter_event_start_ns(event));
 *     holter_reader_close(reader);
 *
 * Events come in file order, chunk by chunk (not sorted by time). Memory is bounded by the largest
 * chunk. The file is not trusted: damage costs the event or chunk it is in, becomes a `problem`
 * (code, offset, text) and reading goes on.
 *
 * LIFETIME. The caller owns readers and paths, the library everything else. Types, fields,
 * annotations, stacks, methods, threads and texts of constants last until the reader enters the
 * next chunk or is closed; an event, its values and their texts until the next event is read.
 * Texts are UTF-8 and end with NUL (they may contain others: see the length); what was invalid is
 * U+FFFD.
 *
 * ERRORS. Functions return 0 (or what is said) or a negative code of holter_error.h, and leave
 * their out-parameters untouched when they fail.
 *
 * THREADS. Readers are independent; one reader, its events and paths belong to one thread at a
 * time. Unless said otherwise functions do not block; none is async-signal-safe.
 */
#ifndef HOLTER_READER_H
#define HOLTER_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if __has_include("holter_error.h")
#include "holter_error.h" /* installed */
#else
#include "recorder/format/holter_error.h"
#endif
#include "holter_reader_info.h"
#include "holter_reader_path.h"
#include "holter_reader_type.h"
#include "holter_reader_value.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef HOLTER_PUBLIC
#define HOLTER_PUBLIC __attribute__((visibility("default")))
#endif

/* All zero is the default. */
struct holter_reader_options {
	/* Compressed and piped files only: refuse to hold more than this of one chunk; 0 = 1 GiB.
	 */
	uint64_t max_chunk_bytes;
	/* Called at once for every problem, also those beyond what is kept; may be NULL. */
	void (*on_problem)(void *context, const struct holter_problem *problem);
	void *context;
};

/* ---- opening ---- */

/**
 * holter_reader_open() - opens a file; the container is found by its first bytes, not its name.
 * @path: "-" is standard input.
 * @options: copied; NULL for the defaults.
 * @reader: receives a reader, to be closed with holter_reader_close().
 * @why: where not NULL, receives what is wrong when the call fails.
 *
 * A plain file is mapped and must not be truncated by others while it is read.
 *
 * Return: 0, or HOLTER_E_OPEN, HOLTER_E_READ, HOLTER_E_NOT_JFR, HOLTER_E_VERSION (JDK 7/8 files of
 * version 0.x), HOLTER_E_LZ4, HOLTER_E_TRUNCATED, HOLTER_E_NOMEM, HOLTER_E_ARGUMENT.
 * Context: any thread; reads the file, so it may block.
 */
HOLTER_PUBLIC int holter_reader_open(const char *path, const struct holter_reader_options *options,
				     struct holter_reader **reader, struct holter_problem *why);

/**
 * holter_reader_open_fd() - as holter_reader_open(), from a file descriptor (file, pipe, socket).
 * @fd: stays the caller's and must stay open until the reader is closed; a file is read from its
 *      first byte, anything else from where it stands.
 * @options: as for holter_reader_open().
 * @reader: as for holter_reader_open().
 * @why: as for holter_reader_open().
 *
 * Return: as holter_reader_open().
 * Context: any thread; may block.
 */
HOLTER_PUBLIC int holter_reader_open_fd(int fd, const struct holter_reader_options *options,
					struct holter_reader **reader, struct holter_problem *why);

/**
 * holter_reader_open_memory() - as holter_reader_open(), from bytes in memory.
 * @bytes: stay the caller's, unchanged until the reader is closed.
 * @size: of `bytes`.
 * @options: as for holter_reader_open().
 * @reader: as for holter_reader_open().
 * @why: as for holter_reader_open().
 *
 * Return: as holter_reader_open().
 * Context: any thread.
 */
HOLTER_PUBLIC int holter_reader_open_memory(const void *bytes, size_t size,
					    const struct holter_reader_options *options,
					    struct holter_reader **reader,
					    struct holter_problem *why);

/**
 * holter_reader_close() - frees a reader and everything it handed out.
 * @reader: NULL does nothing.
 *
 * Return: nothing.
 * Context: any thread.
 */
HOLTER_PUBLIC void holter_reader_close(struct holter_reader *reader);

/* ---- walking the file ---- */

/**
 * holter_reader_next() - reads the next event, entering the next chunk where needed.
 * @reader: an open reader.
 * @event: receives the event.
 *
 * Return: 1 with an event, 0 at the end of the file; HOLTER_E_NOMEM or HOLTER_E_READ when reading
 * cannot go on (calling again continues behind what could not be read). Damage is not returned:
 * see holter_reader_problem().
 * Context: the reader's thread; may block on a pipe.
 */
HOLTER_PUBLIC int holter_reader_next(struct holter_reader *reader,
				     const struct holter_event **event);

/**
 * holter_reader_next_chunk() - skips what is left of the current chunk and enters the next one:
 * afterwards its types and holter_reader_chunk() are there, and holter_reader_next() reads its
 * events. Chunks whose metadata cannot be read are entered too, with no types and no events.
 * @reader: an open reader.
 *
 * Return: 1 in a chunk, 0 at the end of the file, or as holter_reader_next().
 * Context: the reader's thread; may block on a pipe.
 */
HOLTER_PUBLIC int holter_reader_next_chunk(struct holter_reader *reader);

/**
 * holter_reader_next_in_chunk() - as holter_reader_next(), but stops at the end of the chunk.
 * @reader: an open reader.
 * @event: receives the event.
 *
 * Return: 1 with an event, 0 at the end of the chunk or outside one, or a negative code.
 * Context: the reader's thread.
 */
HOLTER_PUBLIC int holter_reader_next_in_chunk(struct holter_reader *reader,
					      const struct holter_event **event);

/**
 * holter_reader_event_at() - reads an event of the current chunk again, for example in an order
 * sorted by time. Does not move holter_reader_next() and counts nothing.
 * @reader: an open reader.
 * @offset: of holter_event_offset(), of an event of the current chunk.
 * @event: receives the event; ends the life of the event before.
 *
 * Return: 0, HOLTER_E_ARGUMENT outside the chunk, HOLTER_E_CORRUPT where no event is.
 * Context: the reader's thread.
 */
HOLTER_PUBLIC int holter_reader_event_at(struct holter_reader *reader, uint64_t offset,
					 const struct holter_event **event);

/**
 * holter_reader_scan() - counts all that is left of the file without decoding it (the fast way to
 * a summary; constants are not read).
 * @reader: an open reader; afterwards at its end.
 *
 * Return: 0 or a negative code as holter_reader_next().
 * Context: the reader's thread; may block on a pipe.
 */
HOLTER_PUBLIC int holter_reader_scan(struct holter_reader *reader);

/**
 * holter_reader_rewind() - goes back to before the first chunk; counts and problems start anew.
 * @reader: an open reader of a file or of memory.
 *
 * Return: 0, HOLTER_E_ARGUMENT for a pipe, HOLTER_E_READ.
 * Context: the reader's thread.
 */
HOLTER_PUBLIC int holter_reader_rewind(struct holter_reader *reader);

#ifdef __cplusplus
}
#endif
#endif
