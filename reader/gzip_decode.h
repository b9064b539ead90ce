/*
 * gzip members, several in a row: what people make of a recording with the gzip command.
 */
#ifndef HOLTER_READER_GZIP_DECODE_H
#define HOLTER_READER_GZIP_DECODE_H

#include "reader/decoder.h"

/* Makes a decoder; NULL without memory. */
struct rdr_decoder *rdr_gzip_create(void);

#endif
