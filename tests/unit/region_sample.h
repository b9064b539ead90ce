/*
 * A region with a bit of everything, for tests that damage it.
 *
 * In: an empty region. Out: every event type, several threads and processes, stacks, libraries that
 * took turns at an address, live allocations, an own event type.
 */
#ifndef HOLTER_TESTS_REGION_SAMPLE_H
#define HOLTER_TESTS_REGION_SAMPLE_H

#include "tests/unit/region_fill.h"

/* A program and its forked child; the index of the first, the other is the next. */
static inline uint32_t sample_processes(struct rec_region *region)
{
	static const char environment[] = "HOME=/root\0PASSWORD=x\0URL=http://a:b@c/";
	uint32_t index = fill_process(region, 4000, 1, 0, "root");
	struct rec_process *root = rec_process_at(region, index);

	fill_process(region, 4100, 4000, root->space, "child");
	root->executable = rec_names_add(region, "/bin/root", 9);
	root->arguments = rec_names_add(region, "root\0--x", 8);
	root->environment = rec_names_add(region, environment, sizeof(environment) - 1);
	return index;
}

/* A bit of everything: every event type, several threads and processes, stacks, libraries, losses.
 */
static inline void sample_fill(struct rec_region *region)
{
	static struct fill_thread thread[5];
	uint64_t base = fill_base(region), code[40];
	uint32_t root, child, ids[64], text, address;
	struct rec_user_type type = { .field_count = 2,
				      .shape = EV_SHAPE_DTK,
				      .name = "own.Event",
				      .field = { { "a", "", EV_KIND_LONG, 0 },
						 { "b", "", EV_KIND_STRING, 0 } } };

	region->header->root_pid = 4000;
	root = sample_processes(region);
	child = root + 1;
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

#endif
