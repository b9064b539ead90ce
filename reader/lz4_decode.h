/*
 * LZ4 frames, several in a row, with or without checksums (holter-format(5), dump/lz4_encode.c).
 */
#ifndef HOLTER_READER_LZ4_DECODE_H
#define HOLTER_READER_LZ4_DECODE_H

#include "reader/decoder.h"

/* Makes a decoder; NULL without memory. */
struct rdr_decoder *rdr_lz4_create(void);

#endif
