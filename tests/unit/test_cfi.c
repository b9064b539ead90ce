/*
 * The parser of call frame information and the cache of rules: entries made by hand for every
 * instruction, every way to be malformed, the C library's own tables with bytes changed at random,
 * and threads that fill and empty the cache while others read it.
 */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "recorder/base/hash.h"
#include "recorder/capture/cfi.h"
#include "recorder/format/holter_error.h"

#define IMAGE_BYTES 8192u
#define CODE 0x10000u /* code begins so far behind the header */
#define CODE_BYTES 0x100u

/* An object in memory: header and table, then entries; the page behind is unmapped. */
static uint8_t *image_base;
static uint32_t used;
static struct rec_cfi_image image;

static void setup(void)
{
	image_base = mmap(NULL, IMAGE_BYTES + 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(image_base, MAP_FAILED);
	mprotect(image_base + IMAGE_BYTES, 4096, PROT_NONE);
	image.header = image.low = (uint64_t)image_base;
	image.high = image.low + IMAGE_BYTES;
	used = 64;
}

static void put(const void *bytes, size_t count)
{
	memcpy(image_base + used, bytes, count);
	used += (uint32_t)count;
}

static void put32(uint32_t value)
{
	put(&value, 4);
}

static void put8(uint8_t value)
{
	put(&value, 1);
}

/* Ends the entry that begins at `start`: pads with nops, writes the length. */
static void end_entry(uint32_t start)
{
	uint32_t length;

	while ((used - start) % 8 != 4)
		put8(0);
	length = used - start - 4;
	memcpy(image_base + start, &length, 4);
}

/* A CIE with "zR" or "zRS", pointers relative to themselves in 4 bytes, and a program. */
static uint32_t put_cie(const char *augmentation, const void *program, size_t bytes)
{
	uint32_t start = used;

	put32(0);
	put32(0);
	put8(1);
	put(augmentation, strlen(augmentation) + 1);
	put8(1);    /* code alignment */
	put8(0x78); /* data alignment -8 */
	put8(16);
	if (*augmentation == 'z') {
		put8(1);
		put8(0x1b);
	}
	put(program, bytes);
	end_entry(start);
	return start;
}

static const uint8_t usual[] = { 0x0c, 7, 8, 0x80 | 16, 1 }; /* def_cfa rsp+8; offset ra -8 */

static uint32_t put_fde(uint32_t cie, const void *program, size_t bytes)
{
	uint32_t start = used;

	put32(0);
	put32(used - cie);
	put32(CODE - used);
	put32(CODE_BYTES);
	put8(0);
	put(program, bytes);
	end_entry(start);
	return start;
}

static void put_header(uint32_t fde, uint32_t frames)
{
	const int32_t row[2] = { CODE, (int32_t)fde };
	const uint8_t head[4] = { 1, 0x1b, 0x03, 0x3b };
	const uint32_t words[2] = { frames - 4, 1 };

	memcpy(image_base, head, 4);
	memcpy(image_base + 4, words, 8);
	memcpy(image_base + 12, row, 8);
}

/* An object with one function whose program is given. */
static void make(const char *augmentation, const void *program, size_t bytes)
{
	uint32_t cie = put_cie(augmentation, usual, sizeof(usual));

	put_header(put_fde(cie, program, bytes), 64);
}

static struct rec_cfi_row row_at(uint32_t offset)
{
	struct rec_cfi_row row;

	ck_assert_int_eq(rec_cfi_parse(&image, image.header + CODE + offset, &row), 0);
	return row;
}

static void expect_cfa(uint32_t offset, int reg, int cfa_offset)
{
	struct rec_cfi_row row = row_at(offset);

	ck_assert_int_eq(row.cfa, REC_CFI_CFA_REGISTER);
	ck_assert_int_eq(row.cfa_register, reg);
	ck_assert_int_eq(row.cfa_offset, cfa_offset);
	ck_assert_int_eq(row.ra, REC_CFI_AT_CFA);
	ck_assert_int_eq(row.ra_offset, -8);
}

START_TEST(prologue_and_epilogue)
{
	static const uint8_t program[] = {
		0x41, 0x0e, 16,	  0x86, 2,	       /* +1: push rbp */
		0x43, 0x0d, 6,			       /* +3: mov rsp, rbp */
		0x42, 0x83, 3,			       /* +2: push rbx */
		0x02, 0x20, 0x0a,		       /* advance_loc1 32; remember */
		0x0c, 7,    8,	  0xc6, 0xc3,	       /* def_cfa rsp+8; restore rbp, rbx */
		0x41, 0x0b,			       /* +1: recall */
		0x03, 0x10, 0x00, 0x0c, 7,    8,       /* advance_loc2 16 */
		0x04, 0x08, 0,	  0,	0,    0x0e, 24 /* advance_loc4 8 */
	};
	make("zR", program, sizeof(program));
	expect_cfa(0, 7, 8);
	ck_assert_int_eq(row_at(0).rbp, REC_CFI_SAME);
	expect_cfa(1, 7, 16);
	ck_assert_int_eq(row_at(1).rbp, REC_CFI_AT_CFA);
	ck_assert_int_eq(row_at(1).rbp_offset, -16);
	expect_cfa(3, 7, 16);
	expect_cfa(4, 6, 16);
	ck_assert_int_eq(row_at(5).rbx, REC_CFI_SAME);
	ck_assert_int_eq(row_at(6).rbx_offset, -24);
	expect_cfa(37, 6, 16);
	expect_cfa(38, 7, 8);
	ck_assert_int_eq(row_at(38).rbp, REC_CFI_SAME);
	ck_assert_int_eq(row_at(38).rbx, REC_CFI_SAME);
	expect_cfa(39, 6, 16);
	ck_assert_int_eq(row_at(39).rbp, REC_CFI_AT_CFA);
	expect_cfa(54, 6, 16);
	expect_cfa(55, 7, 8);
	expect_cfa(63, 7, 24);
	expect_cfa(CODE_BYTES - 1, 7, 24);
}
END_TEST

START_TEST(rarer_instructions)
{
	static const uint8_t program[] = {
		0x05, 6,    4,				  /* offset_extended rbp -32 */
		0x41, 0x11, 6,	  6,			  /* offset_extended_sf rbp -48 */
		0x41, 0x2f, 6,	  2,			  /* GNU_negative_offset_extended rbp +16 */
		0x41, 0x06, 6,				  /* restore_extended */
		0x41, 0x12, 6,	  0x7e,			  /* def_cfa_sf rbp, -2 * -8 */
		0x41, 0x13, 0x7c,			  /* def_cfa_offset_sf -4 * -8 */
		0x41, 0x2e, 16,				  /* GNU_args_size */
		0x41, 0x07, 6,				  /* undefined */
		0x41, 0x08, 6,				  /* same_value */
		0x41, 0x09, 6,	  12,			  /* register: not in memory */
		0x41, 0x14, 6,	  2,			  /* val_offset */
		0x41, 0x16, 6,	  2,	0x77, 8,	  /* val_expression */
		0x41, 0x10, 6,	  2,	0x76, 0,	  /* expression rbp: breg6 0 */
		0x41, 0x10, 6,	  3,	0x77, 0xf8, 0x00, /* breg7 120 */
		0x41, 0x09, 12,	  13,			  /* of a register that nobody asks for */
		0x41, 0x07, 16				  /* undefined return address */
	};
	static const uint8_t how[] = { REC_CFI_AT_CFA,	REC_CFI_AT_CFA,	   REC_CFI_AT_CFA,
				       REC_CFI_SAME,	REC_CFI_SAME,	   REC_CFI_SAME,
				       REC_CFI_SAME,	REC_CFI_UNDEFINED, REC_CFI_SAME,
				       REC_CFI_UNKNOWN, REC_CFI_UNKNOWN,   REC_CFI_UNKNOWN,
				       REC_CFI_AT_RBP,	REC_CFI_AT_RSP,	   REC_CFI_AT_RSP };
	static const int16_t offsets[] = { -32, -48, 16 };

	make("zR", program, sizeof(program));
	for (uint32_t i = 0; i < ARRAY_LEN(how); i++)
		ck_assert_int_eq(row_at(i).rbp, how[i]);
	for (uint32_t i = 0; i < ARRAY_LEN(offsets); i++)
		ck_assert_int_eq(row_at(i).rbp_offset, offsets[i]);
	ck_assert_int_eq(row_at(4).cfa_register, 6);
	ck_assert_int_eq(row_at(4).cfa_offset, 16);
	ck_assert_int_eq(row_at(5).cfa_offset, 32);
	ck_assert_int_eq(row_at(13).rbp_offset, 120);
	ck_assert_int_eq(row_at(15).ra, REC_CFI_UNDEFINED);
}
END_TEST

START_TEST(expressions_of_the_cfa)
{
	static const uint8_t program[] = {
		0x0f, 2,    0x76, 0x10,				/* breg6 16 */
		0x41, 0x0f, 3,	  0x76, 0x78, 0x06,		/* breg6 -8; deref */
		0x41, 0x0f, 5,	  0x77, 0x08, 0x06, 0x23, 0x08, /* deref, plus_uconst 8 */
		0x41, 0x0f, 2,	  0x06, 0x06,			/* nonsense */
		0x41, 0x0f, 4,	  0x77, 0x08, 0x06, 0x06,	/* not known */
		0x4c, 0x0f, 11,	  0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22
	};
	uint32_t at;

	make("zR", program, sizeof(program));
	expect_cfa(0, 6, 16);
	ck_assert_int_eq(row_at(1).cfa, REC_CFI_CFA_DEREF);
	ck_assert_int_eq(row_at(1).cfa_register, 6);
	ck_assert_int_eq(row_at(1).cfa_offset, -8);
	ck_assert_int_eq(row_at(2).cfa, REC_CFI_CFA_DEREF);
	ck_assert_int_eq(row_at(2).cfa_register, 7);
	ck_assert_int_eq(row_at(2).cfa_offset, 8);
	ck_assert_int_eq(row_at(2).cfa_add, 8);
	ck_assert_int_eq(row_at(3).cfa, REC_CFI_CFA_UNKNOWN);
	ck_assert_int_eq(row_at(4).cfa, REC_CFI_CFA_UNKNOWN);
	/* A procedure linkage table: 8 more behind the push, which ends at byte 11 of an entry. */
	at = 16;
	for (uint32_t i = 0; i < 64; i++)
		expect_cfa(at + i, 7, ((CODE + at + i) & 15) >= 11 ? 16 : 8);
}
END_TEST

START_TEST(signal_frames_are_told)
{
	static const uint8_t nothing[] = { 0 };

	make("zRS", nothing, 1);
	ck_assert_int_eq(row_at(5).is_signal, 1);
}
END_TEST

START_TEST(outside_of_every_entry)
{
	static const uint8_t nothing[] = { 0 };
	struct rec_cfi_row row;

	make("zR", nothing, 1);
	expect_cfa(CODE_BYTES - 1, 7, 8);
	ck_assert_int_eq(rec_cfi_parse(&image, image.header + CODE + CODE_BYTES, &row),
			 HOLTER_E_NO_FIELD);
	ck_assert_int_eq(rec_cfi_parse(&image, image.header + CODE - 1, &row), HOLTER_E_NO_FIELD);
	ck_assert_int_eq(rec_cfi_parse(&image, 0, &row), HOLTER_E_NO_FIELD);
	ck_assert_int_eq(rec_cfi_parse(&image, UINT64_MAX, &row), HOLTER_E_NO_FIELD);
}
END_TEST

START_TEST(no_table_means_a_linear_search)
{
	static const uint8_t nothing[] = { 0 };

	make("zR", nothing, 1);
	image_base[2] = image_base[3] = 0xff;
	expect_cfa(5, 7, 8);
	image_base[2] = 0x03;
	image_base[3] = 0x3c; /* a table of another form */
	expect_cfa(5, 7, 8);
}
END_TEST

START_TEST(malformed_programs_are_refused)
{
	static const struct {
		uint8_t bytes[12], count;
	} programs[] = {
		{ { 0x3c }, 1 },		   /* no such instruction */
		{ { 0x0b }, 1 },		   /* recall without remember */
		{ { 0x0a, 0x0a, 0x0a, 0x0a }, 4 }, /* remembered too often */
		{ { 0x0f, 0x7f, 0x77, 8 }, 4 },	   /* expression longer than the entry */
		{ { 0x0f, 0xff, 0xff, 0xff, 0xff, 0x7f }, 6 },
		{ { 0, 0, 0, 0, 0, 0, 0x0e, 0xff, 0xff, 0xff, 0xff, 0xff }, 12 }, /* cut off */
	};
	struct rec_cfi_row row;
	uint32_t cie = put_cie("zR", usual, sizeof(usual));

	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		uint32_t fde = used;

		put_header(fde, 64);
		put32(0);
		put32(used - cie);
		put32(CODE - used);
		put32(CODE_BYTES);
		put8(0);
		put(programs[i].bytes, programs[i].count);
		memcpy(image_base + fde, &(uint32_t){ used - fde - 4 }, 4);
		ck_assert_int_eq(rec_cfi_parse(&image, image.header + CODE + 9, &row),
				 HOLTER_E_CORRUPT);
	}
}
END_TEST

/* Cut after every byte: the page behind is unmapped, and nothing may be read there. */
START_TEST(entries_at_the_very_end)
{
	static const uint8_t program[] = { 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6 };
	struct rec_cfi_row row;
	uint32_t size;
	uint8_t *whole;

	make("zR", program, sizeof(program));
	size = used;
	whole = malloc(size);
	memcpy(whole, image_base, size);
	for (uint32_t cut = 1; cut < size; cut++) {
		uint64_t base = (uint64_t)image_base + IMAGE_BYTES - cut;

		memcpy((void *)base, whole, cut);
		image.header = image.low = base;
		for (uint32_t i = 0; i < CODE_BYTES; i += 3)
			rec_cfi_parse(&image, base + CODE + i, &row);
	}
	free(whole);
}
END_TEST

/* ---- Real tables ---- */

static struct rec_cfi_image libc_image;

/* The C library's .eh_frame_hdr, by its own program headers. */
static void find_libc(void)
{
	uint64_t low, high;

	ck_assert(rec_cfi_object((uint64_t)&qsort, &low, &high));
	for (uint64_t at = low + 64; at < low + 64 + 32 * 56; at += 56)
		if (*(uint32_t *)at == 0x6474e550) { /* PT_GNU_EH_FRAME */
			ck_assert_int_eq(rec_cfi_image_init(&libc_image, low, high,
							    low + *(uint64_t *)(at + 16)),
					 0);
			return;
		}
	ck_abort_msg("no .eh_frame_hdr");
}

static bool same_row(const struct rec_cfi_row *a, const struct rec_cfi_row *b)
{
	return a->cfa == b->cfa && a->cfa_register == b->cfa_register &&
	       a->cfa_offset == b->cfa_offset && a->ra == b->ra && a->ra_offset == b->ra_offset &&
	       a->rbp == b->rbp && (a->rbp == REC_CFI_SAME || a->rbp_offset == b->rbp_offset) &&
	       a->rbx == b->rbx && (a->rbx == REC_CFI_SAME || a->rbx_offset == b->rbx_offset);
}

/* What the cache says of a location is what the parser said. */
START_TEST(cached_rules_are_the_parsed_ones)
{
	uint64_t text = (uint64_t)&qsort & ~0xfffful;
	struct rec_cfi_row row, cached;
	uint32_t compared = 0;

	find_libc();
	for (uint64_t at = text; at < text + 0x40000; at += 3) {
		uint32_t rule;

		if (rec_cfi_parse(&libc_image, at, &row) != 0)
			continue;
		rule = rec_cfi_fill(at + 1, 0);
		ck_assert_uint_eq(REC_CFI_RULE(rec_cfi_lookup(at + 1)), rule);
		if (row.is_signal) {
			ck_assert_uint_eq(REC_CFI_SPECIAL(rule), REC_CFI_SIGNAL);
		} else if (row.ra == REC_CFI_UNDEFINED) {
			ck_assert_uint_eq(REC_CFI_SPECIAL(rule), REC_CFI_END);
		} else if (row.cfa != REC_CFI_CFA_UNKNOWN && row.ra != REC_CFI_UNKNOWN) {
			ck_assert(rec_cfi_expand(rule, &cached));
			ck_assert(same_row(&row, &cached));
			compared++;
		}
	}
	ck_assert_uint_gt(compared, 50000);
}
END_TEST

/* A copy of the tables with some bytes changed; both ends are at unmapped pages. */
START_TEST(changed_tables_end_in_an_error_or_a_row)
{
	uint64_t size, pad, results[2] = { 0 };
	struct rec_cfi_row row;
	uint8_t *memory, *copy;

	find_libc();
	size = libc_image.high - libc_image.header;
	pad = (4096 - size % 4096) % 4096;
	memory = mmap(NULL, size + pad + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	ck_assert_ptr_ne(memory, MAP_FAILED);
	mprotect(memory, 4096, PROT_NONE);
	mprotect(memory + 4096 + size + pad, 4096, PROT_NONE);
	copy = memory + 4096 + (pad & ~3ul);
	image.header = image.low = (uint64_t)copy;
	image.high = image.low + size;
	for (uint64_t round = 0; round < 3000; round++) {
		uint64_t seed = round * 1000 + (uint64_t)_i * 77777777;

		if (round % 30 == 0)
			memcpy(copy, (void *)libc_image.header, size);
		for (int i = 0; i < 200; i++)
			copy[hash_mix(seed + (uint64_t)i) % size] =
				(uint8_t)hash_mix(~seed - (uint64_t)i);
		if (round % 30 != 29)
			memcpy(copy, (void *)libc_image.header, 12);
		for (uint64_t i = 0; i < 100; i++) {
			uint64_t back = hash_mix(seed * 3 + i) % 0x180000;
			int result = rec_cfi_parse(&image, image.header - back, &row);

			results[result == 0]++;
		}
	}
	ck_assert_uint_gt(results[0], 1000);
	ck_assert_uint_gt(results[1], 1000);
}
END_TEST

/* ---- The cache ---- */

#define ADDRESSES 12 /* in one set, more than it has ways */
static int over;
static uint64_t crowd[ADDRESSES];
static uint32_t crowd_rule[ADDRESSES];
static uint64_t hits;

/* Addresses of libc that share a set and differ in their rules as much as possible. */
static void find_crowd(void)
{
	uint64_t text = (uint64_t)&qsort & ~0xfffffull;
	uint32_t count = 0;

	find_libc();
	for (uint64_t low = 1; low < REC_CFI_SETS && count < ADDRESSES; low++) {
		count = 0;
		for (uint64_t page = text; page < text + 0x100000 && count < ADDRESSES;
		     page += 4096) {
			struct rec_cfi_row row;
			uint32_t rule;

			if (rec_cfi_parse(&libc_image, page + low - 1, &row) != 0)
				continue;
			rule = rec_cfi_fill(page + low, 0);
			if (count == 0 || rule != crowd_rule[count - 1]) {
				crowd[count] = page + low;
				crowd_rule[count++] = rule;
			}
		}
	}
	ck_assert_uint_eq(count, ADDRESSES);
}

static void *fill_crowd(void *number)
{
	for (uint64_t i = (uintptr_t)number; !__atomic_load_n(&over, __ATOMIC_RELAXED); i++) {
		uint32_t which = (uint32_t)(hash_mix(i) % ADDRESSES);

		ck_assert_uint_eq(rec_cfi_fill(crowd[which], 0), crowd_rule[which]);
	}
	return NULL;
}

static void *read_crowd(void *number)
{
	for (uint64_t i = (uintptr_t)number; !__atomic_load_n(&over, __ATOMIC_RELAXED) || i < 1000;
	     i++) {
		uint32_t which = (uint32_t)(hash_mix(i) % ADDRESSES);
		uint64_t word = rec_cfi_lookup(crowd[which]);

		if (!word)
			continue;
		ck_assert_uint_eq(REC_CFI_RULE(word), crowd_rule[which]);
		__atomic_fetch_add(&hits, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

START_TEST(no_reader_ever_sees_half_a_rule)
{
	pthread_t threads[5];

	find_crowd();
	for (uintptr_t i = 0; i < 5; i++)
		pthread_create(&threads[i], NULL, i < 2 ? fill_crowd : read_crowd,
			       (void *)(i << 32));
	for (int i = 0; i < 300 || __atomic_load_n(&hits, __ATOMIC_RELAXED) < 100000; i++)
		rec_cfi_invalidate();
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
}
END_TEST

START_TEST(invalidated_rules_are_gone)
{
	uint64_t address = (uint64_t)&qsort + 8;
	uint32_t generation = rec_cfi_generation();

	ck_assert_uint_ne(rec_cfi_fill(address, 0), 0);
	ck_assert_uint_ne(rec_cfi_lookup(address), 0);
	rec_cfi_invalidate();
	ck_assert_uint_eq(rec_cfi_lookup(address), 0);
	ck_assert_uint_ne(rec_cfi_generation(), generation);
}
END_TEST

START_TEST(refresh_forgets_only_what_was_unknown)
{
	uint64_t known = (uint64_t)&qsort + 8, unknown = 0x123456789;

	rec_cfi_fill(known, 0);
	rec_cfi_fill(unknown, REC_CFI_DOUBTFUL);
	ck_assert_uint_ne(rec_cfi_lookup(unknown), 0);
	rec_cfi_refresh();
	ck_assert_uint_eq(rec_cfi_lookup(unknown), 0);
	ck_assert_uint_ne(rec_cfi_lookup(known), 0);
}
END_TEST

START_TEST(snapshot_finds_the_same_objects)
{
	uint64_t addresses[] = { (uint64_t)&qsort,
				 (uint64_t)&setup,
				 (uint64_t)&suite_create,
				 (uint64_t)&addresses,
				 4096,
				 UINT64_MAX };
	uint64_t low, high, low_snapshot, high_snapshot;

	for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
		bool found, found_snapshot;

		low = high = low_snapshot = high_snapshot = 0;
		rec_cfi_use_snapshot(false);
		found = rec_cfi_object(addresses[i], &low, &high);
		rec_cfi_use_snapshot(true);
		found_snapshot = rec_cfi_object(addresses[i], &low_snapshot, &high_snapshot);
		ck_assert_int_eq(found, found_snapshot);
		ck_assert_uint_eq(low, low_snapshot);
		ck_assert_uint_eq(high, high_snapshot);
	}
}
END_TEST

START_TEST(any_address_may_be_asked_for)
{
	for (uint64_t i = 0; i < 20000; i++) {
		uint64_t address = (hash_mix(i) >> (17 + i % 40)) | 1;

		ck_assert_uint_ne(rec_cfi_fill(address, REC_CFI_DOUBTFUL), 0);
		ck_assert_uint_ne(rec_cfi_fill(address, REC_CFI_DOUBTFUL | REC_CFI_EXACT), 0);
	}
	for (uint64_t i = 0; i < 0x200000; i += 61)
		rec_cfi_fill((uint64_t)&qsort - 0x100000 + i, REC_CFI_DOUBTFUL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cfi");
	TCase *tests = tcase_create("cfi");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, prologue_and_epilogue);
	tcase_add_test(tests, rarer_instructions);
	tcase_add_test(tests, expressions_of_the_cfa);
	tcase_add_test(tests, signal_frames_are_told);
	tcase_add_test(tests, outside_of_every_entry);
	tcase_add_test(tests, no_table_means_a_linear_search);
	tcase_add_test(tests, malformed_programs_are_refused);
	tcase_add_test(tests, entries_at_the_very_end);
	tcase_add_test(tests, cached_rules_are_the_parsed_ones);
	tcase_add_loop_test(tests, changed_tables_end_in_an_error_or_a_row, 0, 4);
	tcase_add_test(tests, no_reader_ever_sees_half_a_rule);
	tcase_add_test(tests, invalidated_rules_are_gone);
	tcase_add_test(tests, refresh_forgets_only_what_was_unknown);
	tcase_add_test(tests, snapshot_finds_the_same_objects);
	tcase_add_test(tests, any_address_may_be_asked_for);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
