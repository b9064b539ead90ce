/*
 * The cache of unwinding rules: which object a location belongs to, what its .eh_frame says, packed
 * into one word.
 *
 * In: locations that rec_cfi_lookup() does not know. Out: words in rec_cfi_cache. Never here:
 * locks, allocation, a read from an object that may be gone: a location that the walker trusts lies
 * in code that the calling thread is about to return to, so nobody can rightly unload it; what is
 * doubtful is probed first.
 */
#include "recorder/capture/cfi.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include "recorder/base/hash.h"
#include "recorder/format/holter_error.h"
#include "recorder/sys/raw.h"

#define WIDE_MAX 1024u /* rows of the table of uncommon rules */
#define WIDE_PROBES 16u
#define OBJECT_MAX 1024u /* of the snapshot */
#define CODE_REGIONS 64u
#define REGION_BYTES (1u << 20)

/* Since glibc 2.35; without locks and async-signal-safe. */
#pragma weak _dl_find_object

/* Process-wide and written without locks: that is the purpose. A forked child inherits it rightly.
 */
uint64_t rec_cfi_cache[REC_CFI_WAYS][REC_CFI_WAY_WORDS]
	__attribute__((aligned(CACHE_LINE), visibility("hidden")));

/* Rows are content, not addresses: they are never removed and outlive any dlclose. */
struct wide {
	uint32_t state; /* 0 free, 1 being written, 2 valid */
	struct rec_cfi_row row;
};
static struct wide wide_table[WIDE_MAX];

/* Objects as dl_iterate_phdr told; `sequence` is odd while the entry changes. low 0: free. */
struct object {
	uint32_t sequence;
	uint32_t mark; /* of the last refresh that saw it; writers only */
	uint64_t low, high, header;
};
static struct object objects[OBJECT_MAX];
static uint32_t object_count; /* entries ever used */
static uint32_t object_mark;
static bool snapshot_forced;
static unsigned long long unloads_seen; /* by the dynamic linker's count, at the last refresh */

/* Where code without description was met lately; a hint, so that any loss is harmless. */
static uint64_t code_regions[CODE_REGIONS];

static uint32_t generation;
void (*rec_cfi_object_met)(const void *low);

static inline uint32_t special(enum rec_cfi_special kind, uint32_t index)
{
	return REC_CFI_FORM_SPECIAL | (uint32_t)kind << 2 | index << 5;
}

uint32_t rec_cfi_generation(void)
{
	return __atomic_load_n(&generation, __ATOMIC_RELAXED);
}

/* A system call that reads 8 bytes of memory and then refuses: EINVAL readable, EFAULT not. */
static bool is_readable(uint64_t address)
{
	return raw_syscall6(SYS_rt_sigprocmask, -1, (long)address, 0, 8, 0, 0) == -22; /* EINVAL */
}

static bool find_in_snapshot(uint64_t address, struct object *found)
{
	uint32_t count = __atomic_load_n(&object_count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < count && i < OBJECT_MAX; i++) {
		struct object *o = &objects[i];
		/* Pairs with the releases of write_object(). */
		uint32_t before = __atomic_load_n(&o->sequence, __ATOMIC_ACQUIRE);

		/* Acquire, so that who sees a changed word sees the changed sequence below. */
		found->low = __atomic_load_n(&o->low, __ATOMIC_ACQUIRE);
		found->high = __atomic_load_n(&o->high, __ATOMIC_ACQUIRE);
		found->header = __atomic_load_n(&o->header, __ATOMIC_ACQUIRE);
		if (before & 1 || before != __atomic_load_n(&o->sequence, __ATOMIC_RELAXED))
			continue;
		if (found->low && address >= found->low && address < found->high)
			return true;
	}
	return false;
}

/* Apart, so that the big result of _dl_find_object is not on the stack while the parser runs. */
static __attribute__((noinline)) bool find_object(uint64_t address, struct object *found)
{
	struct dl_find_object result;

	if (!_dl_find_object || snapshot_forced)
		return find_in_snapshot(address, found);
	if (_dl_find_object((void *)address, &result) != 0)
		return false;
	found->low = (uint64_t)result.dlfo_map_start;
	found->high = (uint64_t)result.dlfo_map_end;
	found->header = (uint64_t)result.dlfo_eh_frame;
	if (rec_cfi_object_met)
		rec_cfi_object_met(result.dlfo_map_start);
	return true;
}

bool rec_cfi_object(uint64_t address, uint64_t *low, uint64_t *high)
{
	struct object found;

	if (!find_object(address, &found))
		return false;
	*low = found.low;
	*high = found.high;
	return true;
}

/* The row's place in the table of uncommon rules; WIDE_MAX when it is full. */
static uint32_t intern_wide(const struct rec_cfi_row *row)
{
	uint32_t start = (uint32_t)hash_bytes(row, sizeof(*row), 0);

	for (uint32_t i = 0; i < WIDE_PROBES; i++) {
		uint32_t index = (start + i) % WIDE_MAX;
		struct wide *w = &wide_table[index];
		/* Pairs with the release below: a valid row is whole. */
		uint32_t state = __atomic_load_n(&w->state, __ATOMIC_ACQUIRE);

		if (state == 2 && memcmp(&w->row, row, sizeof(*row)) == 0)
			return index;
		if (state != 0 || !__atomic_compare_exchange_n(&w->state, &state, 1, false,
							       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		w->row = *row;
		__atomic_store_n(&w->state, 2, __ATOMIC_RELEASE);
		return index;
	}
	return WIDE_MAX;
}

/* CFA - 8 * n with n of 1..31 fits the short forms; n = 0 says "not saved". */
static bool short_slot(uint8_t how, int32_t offset, uint32_t *slot)
{
	*slot = 0;
	if (how == REC_CFI_SAME)
		return true;
	if (how != REC_CFI_AT_CFA || offset >= 0 || offset < -31 * 8 || (offset & 7) != 0)
		return false;
	*slot = (uint32_t)-offset / 8;
	return true;
}

/* Packs a row. Short rules hold the invariant that rbp, where CFA = rsp + n, is saved above rsp. */
static uint32_t pack(const struct rec_cfi_row *row)
{
	bool is_short = row->cfa == REC_CFI_CFA_REGISTER && row->ra == REC_CFI_AT_CFA &&
			row->ra_offset == -8 && row->cfa_offset >= 8 &&
			(row->cfa_offset & 7) == 0 && row->cfa_offset < 1 << 20;
	uint32_t rbp, rbx, index;

	if (row->is_signal)
		return special(REC_CFI_SIGNAL, 0);
	if (row->ra == REC_CFI_UNDEFINED)
		return special(REC_CFI_END, 0);
	if (row->ra == REC_CFI_UNKNOWN || row->cfa == REC_CFI_CFA_UNKNOWN)
		return special(REC_CFI_STOP, 0);
	is_short &= short_slot(row->rbp, row->rbp_offset, &rbp);
	is_short &= short_slot(row->rbx, row->rbx_offset, &rbx);
	if (is_short && row->cfa_register == REC_CFI_REG_RBP)
		return REC_CFI_FORM_RBP | rbp << 2 | rbx << 7 | (uint32_t)row->cfa_offset / 8 << 12;
	if (is_short && row->cfa_register == REC_CFI_REG_RSP &&
	    (int32_t)max_u64(rbp, rbx) * 8 <= row->cfa_offset)
		return REC_CFI_FORM_RSP | rbp << 2 | rbx << 7 | (uint32_t)row->cfa_offset / 8 << 12;
	index = intern_wide(row);
	return index < WIDE_MAX ? special(REC_CFI_WIDE, index) : special(REC_CFI_STOP, 0);
}

static void expand_slot(uint64_t slot, uint8_t *how, int32_t *offset)
{
	*how = slot ? REC_CFI_AT_CFA : REC_CFI_SAME;
	*offset = -(int32_t)slot;
}

bool rec_cfi_expand(uint32_t rule, struct rec_cfi_row *row)
{
	uint32_t form = REC_CFI_FORM(rule);

	if (form == REC_CFI_FORM_SPECIAL) {
		uint32_t index = rule >> 5;

		if (REC_CFI_SPECIAL(rule) != REC_CFI_WIDE || index >= WIDE_MAX ||
		    __atomic_load_n(&wide_table[index].state, __ATOMIC_ACQUIRE) != 2)
			return false;
		*row = wide_table[index].row;
		return true;
	}
	memset(row, 0, sizeof(*row));
	row->cfa = REC_CFI_CFA_REGISTER;
	row->cfa_register = form == REC_CFI_FORM_RSP ? REC_CFI_REG_RSP : REC_CFI_REG_RBP;
	row->cfa_offset = (int32_t)REC_CFI_CFA_OFFSET(rule);
	row->ra = REC_CFI_AT_CFA;
	row->ra_offset = -8;
	expand_slot(REC_CFI_RBP_SLOT(rule), &row->rbp, &row->rbp_offset);
	expand_slot(REC_CFI_RBX_SLOT(rule), &row->rbx, &row->rbx_offset);
	return form != 0;
}

/* Sixteen bytes of code, by instructions of our own: sanitizers object to reading just anything. */
static void read_code(uint64_t address, uint8_t *code)
{
	uint64_t words[2];

	__asm__ volatile("mov %1, %0" : "=r"(words[0]) : "m"(*(const uint64_t *)address));
	__asm__ volatile("mov %1, %0" : "=r"(words[1]) : "m"(*(const uint64_t *)(address + 8)));
	memcpy(code, words, sizeof(words));
}

/* Does an instruction that ends at `end` look like a call? The 8 bytes before are readable. */
static bool follows_call(const uint8_t *end)
{
	if (end[-5] == 0xe8)
		return true;
	/* ff /2 with every length of operand: 2, 3, 4 (SIB), 6, 7 bytes */
	for (int length = 2; length <= 7; length++)
		if (end[-length] == 0xff && (end[1 - length] & 0x38) == 0x10)
			return true;
	return false;
}

/* Code of a procedure linkage table that nothing describes: only its jumps, or the push before. */
static bool is_plt(const uint8_t *code)
{
	if (memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0) /* endbr64 */
		code += 4;
	if (code[0] == 0xf2) /* bnd */
		code++;
	return (code[0] == 0xff && code[1] == 0x25) || /* jmp *x(%rip) */
	       (code[0] == 0x68 && code[5] == 0xe9);   /* push $n; jmp */
}

/* mov $15, %rax (two encodings); syscall: the return of a handler in code without a description. */
static bool is_sigreturn(const uint8_t *code)
{
	return memcmp(code, "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 9) == 0 ||
	       memcmp(code, "\xb8\x0f\x00\x00\x00\x0f\x05", 7) == 0;
}

/* Was code met in this mebibyte before? Made code lies together; an interpreter's returns follow no
 * call. */
static bool is_code_near(uint64_t pc)
{
	uint64_t region = pc / REGION_BYTES;

	return __atomic_load_n(&code_regions[region % CODE_REGIONS], __ATOMIC_RELAXED) == region;
}

static void note_code(uint64_t pc)
{
	uint64_t region = pc / REGION_BYTES;

	__atomic_store_n(&code_regions[region % CODE_REGIONS], region, __ATOMIC_RELAXED);
}

/* No object, or none that describes this location. */
static uint32_t rule_without_cfi(uint64_t location, uint32_t how)
{
	uint64_t pc = how & REC_CFI_EXACT ? location : location + 1;
	uint8_t code[16], before[16];

	/* Words at both ends, so that no page between is missed. */
	if (!is_readable(pc - 16) || !is_readable(pc + 8))
		return special(REC_CFI_STOP, 0);
	read_code(pc, code);
	read_code(pc - 16, before);
	if (is_sigreturn(code))
		return special(REC_CFI_SIGNAL, 0);
	if (how & REC_CFI_EXACT && is_plt(code))
		return REC_CFI_FORM_RSP | 1u << 12;
	/* A guess led here: it must look like the right place. */
	if (how & REC_CFI_DOUBTFUL && !follows_call(before + 16) && !is_code_near(pc))
		return special(REC_CFI_STOP, 0);
	note_code(pc);
	return special(REC_CFI_FRAME, 0);
}

/* After a guess, the address may be any, also one in an object on its way out. */
static bool is_object_there(const struct object *object)
{
	return is_readable(object->low) && is_readable(object->header) &&
	       is_readable(object->high - 8);
}

static uint32_t rule_of_location(uint64_t location, uint32_t how)
{
	struct rec_cfi_image image;
	struct rec_cfi_row row;
	struct object object;
	int error = HOLTER_E_NO_FIELD;

	if (!find_object(location, &object))
		return rule_without_cfi(location, how);
	if (how & REC_CFI_DOUBTFUL && !is_object_there(&object))
		return special(REC_CFI_STOP, 0);
	memset(&row, 0, sizeof(row)); /* padding too: rows are compared as bytes */
	if (object.header &&
	    rec_cfi_image_init(&image, object.low, object.high, object.header) == 0) {
		error = rec_cfi_parse(&image, location, &row);
		/* Pushed by hand, since no call is before it: makecontext, a stack's begin. */
		if (error == HOLTER_E_NO_FIELD && !(how & REC_CFI_EXACT) &&
		    rec_cfi_parse(&image, location + 1, &row) == 0)
			return special(row.is_signal ? REC_CFI_SIGNAL : REC_CFI_END, 0);
	}
	if (error == 0)
		return pack(&row);
	return error == HOLTER_E_NO_FIELD ? rule_without_cfi(location, how)
					  : special(REC_CFI_STOP, 0);
}

uint32_t rec_cfi_fill(uint64_t address, uint32_t how)
{
	/* Pairs with the raise in rec_cfi_invalidate(): what was read from a dropped object goes.
	 */
	uint32_t before = __atomic_load_n(&generation, __ATOMIC_SEQ_CST);
	uint32_t rule = rule_of_location(address - 1, how);
	uint64_t *set = &rec_cfi_cache[0][address % REC_CFI_SETS];
	uint64_t word = (uint64_t)rule << REC_CFI_TAG_BITS | address >> 12;
	uint64_t *place = set;
	uint32_t way = 0;

	for (; way < REC_CFI_WAYS && __atomic_load_n(place, __ATOMIC_RELAXED) != 0; way++)
		place += REC_CFI_WAY_WORDS;
	/* Full: any of them, chosen by bits that the set's number does not contain. */
	if (way == REC_CFI_WAYS)
		place = set + (address >> 12 ^ address >> 17) % REC_CFI_WAYS * REC_CFI_WAY_WORDS;
	__atomic_store_n(place, word, __ATOMIC_SEQ_CST);
	if (unlikely(__atomic_load_n(&generation, __ATOMIC_SEQ_CST) != before))
		__atomic_compare_exchange_n(place, &word, 0, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED);
	return rule;
}

/* Frees words; all, or those that say that there is no code, or none with rules. */
static void clear_cache(bool only_unknown)
{
	uint64_t *word = &rec_cfi_cache[0][0];

	for (uint32_t i = 0; i < REC_CFI_WAYS * REC_CFI_WAY_WORDS; i++, word++) {
		uint64_t value = __atomic_load_n(word, __ATOMIC_RELAXED);
		uint32_t rule = (uint32_t)(value >> REC_CFI_TAG_BITS);

		if (value == 0 || (only_unknown && rule != special(REC_CFI_STOP, 0) &&
				   rule != special(REC_CFI_FRAME, 0)))
			continue;
		/* A word that changed meanwhile belongs to somebody who saw the new state. */
		__atomic_compare_exchange_n(word, &value, 0, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED);
	}
}

void rec_cfi_invalidate(void)
{
	__atomic_fetch_add(&generation, 1, __ATOMIC_SEQ_CST);
	clear_cache(false);
}

static void write_object(struct object *o, uint64_t low, uint64_t high, uint64_t header)
{
	uint32_t sequence = o->sequence + 1;

	/* Each word is released after the odd sequence; pairs with the acquires of the search. */
	__atomic_store_n(&o->sequence, sequence, __ATOMIC_RELAXED);
	__atomic_store_n(&o->low, low, __ATOMIC_RELEASE);
	__atomic_store_n(&o->high, high, __ATOMIC_RELEASE);
	__atomic_store_n(&o->header, header, __ATOMIC_RELEASE);
	__atomic_store_n(&o->sequence, sequence + 1, __ATOMIC_RELEASE);
}

/* Marks the entry of this object, or writes one. Runs under the dynamic linker's lock. */
static void note_object(uint64_t low, uint64_t high, uint64_t header)
{
	uint32_t place = object_count;

	for (uint32_t i = 0; i < object_count; i++) {
		struct object *o = &objects[i];

		if (o->low == low && o->high == high && o->header == header) {
			o->mark = object_mark;
			return;
		}
		if (o->low == 0 && place == object_count)
			place = i;
	}
	if (place >= OBJECT_MAX)
		return;
	write_object(&objects[place], low, high, header);
	objects[place].mark = object_mark;
	if (place == object_count)
		__atomic_store_n(&object_count, place + 1, __ATOMIC_RELEASE);
}

static int visit_object(struct dl_phdr_info *info, size_t size, void *first)
{
	uint64_t low = UINT64_MAX, high = 0, header = 0;

	(void)size;
	if (*(bool *)first)
		object_mark++;
	*(bool *)first = false;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t from = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_GNU_EH_FRAME)
			header = from;
		if (segment->p_type != PT_LOAD)
			continue;
		low = min_u64(low, align_down(from, PAGE_BYTES));
		high = max_u64(high, from + segment->p_memsz);
	}
	if (low < high && header)
		note_object(low, high, header);
	return 0;
}

/* Objects of an older mark are gone; inside the callback, so that one refresh does it at a time. */
static int sweep_objects(struct dl_phdr_info *info, size_t size, void *mark)
{
	(void)info;
	(void)size;
	for (uint32_t i = 0; i < object_count; i++)
		if (objects[i].low && objects[i].mark < *(uint32_t *)mark)
			write_object(&objects[i], 0, 0, 0);
	return 1;
}

/* How many objects have been unloaded so far; the first object's callback knows. */
static int note_unloads(struct dl_phdr_info *info, size_t size, void *count)
{
	if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs))
		*(unsigned long long *)count = info->dlpi_subs;
	return 1;
}

void rec_cfi_refresh(void)
{
	unsigned long long unloads = 0;
	bool first = true;

	if (!_dl_find_object || snapshot_forced) {
		uint32_t mark = __atomic_load_n(&object_mark, __ATOMIC_RELAXED) + 1;

		dl_iterate_phdr(visit_object, &first);
		dl_iterate_phdr(sweep_objects, &mark);
	}
	/* What was opened may lie where something was that somebody else is just closing. */
	dl_iterate_phdr(note_unloads, &unloads);
	if (__atomic_exchange_n(&unloads_seen, unloads, __ATOMIC_RELAXED) != unloads)
		rec_cfi_invalidate();
	else
		clear_cache(true);
}

void rec_cfi_use_snapshot(bool use)
{
	snapshot_forced = use;
	rec_cfi_refresh();
	rec_cfi_invalidate();
}
