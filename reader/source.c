/*
 * Opens what holds a recording and keeps the window of source.h over its decoded bytes.
 *
 * In: a descriptor or memory, from reader.c. Out: the window. Memory is that of the window, which
 * grows only by bytes that really came, so no length field makes it large.
 */
#include "reader/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/base/util.h"
#include "reader/decoder.h"
#include "reader/gzip_decode.h"
#include "reader/lz4_decode.h"

/* Reads from a descriptor, over EINTR. */
static ssize_t read_some(int fd, void *to, size_t size)
{
	ssize_t got;

	do
		got = read(fd, to, size);
	while (got < 0 && errno == EINTR);
	return got;
}

/* Gets raw bytes when there are none; sets is_input_end or the error. */
static int refill_input(struct rdr_source *source)
{
	ssize_t got;

	if (source->input_size || source->is_input_end)
		return 0;
	if (source->memory) {
		source->is_input_end = true;
		return 0;
	}
	if (!source->input_buffer)
		source->input_buffer = malloc(RDR_INPUT_BYTES);
	if (!source->input_buffer)
		return HOLTER_E_NOMEM;
	got = read_some(source->fd, source->input_buffer, RDR_INPUT_BYTES);
	if (got < 0)
		source->error = HOLTER_E_READ;
	source->is_input_end = got <= 0;
	source->input = source->input_buffer;
	source->input_size = got > 0 ? (size_t)got : 0;
	return 0;
}

/* Moves raw or decoded bytes into [to, to + *made); *made 0 and is_input_end mean the end. */
static int produce(struct rdr_source *source, uint8_t *to, size_t *made)
{
	size_t room = *made;
	size_t before;
	int code = refill_input(source);

	*made = 0;
	if (code)
		return code;
	if (!source->decoder) {
		*made = min_u64(room, source->input_size);
		memcpy(to, source->input, *made);
		source->input += *made;
		source->input_size -= *made;
		return 0;
	}
	if (!source->input_size) {
		if (source->decoder->is_in_frame && !source->error)
			source->error = HOLTER_E_TRUNCATED;
		return 0;
	}
	*made = room;
	before = source->input_size;
	code = source->decoder->decode(source->decoder, &source->input, &source->input_size, to,
				       made);
	if (code == HOLTER_E_NOMEM)
		return code;
	/* A decoder that neither eats nor gives would keep us here for ever. */
	if (!code && !*made && source->input_size == before)
		code = HOLTER_E_CORRUPT;
	source->error = code;
	return 0;
}

/* Makes room behind the window's last byte. */
static int make_room(struct rdr_source *source)
{
	size_t held = source->buffer_used - source->buffer_start;
	size_t size = source->buffer_size;
	uint8_t *buffer;

	if (source->buffer_start && held)
		memmove(source->buffer, source->buffer + source->buffer_start, held);
	source->buffer_start = 0;
	source->buffer_used = held;
	if (held < size)
		return 0;
	size = size ? size * 2 : RDR_INPUT_BYTES;
	buffer = realloc(source->buffer, size);
	if (!buffer)
		return HOLTER_E_NOMEM;
	source->buffer = buffer;
	source->buffer_size = size;
	return 0;
}

int rdr_source_fill(struct rdr_source *source, uint64_t wanted)
{
	int code = 0;

	if (wanted <= source->size || source->is_whole)
		return 0;
	wanted = min_u64(wanted, source->limit_bytes);
	while (!code && source->buffer_used - source->buffer_start < wanted) {
		size_t made;

		if (source->error || (source->is_input_end && !source->input_size)) {
			source->is_whole = true;
			break;
		}
		if (source->buffer_used == source->buffer_size || source->buffer_start)
			code = make_room(source);
		made = source->buffer_size - source->buffer_used;
		if (!code)
			code = produce(source, source->buffer + source->buffer_used, &made);
		if (!code)
			source->buffer_used += made;
	}
	source->base = source->buffer + source->buffer_start;
	source->size = source->buffer_used - source->buffer_start;
	/* Without memory the bytes that are there are all: so whoever goes on comes to an end. */
	if (code)
		source->is_whole = true;
	return code;
}

/* Gives back what was read of a map, so that a large file does not fill the memory; it comes back
 * by itself when somebody rewinds. */
static void release_input(struct rdr_source *source)
{
	const uint8_t *behind = source->decoder ? source->input : source->base;
	size_t size;

	if (!source->map || behind < source->released + RDR_RELEASE_BYTES)
		return;
	size = align_down((uint64_t)(behind - source->released), PAGE_BYTES);
	madvise((void *)(uintptr_t)source->released, size, MADV_DONTNEED);
	source->released += size;
}

void rdr_source_skip(struct rdr_source *source, uint64_t bytes)
{
	bytes = min_u64(bytes, source->size);
	source->base += bytes;
	source->size -= bytes;
	source->position += bytes;
	if (source->buffer)
		source->buffer_start += bytes;
	release_input(source);
}

bool rdr_source_resume(struct rdr_source *source)
{
	const struct rdr_decoder *decoder = source->decoder;
	const uint8_t *found = NULL;

	if (!decoder || !source->memory || source->size)
		return false;
	if (source->error != HOLTER_E_LZ4 && source->error != HOLTER_E_CORRUPT)
		return false;
	/* The decoder may have consumed the next magic as data of a broken block: look again from
	 * where it stopped only, so that the search always moves on. */
	if (source->input && source->input_size)
		found = memmem(source->input + 1, source->input_size - 1, decoder->magic,
			       decoder->magic_size);
	if (!found)
		return false;
	source->input_size -= (size_t)(found - source->input);
	source->input = found;
	source->decoder->reset(source->decoder);
	source->error = 0;
	source->is_whole = false;
	return true;
}

static bool starts_with(const struct rdr_source *source, const void *magic, size_t size)
{
	return source->input && source->input_size >= size &&
	       memcmp(source->input, magic, size) == 0;
}

/* Tells the container by its first bytes and prepares its decoder. */
static int find_container(struct rdr_source *source)
{
	if (starts_with(source, "\x04\x22\x4d\x18", 4)) {
		source->container = HOLTER_LZ4;
		source->decoder = rdr_lz4_create();
	} else if (starts_with(source, "\x1f\x8b", 2)) {
		source->container = HOLTER_GZIP;
		source->decoder = rdr_gzip_create();
	} else if (source->memory) {
		source->base = source->memory;
		source->size = source->memory_size;
		source->is_whole = true;
		return 0;
	} else {
		return 0;
	}
	return source->decoder ? 0 : HOLTER_E_NOMEM;
}

/* Maps a file; anything that cannot be mapped is read as a pipe. */
static void try_to_map(struct rdr_source *source)
{
	struct stat status;
	void *map;

	if (fstat(source->fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0)
		return;
	map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, source->fd, 0);
	if (map == MAP_FAILED)
		return;
	madvise(map, (size_t)status.st_size, MADV_SEQUENTIAL);
	source->map = map;
	source->released = map;
	source->map_size = (size_t)status.st_size;
	source->memory = map;
	source->memory_size = source->map_size;
}

int rdr_source_open(struct rdr_source *source, int fd, bool owns_fd, const void *memory,
		    size_t memory_size, uint64_t limit_bytes)
{
	int code = 0;

	*source = (struct rdr_source){
		.fd = fd,
		.owns_fd = owns_fd,
		.memory = memory,
		.memory_size = memory_size,
		.limit_bytes = limit_bytes ? limit_bytes : RDR_CHUNK_BYTES_DEFAULT,
	};
	if (fd >= 0)
		try_to_map(source);
	source->input = source->memory;
	source->input_size = source->memory_size;
	/* A pipe may give its first bytes one by one; few writers do, and the magic is short. */
	if (!source->memory)
		code = refill_input(source);
	if (!code)
		code = source->error;
	if (!code)
		code = find_container(source);
	if (code)
		rdr_source_close(source);
	return code;
}

void rdr_source_close(struct rdr_source *source)
{
	if (source->decoder)
		source->decoder->destroy(source->decoder);
	free(source->buffer);
	free(source->input_buffer);
	if (source->map)
		munmap((void *)(uintptr_t)source->map, source->map_size);
	if (source->owns_fd && source->fd >= 0)
		close(source->fd);
	*source = (struct rdr_source){ .fd = -1 };
}

int rdr_source_rewind(struct rdr_source *source)
{
	if (!source->memory)
		return HOLTER_E_ARGUMENT;
	source->position = 0;
	source->released = source->map;
	source->error = 0;
	if (!source->decoder) {
		source->base = source->memory;
		source->size = source->memory_size;
		return 0;
	}
	source->decoder->reset(source->decoder);
	source->input = source->memory;
	source->input_size = source->memory_size;
	source->is_input_end = false;
	source->is_whole = false;
	source->buffer_start = 0;
	source->buffer_used = 0;
	source->base = source->buffer;
	source->size = 0;
	return 0;
}
