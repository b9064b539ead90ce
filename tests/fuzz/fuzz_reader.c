/*
 * libFuzzer: any bytes as a recording, read in every way there is.
 *
 * Corpus: tests/golden. The chunk limit is small, so that memory without bound shows as a failure.
 */
#include "tests/unit/reader_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct holter_reader_options options = { .max_chunk_bytes = 4u << 20 };
	struct walked walked = { .code = 0 };
	struct holter_reader *reader;

	if (holter_reader_open_memory(bytes, size, &options, &reader, NULL))
		return 0;
	walk_reader(&walked, reader);
	if (holter_reader_rewind(reader) == 0)
		holter_reader_scan(reader);
	holter_reader_close(reader);
	return 0;
}
