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
#include "tests/unit/region_fill.h"

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

/* A bit of everything: every event type, several threads and processes, stacks, libraries, losses.
 */
static inline void corrupt_fill(struct rec_region *region)
{
	static const char environment[] = "HOME=/root\0PASSWORD=x\0URL=http://a:b@c/";
	static struct fill_thread thread[5];
	uint64_t base = fill_base(region), code[40];
	uint32_t root, child, ids[64], text, address;
	struct rec_user_type type = { .field_count = 2,
				      .shape = EV_SHAPE_DTK,
				      .name = "own.Event",
				      .field = { { "a", "", EV_KIND_LONG, 0 },
						 { "b", "", EV_KIND_STRING, 0 } } };

	region->header->root_pid = 4000;
	root = fill_process(region, 4000, 1, 0, "root");
	child = fill_process(region, 4100, 4000, rec_process_at(region, root)->space, "child");
	rec_process_at(region, root)->executable = rec_names_add(region, "/bin/root", 9);
	rec_process_at(region, root)->arguments = rec_names_add(region, "root\0--x", 8);
	rec_process_at(region, root)->environment =
		rec_names_add(region, environment, sizeof(environment) - 1);
	for (uint32_t i = 0; i < 8; i++) {
		char path[32];

		snprintf(path, sizeof(path), "/lib/lib%u.so", i);
		fill_module(region, root, 0x1000000000ull + (i % 6) * 0x1000000,
			    0x1000000000ull + (i % 6 + 1) * 0x1000000, path, base + i,
			    i < 2 ? base + 100000 : 0);
	}
	for (uint32_t i = 0; i < 64; i++) {
		for (uint32_t k = 0; k < 40; k++)
			code[k] = 0x1000000000ull + i * 0x100000ull + k * 64;
		ids[i] = fill_stack(region, code, 1 + i % 40, i & 1);
	}
	text = fill_string(region, "some text \xff");
	address = fill_ipv4(region, 0x7f000001, 80);
	rec_user_type_add(region, &type);
	for (uint32_t i = 0; i < 5; i++)
		fill_thread(&thread[i], region, i == 4 ? child : root, 4000 + i * 25, "thread",
			    base + i);
	for (uint32_t i = 0; i < 1500; i++) {
		const struct ev_type *event = &ev_types[i % ev_type_count];
		uint32_t body[64] = { 0 };

		for (uint32_t k = 0; k < 32; k++)
			body[k] = k == 0       ? ids[i % 64]
				  : k % 3 == 0 ? text
				  : k % 3 == 1 ? address
					       : 4025;
		fill_record(&thread[i % 5], i % 50 == 7 ? EV_USER_BASE : event->number, 0,
			    base + i * 20000ull, body, i % 50 == 7 ? 24 : event->bytes);
		rec_live_add(region, root, 0x10000 + i * 16ull, 16, 512, ids[i % 64], 4000,
			     base + i);
	}
}

static inline void corrupt_begin(struct corrupt *corrupt)
{
	fill_create(&corrupt->region, 1 << 20);
	corrupt_fill(&corrupt->region);
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
	uint8_t *at = base + (patch->how & 4 ? offset & ~7ull : offset);

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
