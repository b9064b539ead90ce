/*
 * What lz4_decode.c and gzip_decode.c offer to source.c: bytes in, bytes out, in pieces.
 */
#ifndef HOLTER_READER_DECODER_H
#define HOLTER_READER_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rdr_decoder {
	/*
	 * Decodes from [*input, *input + *input_size), which it moves forward, into `output`, whose
	 * *output_size it sets to what was written. Returns 0 or a negative code.
	 */
	int (*decode)(struct rdr_decoder *decoder, const uint8_t **input, size_t *input_size,
		      uint8_t *output, size_t *output_size);
	/* Forgets the frame at hand; the next input starts one. */
	void (*reset)(struct rdr_decoder *decoder);
	void (*destroy)(struct rdr_decoder *decoder);
	/* First bytes of a frame, by which to find the next one after damage. */
	uint8_t magic[4];
	size_t magic_size;
	bool is_in_frame; /* the input may not end here */
};

#endif
