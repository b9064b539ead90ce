/*
 * libFuzzer: a region patched at will is dumped, and the file is read
 * (tests/unit/region_corrupt.h).
 *
 * Input: patches of 13 bytes each. Any crash, any hang, any file that the reader objects to is a
 * finding.
 */
#include "tests/unit/region_corrupt.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct corrupt *region;

static void clean_up(void)
{
	corrupt_end(region);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct corrupt corrupt;
	size_t count = size / sizeof(struct corrupt_patch);
	const char *wrong;

	if (corrupt.pages == 0) {
		corrupt_begin(&corrupt);
		region = &corrupt;
		atexit(clean_up);
	}
	wrong = corrupt_dump(&corrupt, (const struct corrupt_patch *)bytes,
			     (uint32_t)(count < 200 ? count : 200), size % 2);
	if (wrong) {
		fprintf(stderr, "%s\n", wrong);
		abort();
	}
	return 0;
}
