/*
 * LZ4 frames by liblz4's frame decoder, which bounds and checks everything itself.
 *
 * In: compressed bytes from source.c in pieces of any size. Out: decoded bytes, as much as fits.
 * Never here: buffers; the window of source.c is the only one.
 */
#include "reader/lz4_decode.h"

#include <lz4frame.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/format/holter_error.h"

struct lz4_decoder {
	struct rdr_decoder decoder; /* first */
	LZ4F_dctx *context;
};

/* The names of errors are the only part of them that the shared library promises to keep. */
static int error_of(size_t code)
{
	bool is_memory = strcmp(LZ4F_getErrorName(code), "ERROR_allocation_failed") == 0;

	return is_memory ? HOLTER_E_NOMEM : HOLTER_E_LZ4;
}

static int decode(struct rdr_decoder *decoder, const uint8_t **input, size_t *input_size,
		  uint8_t *output, size_t *output_size)
{
	struct lz4_decoder *lz4 = (struct lz4_decoder *)decoder;
	size_t room = *output_size;
	size_t made = 0;

	while (made < room && *input_size) {
		size_t out = room - made;
		size_t in = *input_size;
		size_t hint = LZ4F_decompress(lz4->context, output + made, &out, *input, &in, NULL);

		if (LZ4F_isError(hint)) {
			*output_size = made;
			return error_of(hint);
		}
		made += out;
		*input += in;
		*input_size -= in;
		decoder->is_in_frame = hint != 0;
		if (!in && !out)
			break;
	}
	*output_size = made;
	return 0;
}

static void reset(struct rdr_decoder *decoder)
{
	LZ4F_resetDecompressionContext(((struct lz4_decoder *)decoder)->context);
	decoder->is_in_frame = false;
}

static void destroy(struct rdr_decoder *decoder)
{
	struct lz4_decoder *lz4 = (struct lz4_decoder *)decoder;

	LZ4F_freeDecompressionContext(lz4->context);
	free(lz4);
}

struct rdr_decoder *rdr_lz4_create(void)
{
	struct lz4_decoder *lz4 = calloc(1, sizeof(*lz4));

	if (!lz4)
		return NULL;
	if (LZ4F_isError(LZ4F_createDecompressionContext(&lz4->context, LZ4F_VERSION))) {
		free(lz4);
		return NULL;
	}
	lz4->decoder = (struct rdr_decoder){
		.decode = decode,
		.reset = reset,
		.destroy = destroy,
		.magic = { 0x04, 0x22, 0x4d, 0x18 },
		.magic_size = 4,
	};
	return &lz4->decoder;
}
