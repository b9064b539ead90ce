/*
 * The parser of .eh_frame: binary search in .eh_frame_hdr, common and frame description entries
 * (CIE, FDE), and the subset of call frame instructions that decides rsp, rbp, rbx and the return
 * address (DWARF 5 section 6.4, LSB 5.0 "Exception Frames").
 *
 * In: bytes of a mapped object, bounded by its segments. Out: one row. Never here: a read outside
 * of the image, a loop that input can make endless, a table of state bigger than a few words.
 */
#include "recorder/capture/cfi_parse.h"

#include <elf.h>

#include "recorder/format/holter_error.h"

#define FDE_BYTES_MAX (1u << 20) /* of one entry; real ones stay under a few KiB */
#define REMEMBER_MAX 3		 /* DW_CFA_remember_state in a row; compilers nest one */

/* Pointer encodings (DW_EH_PE_*). */
enum {
	PE_ABSPTR = 0x00,
	PE_ULEB = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_PCREL = 0x10,
	PE_DATAREL = 0x30,
	PE_FUNCREL = 0x40,
	PE_ALIGNED = 0x50,
	PE_INDIRECT = 0x80,
	PE_OMIT = 0xff,
};

/* Bounded reads: behind the end everything reads as zero and `bad` sticks. */
struct cursor {
	uint64_t at, end;
	bool bad;
};

static uint64_t take(struct cursor *c, unsigned bytes)
{
	uint64_t value = 0;

	if (unlikely(c->end - c->at < bytes)) {
		c->bad = true;
		c->at = c->end;
		return 0;
	}
	memcpy(&value, (const void *)c->at, bytes);
	c->at += bytes;
	return value;
}

static inline uint8_t take_byte(struct cursor *c)
{
	if (unlikely(c->at >= c->end)) {
		c->bad = true;
		return 0;
	}
	return *(const uint8_t *)c->at++;
}

static void skip(struct cursor *c, uint64_t bytes)
{
	if (unlikely(c->end - c->at < bytes)) {
		c->bad = true;
		c->at = c->end;
		return;
	}
	c->at += bytes;
}

/* LEB128 of DWARF: unlike JFR's it has no ninth-byte rule, and a signed form. */
static uint64_t take_leb(struct cursor *c, bool is_signed)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = take_byte(c);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && (byte & 0x40) && shift < 64)
		value |= ~0ull << shift;
	return value;
}

static inline uint64_t take_uleb(struct cursor *c)
{
	if (likely(c->at < c->end && *(const uint8_t *)c->at < 0x80))
		return *(const uint8_t *)c->at++;
	return take_leb(c, false);
}

static inline int64_t take_sleb(struct cursor *c)
{
	return (int64_t)take_leb(c, true);
}

/* A pointer in one of the encodings; `base` is what data-relative ones count from. */
static uint64_t take_pointer(struct cursor *c, uint8_t encoding, uint64_t base)
{
	uint64_t at = c->at;
	uint64_t value;

	if ((encoding & 0x70) == PE_ALIGNED) {
		skip(c, align_up(at, 8) - at);
		return take(c, 8);
	}
	switch (encoding & 0x0f) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		value = take(c, 8);
		break;
	case PE_ULEB:
		value = take_uleb(c);
		break;
	case PE_SLEB:
		value = (uint64_t)take_sleb(c);
		break;
	case PE_UDATA2:
		value = take(c, 2);
		break;
	case PE_SDATA2:
		value = (uint64_t)(int16_t)take(c, 2);
		break;
	case PE_UDATA4:
		value = take(c, 4);
		break;
	case PE_SDATA4:
		value = (uint64_t)(int32_t)take(c, 4);
		break;
	default:
		c->bad = true;
		return 0;
	}
	if ((encoding & 0x70) == PE_PCREL)
		return value + at;
	return (encoding & 0x70) == PE_DATAREL ? value + base : value;
}

/* The loaded segment that holds `address`, by the object's own program headers. */
static bool find_segment(const struct rec_cfi_image *image, uint64_t address, uint64_t *low,
			 uint64_t *high)
{
	const Elf64_Ehdr *header = (const void *)image->elf;
	const Elf64_Phdr *segment;
	uint64_t first = UINT64_MAX;

	if (!image->elf)
		return false;
	segment = (const void *)(image->elf + header->e_phoff);
	for (unsigned i = 0; i < header->e_phnum; i++, segment++) {
		uint64_t from, to;

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_R))
			continue;
		if (first == UINT64_MAX)
			first = align_down(segment->p_vaddr, PAGE_BYTES);
		from = image->map_low + (segment->p_vaddr - first);
		to = from + segment->p_memsz;
		if (address < from || address >= to)
			continue;
		*low = max_u64(from, image->map_low);
		*high = min_u64(to, image->map_high);
		return *low <= address && address < *high;
	}
	return false;
}

int rec_cfi_image_init(struct rec_cfi_image *image, uint64_t map_low, uint64_t map_high,
		       uint64_t header)
{
	const Elf64_Ehdr *elf = (const void *)map_low;

	image->header = header;
	image->map_low = map_low;
	image->map_high = map_high;
	image->elf = 0;
	image->low = image->high = 0;
	if (header < map_low || header >= map_high || map_high - map_low < PAGE_BYTES)
		return HOLTER_E_CORRUPT;
	if (memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 || elf->e_ident[EI_CLASS] != ELFCLASS64 ||
	    elf->e_phentsize != sizeof(Elf64_Phdr) || elf->e_phoff > PAGE_BYTES ||
	    elf->e_phoff + elf->e_phnum * sizeof(Elf64_Phdr) > PAGE_BYTES)
		return HOLTER_E_CORRUPT;
	image->elf = map_low;
	return find_segment(image, header, &image->low, &image->high) ? 0 : HOLTER_E_CORRUPT;
}

/* What a CIE says, and the place of the two programs. */
struct entry {
	uint64_t code_align;
	int64_t data_align;
	uint64_t base; /* of data-relative pointers */
	uint64_t pc;   /* where the FDE's code begins */
	uint8_t encoding;
	uint8_t has_augmentation;
	uint8_t is_signal;
};

/* Length word(s) of an entry; the cursor then ends where the entry does. False: none, terminator.
 */
static bool open_entry(const struct rec_cfi_image *image, uint64_t at, struct cursor *c)
{
	uint64_t length;

	c->at = at;
	c->bad = false;
	c->end = image->high;
	if (at < image->low || at >= image->high) {
		uint64_t low;

		if (!find_segment(image, at, &low, &c->end))
			return false;
	}
	length = take(c, 4);
	if (length == 0xffffffff)
		length = take(c, 8);
	if (c->bad || length == 0 || length > FDE_BYTES_MAX || length > c->end - c->at)
		return false;
	c->end = c->at + length;
	return true;
}

/* The augmentation string's letters, behind 'z'. */
static void take_augmentation(struct cursor *c, uint64_t letters, struct entry *entry)
{
	uint64_t length = take_uleb(c);
	uint64_t end = c->at + length;
	const char *letter = (const char *)letters;

	if (length > c->end - c->at) {
		c->bad = true;
		return;
	}
	entry->has_augmentation = 1;
	/* The string ends by NUL inside the entry: open_cie() has read beyond it. */
	for (letter++; *letter && !c->bad; letter++) {
		if (*letter == 'R') {
			entry->encoding = take_byte(c);
		} else if (*letter == 'P') {
			uint8_t encoding = take_byte(c);

			take_pointer(c, encoding, entry->base);
		} else if (*letter == 'L') {
			take_byte(c);
		} else if (*letter == 'S') {
			entry->is_signal = 1;
		} else if (*letter != 'B' && *letter != 'G') {
			break; /* the rest is skipped by its length */
		}
	}
	c->at = end;
}

/* Opens the CIE at `at`; the cursor is left at its instructions. */
static bool open_cie(const struct rec_cfi_image *image, uint64_t at, struct cursor *c,
		     struct entry *entry)
{
	uint64_t letters;
	uint8_t version;

	if (!open_entry(image, at, c) || take(c, 4) != 0)
		return false;
	version = take_byte(c);
	if (version != 1 && version != 3 && version != 4)
		return false;
	letters = c->at;
	while (take_byte(c) != 0)
		;
	if (c->bad)
		return false;
	if (version == 4)
		skip(c, 2); /* sizes of addresses and segments */
	entry->base = image->header;
	entry->encoding = PE_ABSPTR;
	entry->has_augmentation = 0;
	entry->is_signal = 0;
	entry->code_align = take_uleb(c);
	entry->data_align = take_sleb(c);
	if ((version == 1 ? take_byte(c) : take_uleb(c)) != REC_CFI_REG_RA)
		return false;
	if (*(const char *)letters == 'z')
		take_augmentation(c, letters, entry);
	else if (*(const char *)letters != 0)
		return false; /* the old "eh" form; no compiler for x86-64 ever wrote it */
	return !c->bad;
}

/* The interpreter's state beside its cursor. */
struct machine {
	const struct entry *entry;
	uint64_t location; /* wanted */
	uint64_t pc;	   /* reached */
	struct rec_cfi_row now, initial;
	struct rec_cfi_row saved[REMEMBER_MAX];
	unsigned depth;
};

/* The two fields of a register's rule; NULL for registers that nobody asks for. */
static uint8_t *rule_of(struct rec_cfi_row *row, uint64_t reg, int32_t **offset)
{
	switch (reg) {
	case REC_CFI_REG_RBP:
		*offset = &row->rbp_offset;
		return &row->rbp;
	case REC_CFI_REG_RBX:
		*offset = &row->rbx_offset;
		return &row->rbx;
	case REC_CFI_REG_RA:
		*offset = &row->ra_offset;
		return &row->ra;
	default:
		return NULL;
	}
}

static void set_rule(struct machine *m, uint64_t reg, enum rec_cfi_how how, int64_t offset)
{
	int32_t *place;
	uint8_t *rule = rule_of(&m->now, reg, &place);

	if (!rule)
		return;
	*rule = offset == (int32_t)offset ? (uint8_t)how : REC_CFI_UNKNOWN;
	*place = (int32_t)offset;
}

static void restore_rule(struct machine *m, uint64_t reg)
{
	int32_t *place, *from;
	uint8_t *rule = rule_of(&m->now, reg, &place);

	if (!rule)
		return;
	*rule = *rule_of(&m->initial, reg, &from);
	*place = *from;
}

static void set_cfa(struct machine *m, enum rec_cfi_cfa cfa, uint64_t reg, int64_t offset)
{
	bool is_known = reg < REC_CFI_REG_RA && offset == (int32_t)offset;

	m->now.cfa = is_known ? (uint8_t)cfa : REC_CFI_CFA_UNKNOWN;
	m->now.cfa_register = (uint8_t)reg;
	m->now.cfa_offset = (int32_t)offset;
	m->now.cfa_add = 0;
}

/*
 * The linkers' rule for procedure linkage tables: rsp + 8 + (((rip & 15) >= n) << 3). Its rip is
 * the location asked for, so it is decided here.
 */
static bool is_plt_tail(const struct machine *m, struct cursor *e, int64_t *offset)
{
	static const uint8_t head[] = { 0x80, 0x00, 0x3f, 0x1a }; /* breg16 0, lit15, and */
	static const uint8_t tail[] = { 0x2a, 0x33, 0x24, 0x22 }; /* ge, lit3, shl, plus */
	const uint8_t *at = (const uint8_t *)e->at;

	if (e->end - e->at != 9 || memcmp(at, head, 4) != 0 || memcmp(at + 5, tail, 4) != 0 ||
	    at[4] < 0x30 || at[4] > 0x3f)
		return false;
	*offset += (m->location & 15) >= at[4] - 0x30u ? 8 : 0;
	return true;
}

/* CFA by expression: the forms that compilers, linkers and hand-written code use. */
static void set_cfa_expression(struct machine *m, struct cursor *e)
{
	uint8_t reg = (uint8_t)(take_byte(e) - 0x70); /* DW_OP_breg0 */
	int64_t offset = take_sleb(e);
	uint64_t add = 0;
	bool is_known;

	if (e->bad || reg > 15) {
		m->now.cfa = REC_CFI_CFA_UNKNOWN;
		return;
	}
	if (e->at == e->end || is_plt_tail(m, e, &offset)) {
		set_cfa(m, REC_CFI_CFA_REGISTER, reg, offset);
		return;
	}
	is_known = take_byte(e) == 0x06; /* deref */
	if (e->at < e->end) {
		is_known &= take_byte(e) == 0x23; /* plus_uconst */
		add = take_uleb(e);
	}
	set_cfa(m, REC_CFI_CFA_DEREF, reg, offset);
	m->now.cfa_add = (int16_t)add;
	if (!is_known || e->at != e->end || e->bad || add > INT16_MAX)
		m->now.cfa = REC_CFI_CFA_UNKNOWN;
}

/* A register saved at the address an expression gives; only one register plus an offset. */
static void set_rule_expression(struct machine *m, uint64_t reg, struct cursor *e)
{
	uint8_t from = (uint8_t)(take_byte(e) - 0x70);
	int64_t offset = take_sleb(e);

	if (e->bad || e->at != e->end)
		set_rule(m, reg, REC_CFI_UNKNOWN, 0);
	else if (from == REC_CFI_REG_RBP)
		set_rule(m, reg, REC_CFI_AT_RBP, offset);
	else if (from == REC_CFI_REG_RSP)
		set_rule(m, reg, REC_CFI_AT_RSP, offset);
	else
		set_rule(m, reg, REC_CFI_UNKNOWN, 0);
}

/* A cursor over the block (length, bytes) at `c`, which moves behind it. */
static struct cursor take_block(struct cursor *c)
{
	uint64_t length = take_uleb(c);
	struct cursor block = { .at = c->at, .end = c->at, .bad = c->bad };

	skip(c, length);
	block.end = c->at;
	block.bad = c->bad;
	return block;
}

static void remember(struct machine *m, struct cursor *c)
{
	if (m->depth == REMEMBER_MAX) {
		c->bad = true;
		return;
	}
	m->saved[m->depth++] = m->now;
}

static void recall(struct machine *m, struct cursor *c)
{
	if (m->depth == 0) {
		c->bad = true;
		return;
	}
	m->now = m->saved[--m->depth];
}

/* Instructions that name a register first. */
static void run_register(struct machine *m, struct cursor *c, uint8_t op)
{
	uint64_t reg = take_uleb(c);
	int64_t align = m->entry->data_align;
	struct cursor block;

	switch (op) {
	case 0x05: /* offset_extended */
		set_rule(m, reg, REC_CFI_AT_CFA, (int64_t)take_uleb(c) * align);
		break;
	case 0x06: /* restore_extended */
		restore_rule(m, reg);
		break;
	case 0x07: /* undefined */
		set_rule(m, reg, REC_CFI_UNDEFINED, 0);
		break;
	case 0x08: /* same_value */
		set_rule(m, reg, REC_CFI_SAME, 0);
		break;
	case 0x0c: /* def_cfa */
		set_cfa(m, REC_CFI_CFA_REGISTER, reg, (int64_t)take_uleb(c));
		break;
	case 0x0d: /* def_cfa_register */
		set_cfa(m, REC_CFI_CFA_REGISTER, reg, m->now.cfa_offset);
		break;
	case 0x10: /* expression */
		block = take_block(c);
		set_rule_expression(m, reg, &block);
		break;
	case 0x11: /* offset_extended_sf */
		set_rule(m, reg, REC_CFI_AT_CFA, take_sleb(c) * align);
		break;
	case 0x12: /* def_cfa_sf */
		set_cfa(m, REC_CFI_CFA_REGISTER, reg, take_sleb(c) * align);
		break;
	case 0x16: /* val_expression */
		take_block(c);
		set_rule(m, reg, REC_CFI_UNKNOWN, 0);
		break;
	case 0x2f: /* GNU_negative_offset_extended */
		set_rule(m, reg, REC_CFI_AT_CFA, -(int64_t)take_uleb(c) * align);
		break;
	default: /* 0x09 register, 0x14 and 0x15 val_offset: the value is in no memory */
		take_leb(c, false);
		set_rule(m, reg, REC_CFI_UNKNOWN, 0);
		break;
	}
}

/* Instructions without a register. Moves the location where the instruction does. */
static void run_plain(struct machine *m, struct cursor *c, uint8_t op)
{
	struct cursor block;

	switch (op) {
	case 0x00: /* nop */
	case 0x2d: /* GNU_window_save */
		break;
	case 0x01: /* set_loc */
		m->pc = take_pointer(c, m->entry->encoding, m->entry->base);
		break;
	case 0x02: /* advance_loc1, 2, 4 */
	case 0x03:
	case 0x04:
		m->pc += take(c, 1u << (op - 2)) * m->entry->code_align;
		break;
	case 0x0a:
		remember(m, c);
		break;
	case 0x0b:
		recall(m, c);
		break;
	case 0x0e: /* def_cfa_offset */
		set_cfa(m, REC_CFI_CFA_REGISTER, m->now.cfa_register, (int64_t)take_uleb(c));
		break;
	case 0x0f: /* def_cfa_expression */
		block = take_block(c);
		set_cfa_expression(m, &block);
		break;
	case 0x13: /* def_cfa_offset_sf */
		set_cfa(m, REC_CFI_CFA_REGISTER, m->now.cfa_register,
			take_sleb(c) * m->entry->data_align);
		break;
	case 0x2e: /* GNU_args_size: the CFA already counts them */
		take_uleb(c);
		break;
	default:
		c->bad = true;
	}
}

/* True for the instructions whose first operand is a register. */
static bool names_register(uint8_t op)
{
	return (op >= 0x05 && op <= 0x09) || op == 0x0c || op == 0x0d ||
	       (op >= 0x10 && op <= 0x12) || (op >= 0x14 && op <= 0x16) || op == 0x2f;
}

/* Runs a program up to the wanted location. */
static bool run(struct machine *m, struct cursor *c)
{
	while (c->at < c->end && !c->bad) {
		uint8_t op = take_byte(c);

		if (op >> 6 == 1)
			m->pc += (op & 0x3f) * m->entry->code_align;
		else if (op >> 6 == 2)
			set_rule(m, op & 0x3f, REC_CFI_AT_CFA,
				 (int64_t)take_uleb(c) * m->entry->data_align);
		else if (op >> 6 == 3)
			restore_rule(m, op & 0x3f);
		else if (names_register(op))
			run_register(m, c, op);
		else
			run_plain(m, c, op);
		if (m->pc > m->location)
			break;
	}
	return !c->bad;
}

/* Opens the FDE at `at` if it covers the location; the cursors are left at both programs. */
static int open_fde(const struct rec_cfi_image *image, uint64_t at, uint64_t location,
		    struct cursor *fde, struct cursor *cie, struct entry *entry)
{
	uint64_t here, back, length;

	if (!open_entry(image, at, fde))
		return HOLTER_E_CORRUPT;
	here = fde->at;
	back = take(fde, 4);
	if (back == 0 || back > here || !open_cie(image, here - back, cie, entry))
		return HOLTER_E_CORRUPT;
	entry->pc = take_pointer(fde, entry->encoding, entry->base);
	length = take_pointer(fde, entry->encoding & 0x0f, 0);
	if (entry->has_augmentation)
		skip(fde, take_uleb(fde));
	if (fde->bad)
		return HOLTER_E_CORRUPT;
	return location - entry->pc < length ? 0 : HOLTER_E_NO_FIELD;
}

static int parse_fde(const struct rec_cfi_image *image, uint64_t at, uint64_t location,
		     struct rec_cfi_row *row)
{
	struct cursor fde, cie;
	struct entry entry;
	struct machine m;
	int error = open_fde(image, at, location, &fde, &cie, &entry);

	if (error)
		return error;
	memset(&m.now, 0, sizeof(m.now));
	m.now.ra = m.now.cfa = REC_CFI_UNKNOWN;
	m.initial = m.now;
	m.entry = &entry;
	m.location = location;
	m.pc = entry.pc;
	m.depth = 0;
	if (!run(&m, &cie))
		return HOLTER_E_CORRUPT;
	m.initial = m.now;
	m.pc = entry.pc;
	if (!run(&m, &fde))
		return HOLTER_E_CORRUPT;
	*row = m.now;
	row->is_signal = entry.is_signal;
	return 0;
}

/* No usable table: every entry in turn. Slow, and only met in odd objects; the result is cached. */
static int parse_linear(const struct rec_cfi_image *image, uint64_t at, uint64_t location,
			struct rec_cfi_row *row)
{
	struct cursor entry;

	while (open_entry(image, at, &entry)) {
		uint64_t here = entry.at;

		if (take(&entry, 4) != 0 && parse_fde(image, at, location, row) == 0)
			return 0;
		at = entry.end;
		if (at <= here)
			break;
	}
	return HOLTER_E_NO_FIELD;
}

/* The last row of the sorted table that begins at or before `location`, as the FDE's address. */
static uint64_t search_table(uint64_t table, uint64_t count, uint64_t header, uint64_t location)
{
	const int32_t(*rows)[2] = (const void *)table;
	int64_t wanted = (int64_t)(location - header);
	uint64_t low = 0;

	while (count > 1) {
		uint64_t half = count / 2;

		/* A conditional move: the branch would be a coin toss each time. */
		low = rows[low + half][0] <= wanted ? low + half : low;
		count -= half;
	}
	return rows[low][0] <= wanted ? header + (uint64_t)(int64_t)rows[low][1] : 0;
}

int rec_cfi_parse(const struct rec_cfi_image *image, uint64_t location, struct rec_cfi_row *row)
{
	struct cursor c = { .at = image->header, .end = image->high, .bad = false };
	uint8_t version = take_byte(&c);
	uint8_t frame_encoding = take_byte(&c);
	uint8_t count_encoding = take_byte(&c);
	uint8_t table_encoding = take_byte(&c);
	uint64_t frames, count, fde;

	if (version != 1 || frame_encoding == PE_OMIT)
		return HOLTER_E_CORRUPT;
	frames = take_pointer(&c, frame_encoding, image->header);
	if (c.bad)
		return HOLTER_E_CORRUPT;
	if (count_encoding == PE_OMIT || table_encoding != (PE_DATAREL | PE_SDATA4))
		return parse_linear(image, frames, location, row);
	count = take_pointer(&c, count_encoding, image->header);
	count = min_u64(count, (c.end - c.at) / 8);
	if (c.bad || count == 0 || (c.at & 3) != 0)
		return HOLTER_E_NO_FIELD;
	fde = search_table(c.at, count, image->header, location);
	return fde ? parse_fde(image, fde, location, row) : HOLTER_E_NO_FIELD;
}
