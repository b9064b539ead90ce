/*
 * Damages a region anywhere and dumps it: the dump must end, stay inside its memory, and write a
 * file in which the reader finds no fault.
 *
 * In: a list of patches, from a random generator or a fuzzer. Out: the reader's verdict. Each dump
 * works on a private copy-on-write mapping, so damage does not pile up.
 */
#ifndef HOLTER_TESTS_REGION_CORRUPT_H
#define HOLTER_TESTS_REGION_CORRUPT_H

#include <fcntl.h>
#include <sys/mman.h>

#include "recorder/dump/dump.h"
#include "tests/unit/reader_walk.h"
#include "tests/unit/region_sample.h"

#define CORRUPT_PAGES 2048u

struct corrupt {
	struct rec_region region;     /* the whole one */
	uint64_t page[CORRUPT_PAGES]; /* offsets of pages that hold anything */
	uint32_t pages;
	int fd; /* of the region's file */
	char path[64];
};

struct corrupt_patch {
	uint16_t page;
	uint16_t offset;
	uint8_t how;
	uint8_t value[8];
} __attribute__((packed));

static inline void corrupt_begin(struct corrupt *corrupt)
{
	fill_create(&corrupt->region, 1 << 20);
	sample_fill(&corrupt->region);
	/* Kept open: whoever tidies up after dead processes may remove the name. */
	corrupt->fd = open(corrupt->region.header->path, O_RDONLY | O_CLOEXEC);
	snprintf(corrupt->path, sizeof(corrupt->path), "/tmp/holter-corrupt-%d.jfr", (int)getpid());
	for (uint64_t at = 0; at < corrupt->region.layout.total; at += PAGE_BYTES) {
		const uint64_t *words = (const uint64_t *)(corrupt->region.base + at);
		uint64_t any = 0;

		for (uint32_t i = 0; i < PAGE_BYTES / 8; i++)
			any |= words[i];
		if (any && corrupt->pages < CORRUPT_PAGES)
			corrupt->page[corrupt->pages++] = at;
	}
}

static inline void corrupt_end(struct corrupt *corrupt)
{
	fill_destroy(&corrupt->region);
	close(corrupt->fd);
	unlink(corrupt->path);
}

static inline void corrupt_apply(const struct corrupt *corrupt, uint8_t *base,
				 const struct corrupt_patch *patch)
{
	/* Half of them where one bit matters most: the header, settings and first tables. */
	uint32_t page = patch->page & 1 ? patch->page / 2u % corrupt->pages : patch->page / 2u % 8;
	uint64_t offset = corrupt->page[page % corrupt->pages] + patch->offset % PAGE_BYTES;
	uint8_t *at = base + offset;

	switch (patch->how & 3) {
	case 0:
		*at ^= (uint8_t)(1 << (patch->value[0] & 7));
		break;
	case 1:
		*at = patch->value[0];
		break;
	case 2:
		at = (uint8_t *)((uintptr_t)at & ~3ull);
		memcpy(at, patch->value, 4);
		break;
	default:
		at = (uint8_t *)((uintptr_t)at & ~7ull);
		memcpy(at, patch->value, 8);
	}
}

/* Reads a file whole: every event with its thread and the names of its frames, not every value. */
static inline struct walked corrupt_read(const char *path)
{
	struct walked walked = { .code = 0 };
	const struct holter_event *event;
	struct holter_totals totals;
	struct holter_reader *reader;

	walked.code = holter_reader_open(path, NULL, &reader, &walked.first);
	if (walked.code)
		return walked;
	while ((walked.code = holter_reader_next(reader, &event)) > 0) {
		const struct holter_stack *stack = holter_event_stack(event);
		const struct holter_thread *thread = holter_event_thread(event);

		walked.events++;
		for (uint32_t i = 0; stack && i < stack->frame_count; i++)
			walk_text(&walked, stack->frames[i].method->name);
		if (thread)
			walk_text(&walked, thread->os_name);
	}
	holter_reader_totals(reader, &totals);
	walked.damage = totals.damage_count;
	if (holter_reader_problem(reader, 0))
		walked.first = *holter_reader_problem(reader, 0);
	holter_reader_close(reader);
	return walked;
}

/* Dumps a damaged copy. Returns NULL when all is well, else what is not. */
static inline const char *corrupt_dump(struct corrupt *corrupt, const struct corrupt_patch *patches,
				       uint32_t count, int compress)
{
	static struct rec_dump_result result;
	static char wrong[300];
	struct rec_dump_options options = {
		.path = corrupt->path, .force = 1, .compress = compress, .reason = "corrupt"
	};
	struct rec_region copy = corrupt->region;
	struct walked walked;
	int code;

	copy.base =
		mmap(NULL, copy.layout.total, PROT_READ | PROT_WRITE, MAP_PRIVATE, corrupt->fd, 0);
	if (copy.base == MAP_FAILED)
		return "no region to damage";
	copy.header = (struct rec_header *)(copy.base + copy.layout.header);
	copy.settings = (struct rec_settings *)(copy.base + copy.layout.settings);
	copy.text = (char *)copy.base + copy.layout.text;
	for (uint32_t i = 0; i < count; i++)
		corrupt_apply(corrupt, copy.base, &patches[i]);
	code = rec_dump_write(&copy, &options, &result);
	munmap(copy.base, copy.layout.total);
	if (code) {
		snprintf(wrong, sizeof(wrong), "dump: %d %.200s", code, result.error);
		return wrong;
	}
	walked = corrupt_read(corrupt->path);
	snprintf(wrong, sizeof(wrong), "reader: code %d, %lu events of %lu, %lu damaged: %.150s",
		 walked.code, walked.events, result.events, walked.damage, walked.first.text);
	return walked.code < 0 || walked.damage || walked.events != result.events ? wrong : NULL;
}

#endif
