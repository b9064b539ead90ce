/*
 * gzip members by zlib.
 *
 * In: compressed bytes from source.c in pieces of any size. Out: decoded bytes, as much as fits.
 */
#include "reader/gzip_decode.h"

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "recorder/base/util.h"
#include "recorder/format/holter_error.h"

#define WINDOW_BITS_GZIP (15 + 16)

struct gzip_decoder {
	struct rdr_decoder decoder; /* first */
	z_stream stream;
};

static int decode(struct rdr_decoder *decoder, const uint8_t **input, size_t *input_size,
		  uint8_t *output, size_t *output_size)
{
	z_stream *stream = &((struct gzip_decoder *)decoder)->stream;
	size_t room = *output_size;
	size_t made = 0;
	int code = 0;

	while (made < room && *input_size && !code) {
		unsigned in = (unsigned)min_u64(*input_size, INT_MAX);
		unsigned out = (unsigned)min_u64(room - made, INT_MAX);

		stream->next_in = (Bytef *)(uintptr_t)*input; /* zlib does not write to it */
		stream->avail_in = in;
		stream->next_out = output + made;
		stream->avail_out = out;
		int result = inflate(stream, Z_NO_FLUSH);
		*input += in - stream->avail_in;
		*input_size -= in - stream->avail_in;
		made += out - stream->avail_out;
		decoder->is_in_frame = result != Z_STREAM_END;
		if (result == Z_STREAM_END)
			inflateReset(stream);
		else if (result == Z_MEM_ERROR)
			code = HOLTER_E_NOMEM;
		else if (result != Z_OK)
			code = HOLTER_E_CORRUPT;
	}
	*output_size = made;
	return code;
}

static void reset(struct rdr_decoder *decoder)
{
	inflateReset(&((struct gzip_decoder *)decoder)->stream);
	decoder->is_in_frame = false;
}

static void destroy(struct rdr_decoder *decoder)
{
	inflateEnd(&((struct gzip_decoder *)decoder)->stream);
	free(decoder);
}

struct rdr_decoder *rdr_gzip_create(void)
{
	struct gzip_decoder *gzip = calloc(1, sizeof(*gzip));

	if (!gzip)
		return NULL;
	if (inflateInit2(&gzip->stream, WINDOW_BITS_GZIP) != Z_OK) {
		free(gzip);
		return NULL;
	}
	gzip->decoder = (struct rdr_decoder){
		.decode = decode,
		.reset = reset,
		.destroy = destroy,
		.magic = { 0x1f, 0x8b, 0x08 },
		.magic_size = 3,
	};
	return &gzip->decoder;
}
