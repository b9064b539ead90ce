/*
 * The reader as its users see it: opening, moving on, what is known about the file.
 *
 * In: calls of holter_reader.h. The work is done by source.c (bytes), chunk_read.c (chunks) and
 * event_read.c (events); nothing here looks at a byte of the file.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "reader/chunk_read.h"
#include "reader/counts.h"
#include "reader/event_read.h"

#define CHUNK_BYTES_LEAST (64u << 10)

static uint64_t make_nonce(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int fill_in(struct holter_problem *why, int code)
{
	*why = (struct holter_problem){ .code = code, .severity = HOLTER_DAMAGE };
	snprintf(why->text, sizeof(why->text), "%s", holter_error_text(code));
	return code;
}

/* The common part of opening; takes over an owned descriptor also when it fails. */
static int open_reader(int fd, bool owns_fd, const void *bytes, size_t size,
		       const struct holter_reader_options *options, struct holter_reader **result,
		       struct holter_problem *why)
{
	struct holter_reader *reader = calloc(1, sizeof(*reader));
	struct holter_problem ignored = { .code = 0 };
	uint64_t limit = options ? options->max_chunk_bytes : 0;
	int code;

	why = why ? why : &ignored;
	if (!reader) {
		if (owns_fd)
			close(fd);
		return fill_in(why, HOLTER_E_NOMEM);
	}
	if (limit && limit < CHUNK_BYTES_LEAST)
		limit = CHUNK_BYTES_LEAST;
	code = rdr_source_open(&reader->source, fd, owns_fd, bytes, size, limit);
	if (code) {
		free(reader);
		return fill_in(why, code);
	}
	if (options)
		reader->options = *options;
	reader->nonce = make_nonce();
	reader->texts = &reader->event_arena;
	code = rdr_chunk_check_first(reader, why);
	if (!code && !rdr_counts_init(reader))
		code = fill_in(why, HOLTER_E_NOMEM);
	if (code) {
		holter_reader_close(reader);
		return code;
	}
	*result = reader;
	return 0;
}

int holter_reader_open(const char *path, const struct holter_reader_options *options,
		       struct holter_reader **reader, struct holter_problem *why)
{
	struct holter_problem ignored = { .code = 0 };
	int fd;

	if (strcmp(path, "-") == 0)
		return open_reader(STDIN_FILENO, false, NULL, 0, options, reader, why);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		why = why ? why : &ignored;
		fill_in(why, HOLTER_E_OPEN);
		snprintf(why->text, sizeof(why->text), "cannot be opened: %m");
		return HOLTER_E_OPEN;
	}
	return open_reader(fd, true, NULL, 0, options, reader, why);
}

int holter_reader_open_fd(int fd, const struct holter_reader_options *options,
			  struct holter_reader **reader, struct holter_problem *why)
{
	if (fd < 0)
		return HOLTER_E_ARGUMENT;
	return open_reader(fd, false, NULL, 0, options, reader, why);
}

int holter_reader_open_memory(const void *bytes, size_t size,
			      const struct holter_reader_options *options,
			      struct holter_reader **reader, struct holter_problem *why)
{
	return open_reader(-1, false, bytes ? bytes : "", bytes ? size : 0, options, reader, why);
}

void holter_reader_close(struct holter_reader *reader)
{
	if (!reader)
		return;
	rdr_source_close(&reader->source);
	rdr_counts_fini(reader);
	rdr_arena_fini(&reader->chunk.arena);
	rdr_arena_fini(&reader->event_arena);
	free(reader->event_segments);
	free(reader);
}

int holter_reader_next_chunk(struct holter_reader *reader)
{
	int code = 0;

	if (reader->is_in_chunk)
		code = rdr_chunk_leave(reader);
	return code ? code : rdr_chunk_enter(reader);
}

int holter_reader_next_in_chunk(struct holter_reader *reader, const struct holter_event **event)
{
	int code = reader->is_in_chunk ? rdr_event_next(reader) : 0;

	if (likely(code > 0))
		*event = &reader->event;
	return code;
}

int holter_reader_next(struct holter_reader *reader, const struct holter_event **event)
{
	int code = holter_reader_next_in_chunk(reader, event);

	while (code == 0) {
		code = holter_reader_next_chunk(reader);
		if (code <= 0)
			return code;
		code = holter_reader_next_in_chunk(reader, event);
	}
	return code;
}

int holter_reader_scan(struct holter_reader *reader)
{
	int code;

	do {
		if (reader->is_in_chunk)
			rdr_event_count_rest(reader);
		code = holter_reader_next_chunk(reader);
	} while (code > 0);
	return code;
}

int holter_reader_rewind(struct holter_reader *reader)
{
	int code = rdr_source_rewind(&reader->source);

	if (code)
		return code;
	reader->is_in_chunk = false;
	reader->serial++;
	reader->chunk.info = (struct holter_chunk){ .number = 0 };
	reader->problem_count = 0;
	reader->totals = (struct holter_totals){ .chunk_count = 0 };
	for (size_t i = 0; i < reader->count_count; i++) {
		reader->counts[i].count = 0;
		reader->counts[i].bytes = 0;
	}
	return 0;
}

const struct holter_chunk *holter_reader_chunk(const struct holter_reader *reader)
{
	return reader->is_in_chunk ? &reader->chunk.info : NULL;
}

const unsigned char *holter_reader_chunk_bytes(const struct holter_reader *reader, size_t *size)
{
	if (!reader->is_in_chunk)
		return NULL;
	*size = (size_t)(reader->chunk.end - reader->chunk.base);
	return reader->chunk.base;
}

void holter_reader_totals(const struct holter_reader *reader, struct holter_totals *totals)
{
	*totals = reader->totals;
}

size_t holter_reader_counts(const struct holter_reader *reader,
			    const struct holter_type_count **counts)
{
	*counts = reader->counts;
	return reader->count_count;
}

enum holter_container holter_reader_container(const struct holter_reader *reader)
{
	return reader->source.container;
}

const struct holter_problem *holter_reader_problem(const struct holter_reader *reader, size_t index)
{
	return index < reader->problem_count ? &reader->problems[index] : NULL;
}

size_t holter_reader_type_count(const struct holter_reader *reader)
{
	return reader->is_in_chunk ? reader->chunk.type_count : 0;
}

const struct holter_type *holter_reader_type(const struct holter_reader *reader, size_t index)
{
	return index < holter_reader_type_count(reader) ? &reader->chunk.types[index] : NULL;
}

const struct holter_type *holter_reader_find_type(const struct holter_reader *reader,
						  const char *name)
{
	size_t count = holter_reader_type_count(reader);

	for (size_t i = 0; i < count; i++)
		if (strcmp(reader->chunk.types[i].name, name) == 0)
			return &reader->chunk.types[i];
	return NULL;
}
