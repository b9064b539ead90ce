/*
 * Enters and leaves chunks (jfr-format 1, 8, 10).
 *
 * In: the window of source.c. Out: reader->chunk with header, types and the range of its events.
 * What is wrong with one chunk must not cost the next: whenever there is no chunk where one should
 * begin, the magic is searched.
 */
#include "reader/chunk_read.h"

#include <stdarg.h>
#include <stdio.h>

#include "reader/event_read.h"
#include "reader/meta_read.h"

#define STATE_FINISHED 0
#define FLAG_COMPRESSED 1
#define SEARCH_BYTES (1u << 20) /* window while searching a pipe or compressed data */
#define MINOR_MAX 99

static const uint8_t magic[4] = { 'F', 'L', 'R', 0 };

struct header {
	uint16_t major, minor, flags;
	uint8_t state;
	uint64_t size, checkpoint_offset, metadata_offset;
	int64_t start_ns, duration_ns, start_ticks, ticks_per_second;
};

static void read_header(const uint8_t *at, struct header *header)
{
	header->major = rdr_be16(at + 4);
	header->minor = rdr_be16(at + 6);
	header->size = rdr_be64(at + 8);
	header->checkpoint_offset = rdr_be64(at + 16);
	header->metadata_offset = rdr_be64(at + 24);
	header->start_ns = (int64_t)rdr_be64(at + 32);
	header->duration_ns = (int64_t)rdr_be64(at + 40);
	header->start_ticks = (int64_t)rdr_be64(at + 48);
	header->ticks_per_second = (int64_t)rdr_be64(at + 56);
	header->state = at[64];
	header->flags = rdr_be16(at + 66);
}

static bool has_magic(const uint8_t *at, const uint8_t *end)
{
	return end - at >= 4 && memcmp(at, magic, 4) == 0;
}

/* Whether an event of at most `most` bytes may stand at `at`, as far as it is in the window. */
static bool may_be_event(const uint8_t *at, const uint8_t *end, uint64_t most, bool is_metadata)
{
	uint64_t size;
	uint64_t id = 0; /* gcc does not see that it is set */
	const uint8_t *body = rdr_varint(at, end, &size);

	if (!body)
		return end - at < LEB128_MAX_BYTES;
	if (size > most || size <= (uint64_t)(body - at))
		return false;
	return !is_metadata || !rdr_varint(body, end, &id) || id == 0;
}

bool rdr_chunk_begins(const uint8_t *at, const uint8_t *end)
{
	struct header header;
	uint64_t offset;

	if (!has_magic(at, end) || end - at < RDR_HEADER_BYTES)
		return false;
	read_header(at, &header);
	if (header.major < 1 || header.major > 2 || header.minor > MINOR_MAX ||
	    header.size < RDR_HEADER_BYTES || header.size > INT64_MAX ||
	    header.ticks_per_second <= 0)
		return false;
	/* JVMs keep copies of headers as constants; only a real one has its metadata in place. */
	offset = header.metadata_offset;
	if (offset >= RDR_HEADER_BYTES && offset < header.size && offset < (uint64_t)(end - at))
		return may_be_event(at + offset, end, header.size - offset, true);
	return header.size == RDR_HEADER_BYTES || end - at == RDR_HEADER_BYTES ||
	       may_be_event(at + RDR_HEADER_BYTES, end, header.size - RDR_HEADER_BYTES, false);
}

static int refuse(struct holter_problem *why, int code, const char *text)
{
	*why = (struct holter_problem){ .code = code, .severity = HOLTER_DAMAGE };
	snprintf(why->text, sizeof(why->text), "%s", text);
	return code;
}

int rdr_chunk_check_first(struct holter_reader *reader, struct holter_problem *why)
{
	struct rdr_source *source = &reader->source;
	int code = rdr_source_fill(source, RDR_HEADER_BYTES);

	if (code)
		return refuse(why, code, "out of memory");
	if (source->size < 4 && source->error)
		return refuse(why, source->error, holter_error_text(source->error));
	if (source->size == 0)
		return refuse(why, HOLTER_E_NOT_JFR, "the file is empty");
	if (!has_magic(source->base, source->base + source->size))
		return refuse(why, HOLTER_E_NOT_JFR, "this is not a JFR file");
	if (source->size < RDR_HEADER_BYTES)
		return refuse(why, HOLTER_E_TRUNCATED, "the file ends inside its first header");
	if (rdr_be16(source->base + 4) == 0)
		return refuse(why, HOLTER_E_VERSION,
			      "a recording of JDK 7 or 8 (version 0.x), which is another format; "
			      "JDK Mission Control can read it");
	if (rdr_be16(source->base + 4) > 2)
		return refuse(why, HOLTER_E_VERSION, "a version of JFR that is not known (over 2)");
	return 0;
}

/*
 * Moves the source on to where a chunk begins, not before `from` bytes. Returns 1, 0 when there is
 * none, or a negative code; *skipped is how far it moved.
 */
static int search_chunk(struct holter_reader *reader, uint64_t from, uint64_t *skipped)
{
	struct rdr_source *source = &reader->source;
	uint64_t start = source->position;
	int code;

	rdr_source_skip(source, from);
	for (;;) {
		const uint8_t *at = source->base;
		const uint8_t *end = at + source->size;

		while (at < end && (at = memmem(at, (size_t)(end - at), magic, 4)) != NULL) {
			if (rdr_chunk_begins(at, end)) {
				rdr_source_skip(source, (uint64_t)(at - source->base));
				*skipped = source->position - start;
				return 1;
			}
			at++;
		}
		*skipped = source->position + source->size - start;
		if (source->is_whole) {
			rdr_source_skip(source, source->size);
			return 0;
		}
		/* Keep what may be the first part of a header. */
		rdr_source_skip(source, source->size - min_u64(source->size, RDR_HEADER_BYTES - 1));
		code = rdr_source_fill(source, SEARCH_BYTES);
		if (code)
			return code;
	}
}

/* Reports why compressed or piped bytes ended early, and goes on behind that where possible. */
static bool resume_source(struct holter_reader *reader)
{
	struct rdr_source *source = &reader->source;
	int error = source->error;

	if (!error)
		return false;
	rdr_problem(reader, error, HOLTER_DAMAGE, source->position + source->size, 0, "%s",
		    error == HOLTER_E_READ	  ? "the file cannot be read further"
		    : error == HOLTER_E_TRUNCATED ? "the compressed data is cut off"
						  : "the compressed data is damaged");
	if (rdr_source_resume(source))
		return true;
	source->error = 0;
	return false;
}

/* Nothing or no chunk at the source's position: finds one. Returns as search_chunk(). */
static int resync(struct holter_reader *reader, const char *text, uint64_t from, bool is_tail)
{
	uint64_t offset = reader->source.position;
	uint64_t skipped = 0;
	int found = search_chunk(reader, from, &skipped);

	rdr_problem(reader, is_tail ? HOLTER_E_TRUNCATED : HOLTER_E_CORRUPT,
		    is_tail ? HOLTER_NOTE : HOLTER_DAMAGE, offset, is_tail ? 0 : skipped,
		    "%s: %llu bytes skipped", text, (unsigned long long)skipped);
	return found;
}

/* What keeps the header at the source's position from being read; NULL when nothing does. */
static const char *check_header(struct holter_reader *reader, bool is_tail)
{
	const struct rdr_source *source = &reader->source;
	struct header header;

	if (source->size < RDR_HEADER_BYTES)
		return "bytes behind the last chunk";
	if (!has_magic(source->base, source->base + source->size))
		return is_tail ? "bytes behind a chunk that was being written"
			       : "no chunk begins where one should";
	read_header(source->base, &header);
	if (header.major < 1 || header.major > 2)
		return "a chunk of an unknown version";
	if (header.size < RDR_HEADER_BYTES || header.size > INT64_MAX)
		return "a chunk with an impossible size";
	if (header.ticks_per_second <= 0)
		return "a chunk with an impossible clock";
	if (!(header.flags & FLAG_COMPRESSED))
		rdr_problem(reader, HOLTER_E_CORRUPT, HOLTER_NOTE, source->position + 66, 0,
			    "the header says integers are not compressed; read as if they were");
	return NULL;
}

/* Brings the source to a header worth reading. Returns 1, 0 at the end of the file, negative. */
static int find_header(struct holter_reader *reader)
{
	struct rdr_source *source = &reader->source;
	bool is_tail = reader->totals.chunk_count && reader->chunk.info.state != STATE_FINISHED;
	int code;

	for (;;) {
		const char *why;

		code = rdr_source_fill(source, RDR_HEADER_BYTES);
		if (code)
			return code;
		if (source->size == 0) {
			if (!resume_source(reader))
				return 0;
			continue;
		}
		why = check_header(reader, is_tail);
		if (!why)
			return 1;
		code = resync(reader, why,
			      has_magic(source->base, source->base + source->size) ? 4 : 0,
			      is_tail);
		if (code)
			return code;
	}
}

static void set_info(struct holter_reader *reader)
{
	struct rdr_source *source = &reader->source;
	struct rdr_chunk *chunk = &reader->chunk;
	struct header header;

	read_header(source->base, &header);
	chunk->base = source->base;
	chunk->info = (struct holter_chunk){
		.number = reader->totals.chunk_count,
		.major = header.major,
		.minor = header.minor,
		.flags = header.flags,
		.state = header.state,
		.offset = source->position,
		.size = header.size,
		.size_present = min_u64(header.size, source->size),
		.checkpoint_offset = header.checkpoint_offset,
		.metadata_offset = header.metadata_offset,
		.start_ns = header.start_ns,
		.duration_ns = header.duration_ns,
		.start_ticks = header.start_ticks,
		.ticks_per_second = header.ticks_per_second,
	};
	if (__builtin_add_overflow(header.start_ns, header.duration_ns, &chunk->info.end_ns))
		chunk->info.end_ns = header.start_ns;
	chunk->end = chunk->base + chunk->info.size_present;
	chunk->cursor = chunk->base + RDR_HEADER_BYTES;
	chunk->ticks_per_ns = (double)header.ticks_per_second / 1e9;
}

/* The metadata that the header names, else the last whole one that a walk finds. */
static int read_metadata(struct holter_reader *reader)
{
	struct rdr_chunk *chunk = &reader->chunk;
	uint64_t size = (uint64_t)(chunk->end - chunk->base);
	uint64_t offset = chunk->info.metadata_offset;
	const char *why = "the header does not say where the metadata is";
	const uint8_t *last = NULL;
	struct rdr_frame frame;
	int code = HOLTER_E_CORRUPT;

	if (offset >= RDR_HEADER_BYTES && offset < size)
		code = rdr_meta_read(reader, chunk->base + offset, &why);
	else if (offset >= size)
		why = "the metadata lies behind the end";
	if (!code || code == HOLTER_E_NOMEM)
		return code;
	for (const uint8_t *at = chunk->base + RDR_HEADER_BYTES;
	     rdr_frame_read(at, chunk->end, &frame); at = frame.end)
		if (frame.id == 0)
			last = at;
	if (last) {
		rdr_problem(reader, code, HOLTER_DAMAGE, chunk->info.offset, 0,
			    "%s; other metadata was found by searching", why);
		code = rdr_meta_read(reader, last, &why);
	}
	if (code && code != HOLTER_E_NOMEM)
		rdr_problem(reader, code, HOLTER_DAMAGE, chunk->info.offset,
			    size - RDR_HEADER_BYTES,
			    "%s: the events of this chunk cannot be decoded", why);
	return code == HOLTER_E_NOMEM ? code : 0;
}

static void add_totals(struct holter_reader *reader)
{
	struct holter_totals *totals = &reader->totals;
	const struct holter_chunk *info = &reader->chunk.info;

	if (!totals->chunk_count++) {
		totals->start_ns = info->start_ns;
		totals->major = info->major;
		totals->minor = info->minor;
		totals->end_ns = info->end_ns;
	}
	if (info->end_ns > totals->end_ns)
		totals->end_ns = info->end_ns;
	totals->byte_count += info->size_present;
	if (__builtin_add_overflow(totals->duration_ns, info->duration_ns, &totals->duration_ns))
		totals->duration_ns = INT64_MAX;
}

static void report_size(struct holter_reader *reader)
{
	const struct holter_chunk *info = &reader->chunk.info;
	const struct rdr_source *source = &reader->source;

	if (info->size_present == info->size)
		return;
	if (!source->is_whole)
		rdr_problem(reader, HOLTER_E_LIMIT, HOLTER_DAMAGE, info->offset, 0,
			    "a chunk of %llu bytes is more than is held of one",
			    (unsigned long long)info->size);
	else
		rdr_problem(reader, HOLTER_E_TRUNCATED, HOLTER_DAMAGE,
			    info->offset + info->size_present, 0,
			    "the file ends %llu bytes before its last chunk does",
			    (unsigned long long)(info->size - info->size_present));
}

int rdr_chunk_enter(struct holter_reader *reader)
{
	struct rdr_source *source = &reader->source;
	struct rdr_chunk *chunk = &reader->chunk;
	struct rdr_arena arena = chunk->arena;
	int code = find_header(reader);

	if (code <= 0)
		return code;
	code = rdr_source_fill(source, rdr_be64(source->base + 8));
	if (code)
		return code;
	rdr_arena_reset(&arena);
	*chunk = (struct rdr_chunk){ .arena = arena };
	reader->serial++;
	set_info(reader);
	report_size(reader);
	add_totals(reader);
	reader->is_in_chunk = true;
	code = read_metadata(reader);
	return code ? code : 1;
}

int rdr_chunk_leave(struct holter_reader *reader)
{
	struct rdr_source *source = &reader->source;
	struct rdr_chunk *chunk = &reader->chunk;
	uint64_t size = chunk->info.size_present;
	uint64_t search_from;
	uint64_t skipped;
	int code = 0;

	reader->is_in_chunk = false;
	reader->serial++;
	/* Where the size is right there is a chunk or nothing behind it; else look for one inside.
	 */
	search_from = chunk->lost_from ? chunk->lost_from : (uint64_t)(chunk->cursor - chunk->base);
	code = rdr_source_fill(source, size + RDR_HEADER_BYTES);
	if (code)
		return code;
	if (search_from < size &&
	    !rdr_chunk_begins(source->base + size, source->base + source->size) &&
	    (chunk->lost_from || (size < source->size && chunk->info.state == STATE_FINISHED))) {
		code = search_chunk(reader, search_from, &skipped);
		return code < 0 ? code : 0;
	}
	rdr_source_skip(source, size);
	return 0;
}

void rdr_problem(struct holter_reader *reader, int code, enum holter_severity severity,
		 uint64_t offset, uint64_t bytes_lost, const char *format, ...)
{
	struct holter_problem problem = {
		.code = code,
		.severity = severity,
		.chunk = reader->totals.chunk_count ? reader->totals.chunk_count - 1 : 0,
		.offset = offset,
		.bytes_lost = bytes_lost,
	};
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(problem.text, sizeof(problem.text), format, arguments);
	va_end(arguments);
	if (severity == HOLTER_NOTE)
		reader->totals.note_count++;
	else
		reader->totals.damage_count++;
	reader->totals.lost_bytes += bytes_lost;
	if (reader->problem_count < RDR_PROBLEMS_KEPT)
		reader->problems[reader->problem_count++] = problem;
	if (reader->options.on_problem)
		reader->options.on_problem(reader->options.context, &problem);
}
