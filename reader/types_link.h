/*
 * Second half of reading metadata: what follows from types knowing each other.
 */
#ifndef HOLTER_READER_TYPES_LINK_H
#define HOLTER_READER_TYPES_LINK_H

#include "reader/model.h"

/* Links reader->chunk.types. Returns false without memory. */
bool rdr_types_link(struct holter_reader *reader);

#endif
