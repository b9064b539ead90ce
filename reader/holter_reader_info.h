/*
 * holter_reader_info.h - what a reader knows about its file: chunks, counts, problems, types
 * (public, installed, part of holter_reader.h: include that).
 *
 * No function here fails, blocks or allocates.
 */
#ifndef HOLTER_READER_INFO_H
#define HOLTER_READER_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef HOLTER_PUBLIC
#define HOLTER_PUBLIC __attribute__((visibility("default")))
#endif

struct holter_reader;
struct holter_type;

enum holter_severity {
	HOLTER_NOTE,   /* odd but nothing is lost: tail behind a chunk in flight, key given twice */
	HOLTER_DAMAGE, /* some events, constants or bytes could not be read */
};

/* One thing that is wrong with the file. A plain copy: nothing in it points into the reader. */
struct holter_problem {
	int code; /* HOLTER_E_* */
	enum holter_severity severity;
	uint32_t chunk;	     /* number of the chunk, from 0 */
	uint64_t offset;     /* in the file; of a compressed file: in the decompressed bytes */
	uint64_t bytes_lost; /* bytes that were not read because of it, 0 where none or unknown */
	char text[192];	     /* for people, without file name and offset */
};

enum holter_container { HOLTER_PLAIN, HOLTER_LZ4, HOLTER_GZIP };

/* The header of a chunk and what was found in it. */
struct holter_chunk {
	uint32_t number; /* from 0 */
	uint16_t major, minor;
	uint16_t flags;		    /* bit 0 integers compressed, bit 1 last chunk of a recording */
	uint8_t state;		    /* 0 finished, else it was being written */
	uint64_t offset;	    /* of its first byte, in the (decompressed) file */
	uint64_t size;		    /* bytes, as in the header */
	uint64_t size_present;	    /* bytes that are there: less than `size` when cut off */
	uint64_t checkpoint_offset; /* from the start of the chunk, as in the header */
	uint64_t metadata_offset;
	int64_t start_ns; /* since the epoch */
	int64_t duration_ns;
	int64_t end_ns; /* start + duration */
	int64_t start_ticks;
	int64_t ticks_per_second;
	/* counted while the chunk is read */
	uint64_t event_count; /* events met so far, without metadata and checkpoints */
	uint32_t metadata_count;
	uint32_t checkpoint_count; /* read for constants */
	uint64_t constant_count;
	uint64_t duplicate_count; /* constants given again under the same key; the newest counts */
	uint64_t metadata_id;
	const char *locale; /* attributes of the region element, NULL where absent */
	int64_t gmt_offset_ms;
};

/* What was met of one event type, by name, over all chunks read so far. */
struct holter_type_count {
	const char *name; /* lasts as long as the reader; "<unknown>" for ids without a type */
	int64_t id;	  /* in the chunk that showed it first */
	uint64_t count;
	uint64_t bytes; /* whole events, their size fields included */
};

/* Over all chunks read so far. */
struct holter_totals {
	uint32_t chunk_count;
	uint16_t major, minor; /* of the first chunk */
	uint64_t event_count;  /* without metadata and checkpoints */
	uint64_t bad_event_count;
	uint64_t byte_count; /* of all chunks */
	uint64_t lost_bytes;
	int64_t start_ns;    /* of the first chunk */
	int64_t end_ns;	     /* latest start + duration of a chunk */
	int64_t duration_ns; /* sum over the chunks */
	uint64_t note_count;
	uint64_t damage_count;
};

/* ---- what is known about the file ---- */

/**
 * holter_reader_chunk() - the current chunk.
 * @reader: an open reader.
 *
 * Return: its description, valid until the next chunk; NULL before the first and after the last.
 * Context: the reader's thread.
 */
HOLTER_PUBLIC const struct holter_chunk *holter_reader_chunk(const struct holter_reader *reader);

/**
 * holter_reader_chunk_bytes() - the current chunk as it stands in the (decompressed) file, from the
 * first byte of its header: for those who copy events or constants.
 * @reader: an open reader.
 * @size: receives how many bytes there are: holter_chunk.size_present.
 *
 * Return: the bytes, valid until the next chunk; not trusted by anyone. NULL outside a chunk.
 * Context: the reader's thread.
 */
HOLTER_PUBLIC const unsigned char *holter_reader_chunk_bytes(const struct holter_reader *reader,
							     size_t *size);

/**
 * holter_reader_totals() - sums over the chunks read so far.
 * @reader: an open reader.
 * @totals: receives them.
 *
 * Return: nothing.
 * Context: the reader's thread.
 */
HOLTER_PUBLIC void holter_reader_totals(const struct holter_reader *reader,
					struct holter_totals *totals);

/**
 * holter_reader_counts() - events by type name, over the chunks read so far; also types that were
 * declared and did not occur, and the format's own "jdk.Metadata" and "jdk.CheckPoint".
 * @reader: an open reader.
 * @counts: receives an array in order of first sight, valid until the reader moves on.
 *
 * Return: number of entries.
 * Context: the reader's thread.
 */
HOLTER_PUBLIC size_t holter_reader_counts(const struct holter_reader *reader,
					  const struct holter_type_count **counts);

/**
 * holter_reader_container() - how the bytes are wrapped.
 * @reader: an open reader.
 *
 * Return: plain, LZ4 or gzip.
 * Context: the reader's thread.
 */
HOLTER_PUBLIC enum holter_container holter_reader_container(const struct holter_reader *reader);

/**
 * holter_reader_problem() - one of the problems met so far; the first 64 are kept.
 * @reader: an open reader.
 * @index: from 0, in the order of reading.
 *
 * Return: the problem, valid as long as the reader; NULL when there are not so many.
 * Context: the reader's thread.
 */
HOLTER_PUBLIC const struct holter_problem *holter_reader_problem(const struct holter_reader *reader,
								 size_t index);

/* ---- types of the current chunk (more in holter_reader_type.h) ---- */

/**
 * holter_reader_type_count() - number of types in the metadata of the current chunk.
 * @reader: an open reader.
 *
 * Return: the count; 0 outside a chunk.
 * Context: the reader's thread.
 */
HOLTER_PUBLIC size_t holter_reader_type_count(const struct holter_reader *reader);

/**
 * holter_reader_type() - a type of the current chunk.
 * @reader: an open reader.
 * @index: from 0, in the order of the metadata.
 *
 * Return: the type, valid until the next chunk; NULL when there are not so many.
 * Context: the reader's thread.
 */
HOLTER_PUBLIC const struct holter_type *holter_reader_type(const struct holter_reader *reader,
							   size_t index);

/**
 * holter_reader_find_type() - a type of the current chunk by its full name, such as
 * "jdk.SocketRead" (names of JDK 9 and 10 are mapped to today's).
 * @reader: an open reader.
 * @name: ends with NUL.
 *
 * Return: the type, valid until the next chunk; NULL when there is none.
 * Context: the reader's thread.
 */
HOLTER_PUBLIC const struct holter_type *holter_reader_find_type(const struct holter_reader *reader,
								const char *name);

#ifdef __cplusplus
}
#endif
#endif
