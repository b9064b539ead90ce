/*
 * The depot of depot.h: content-addressed storage in two halves that take turns.
 *
 * In: stacks, strings, addresses of any thread of any process. Out: ids, and verified copies.
 * Nothing read here is trusted: an index slot, a header and a content may be stale, torn or forged,
 * so each is bounded, and the content must agree with its hash. Never here: locks, waiting.
 *
 * A half:  index: slots of 8 bytes | entries, 8-aligned
 * A slot:  63..40 tag, upper bits of the hash | 39..24 generation, low bits | 23..0 offset / 8
 *
 * A slot of another generation counts as empty, so nothing has to be cleared when a half is used
 * again. A generation is turned by two compare-and-swaps that anybody may do or finish: first the
 * other half's `used` gets the new number, then `generation`. Since `used` carries its generation,
 * a thread that slept meanwhile can neither take space of a generation it does not mean nor reset
 * it. What such a thread still writes into space of an older generation may spoil one entry of a
 * newer one: readers see that by the hash, and the next intern stores the content anew.
 */
#include "recorder/region/depot.h"
#include "recorder/sys/racy.h"

#define SLOT_OFFSET_MASK 0xffffffull
#define SLOT_TAG_SHIFT 40
#define SLOT_GENERATION_SHIFT 24
#define PROBE_LINE 8u	   /* slots of a cache line */
#define INDEX_PIECE_BITS 6 /* 64 pieces, one bit each of index_ready */
#define PROBE_MAX 32u	   /* slots looked at; full: the generation is turned */
#define TURN_TRIES 4
#define TURN_ROOM (64ull << 10) /* a half with less would only drop what the other one holds */
#define ENTRY_HEADER 16u
_Static_assert(sizeof(struct rec_depot_entry) == ENTRY_HEADER, "two words");

/* One half as seen in one generation. */
struct half {
	struct rec_region *region;
	uint8_t *base;
	uint64_t *index;
	uint32_t slots; /* a power of two, at least 64 */
	uint32_t slot_bits;
	uint32_t generation;
	uint64_t bytes;
};

/* What is interned or looked for. */
struct wanted {
	const uint8_t *content;
	uint32_t bytes;
	uint64_t hash;
	uint64_t info; /* second word of an entry: bytes, kind, flags; its generation is added */
};

static uint32_t generation_next(uint32_t generation)
{
	/* Low 8 bits of zero would make ids that look like names; the halves must still alternate.
	 */
	return (uint8_t)(generation + 1) == 0 ? generation + 3 : generation + 1;
}

static uint32_t generation_previous(uint32_t generation)
{
	return (uint8_t)generation == 2 && generation > 2 ? generation - 3 : generation - 1;
}

static uint32_t generation_now(const struct rec_region *region)
{
	return __atomic_load_n(&region->header->depot.generation, __ATOMIC_ACQUIRE);
}

static inline __attribute__((always_inline)) struct half half_of(const struct rec_region *region,
								 uint32_t generation)
{
	const struct rec_layout *l = &region->layout;
	uint8_t *base = region->base + l->depot + (generation & 1) * l->depot_half;

	return (struct half){ .region = (struct rec_region *)region,
			      .base = base,
			      .index = (uint64_t *)base,
			      .slots = l->depot_slots,
			      .slot_bits = 31u - (uint32_t)__builtin_clz(l->depot_slots),
			      .generation = generation,
			      .bytes = l->depot_half };
}

/* The next eight bytes of the content, fewer at its end, of any alignment. */
static inline uint64_t word_at(const uint8_t *at, uint32_t bytes)
{
	uint64_t word = 0;

	memcpy(&word, at, bytes < 8 ? bytes : 8);
	return word;
}

/* Two words into one by a wide multiplication, as wyhash does (Wang Yi, public domain). */
static inline uint64_t fold_words(uint64_t first, uint64_t second)
{
	__uint128_t product = (__uint128_t)first * second;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t fold(const uint8_t *at, uint64_t lane, uint64_t key)
{
	uint64_t first, second;

	memcpy(&first, at, 8);
	memcpy(&second, at + 8, 8);
	return fold_words(first ^ key, second ^ lane);
}

/*
 * Four independent lanes, because one chain of multiplications waits 5 cycles a word: 22 frames
 * would take 35 ns instead of 10. Each word counts with its place.
 */
static inline __attribute__((always_inline)) uint64_t content_hash(const uint8_t *at,
								   uint32_t bytes, uint64_t seed)
{
	const uint64_t k[4] = { 0xa0761d6478bd642full, 0xe7037ed1a0b428dbull, 0x8ebc6af09c88c6e3ull,
				0x589965cc75374cc3ull };
	uint64_t a = seed ^ k[0], b = seed ^ k[1], c = seed ^ k[2], d = seed ^ k[3];

	for (; bytes >= 64; bytes -= 64, at += 64) {
		a = fold(at, a, k[1]);
		b = fold(at + 16, b, k[2]);
		c = fold(at + 32, c, k[3]);
		d = fold(at + 48, d, k[0]);
	}
	if (bytes >= 16)
		a = fold(at, a, k[2]);
	if (bytes >= 32)
		b = fold(at + 16, b, k[3]);
	if (bytes >= 48)
		c = fold(at + 32, c, k[0]);
	at += bytes & 48;
	bytes &= 15;
	if (bytes > 0) {
		uint8_t tail[16] = { 0 };

		memcpy(tail, at, bytes);
		d = fold(tail, d, k[1]);
	}
	a ^= c << 27 | c >> 37;
	b ^= d << 41 | d >> 23;
	return fold_words(a, b);
}

static inline __attribute__((always_inline)) struct wanted
wanted_make(uint32_t kind, uint32_t flags, const void *content, uint32_t bytes)
{
	struct wanted wanted = { .content = content };

	wanted.bytes = bytes > REC_DEPOT_BYTES_MAX ? REC_DEPOT_BYTES_MAX : bytes;
	wanted.info = (uint64_t)wanted.bytes | (uint64_t)(kind & 0xff) << 16 |
		      (uint64_t)(flags & 0xff) << 24;
	wanted.hash = content_hash(wanted.content, wanted.bytes, wanted.info);
	return wanted;
}

static inline __attribute__((always_inline)) uint64_t slot_mark(const struct half *half,
								uint64_t hash)
{
	return hash >> 40 << SLOT_TAG_SHIFT | (uint64_t)(half->generation & 0xffff)
						      << SLOT_GENERATION_SHIFT;
}

static bool slot_is_current(const struct half *half, uint64_t slot)
{
	return (slot & SLOT_OFFSET_MASK) != 0 &&
	       (slot >> SLOT_GENERATION_SHIFT & 0xffff) == (half->generation & 0xffff);
}

/* The pages below this offset of the half may be touched. */
static inline __attribute__((always_inline)) uint64_t half_ready(const struct half *half)
{
	uint64_t *ready = &half->region->header->depot.half[half->generation & 1].ready;

	return min_u64(__atomic_load_n(ready, __ATOMIC_ACQUIRE), half->bytes);
}

/* An entry at an offset that came from shared memory; NULL when it cannot be one. */
static inline __attribute__((always_inline)) const uint64_t *entry_at(const struct half *half,
								      uint64_t offset)
{
	if (offset < (uint64_t)half->slots * 8 || offset + ENTRY_HEADER > half_ready(half))
		return NULL;
	return (const uint64_t *)(half->base + offset);
}

/* Is the entry what is wanted? Somebody may be writing there: then it is not. */
static inline __attribute__((always_inline)) bool
entry_equals(const struct half *half, uint64_t offset, const struct wanted *wanted)
{
	const uint64_t *entry = entry_at(half, offset);

	return entry && __atomic_load_n(&entry[0], __ATOMIC_RELAXED) == wanted->hash &&
	       __atomic_load_n(&entry[1], __ATOMIC_RELAXED) ==
		       (wanted->info | (uint64_t)half->generation << 32) &&
	       offset + ENTRY_HEADER + wanted->bytes <= half_ready(half) &&
	       racy_equal(wanted->content, entry + 2, wanted->bytes);
}

static uint32_t id_make(uint32_t generation, uint64_t offset)
{
	return generation << 24 | (uint32_t)(offset / 8);
}

/* The slot looked at as number `i`: whole cache lines, the first slot by the hash. */
static inline uint32_t probe_slot(const struct half *half, uint64_t hash, uint32_t i)
{
	uint32_t first = (uint32_t)hash;
	uint32_t at = (first & ~(PROBE_LINE - 1)) + (i & ~(PROBE_LINE - 1)) +
		      ((first + i) & (PROBE_LINE - 1));

	return at & (half->slots - 1);
}

/*
 * The pages of the index that hold a slot may be touched; reserves them if need be. A page at a
 * time, since the index is 256 KiB at 16 MiB of ring, and a page costs a microsecond.
 */
static inline __attribute__((always_inline)) bool slot_is_ready(const struct half *half,
								uint32_t slot)
{
	uint32_t piece = slot >> (half->slot_bits - INDEX_PIECE_BITS);
	uint64_t *ready = &half->region->header->depot.half[half->generation & 1].index_ready;

	return (__atomic_load_n(ready, __ATOMIC_ACQUIRE) >> piece & 1) != 0;
}

static bool slot_ensure(const struct half *half, uint32_t slot)
{
	uint32_t piece = slot >> (half->slot_bits - INDEX_PIECE_BITS);
	uint64_t bytes = (uint64_t)half->slots * 8 >> INDEX_PIECE_BITS;
	uint64_t from = (uint64_t)(half->base - half->region->base) + piece * bytes;

	if (likely(slot_is_ready(half, slot)))
		return true;
	if (rec_region_reserve(half->region, from, from + bytes) != 0)
		return false;
	__atomic_fetch_or(&half->region->header->depot.half[half->generation & 1].index_ready,
			  1ull << piece, __ATOMIC_RELEASE);
	return true;
}

/*
 * Looks along the probe sequence.
 * @free_slot: out: the first slot that may be taken, NULL when none.
 * Returns the offset of the equal entry, 0 when there is none.
 */
static uint64_t index_search(const struct half *half, const struct wanted *wanted,
			     uint64_t **free_slot, uint64_t *free_value)
{
	uint64_t mark = slot_mark(half, wanted->hash);

	*free_slot = NULL;
	for (uint32_t i = 0; i < PROBE_MAX; i++) {
		uint32_t number = probe_slot(half, wanted->hash, i);
		uint64_t *slot = &half->index[number];

		if (!slot_ensure(half, number))
			return 0;
		/* Pairs with the release that stored it: the entry's content is there. */
		uint64_t value = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

		if ((value & ~SLOT_OFFSET_MASK) == mark && (value & SLOT_OFFSET_MASK) != 0) {
			if (entry_equals(half, (value & SLOT_OFFSET_MASK) * 8, wanted))
				return (value & SLOT_OFFSET_MASK) * 8;
		} else if (!slot_is_current(half, value)) {
			*free_slot = slot;
			*free_value = value;
			return 0;
		}
	}
	return 0;
}

/* Makes a half usable; pages of its index and entries follow as they are needed. */
static void half_prepare(struct rec_region *region, uint32_t generation)
{
	struct half half = half_of(region, generation);
	uint64_t *ready = &region->header->depot.half[generation & 1].ready;
	uint64_t expected = 0;

	if (likely(__atomic_load_n(ready, __ATOMIC_ACQUIRE) != 0))
		return;
	__atomic_compare_exchange_n(&region->header->depot.half[generation & 1].used, &expected,
				    (uint64_t)generation << 32 | half.slots * 8u, false,
				    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	expected = 0;
	/* Last, and only from 0: a late second one must not lower what others reserved meanwhile.
	 */
	__atomic_compare_exchange_n(ready, &expected, (uint64_t)half.slots * 8, false,
				    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

static bool half_ensure(const struct half *half, uint64_t need)
{
	struct rec_region *region = half->region;
	uint32_t side = half->generation & 1;

	return rec_region_ensure(region, region->layout.depot + side * region->layout.depot_half,
				 half->bytes, &region->header->depot.half[side].ready, need) == 0;
}

/*
 * Takes space; 0 when the half is full, cannot grow, or is no longer of this generation. `used` is
 * looked at first, so that it passes the end by no more than one entry of each thread.
 */
static uint64_t space_take(const struct half *half, uint64_t size)
{
	uint64_t *used = &half->region->header->depot.half[half->generation & 1].used;
	uint64_t old = __atomic_load_n(used, __ATOMIC_RELAXED);

	if (old >> 32 != half->generation || (uint32_t)old + size > half->bytes ||
	    !half_ensure(half, (uint32_t)old + size))
		return 0;
	old = __atomic_fetch_add(used, size, __ATOMIC_RELAXED);
	if (old >> 32 != half->generation || (uint32_t)old + size > half->bytes ||
	    (uint32_t)old < half->slots * 8u || !half_ensure(half, (uint32_t)old + size))
		return 0;
	return (uint32_t)old;
}

static uint64_t entry_store(const struct half *half, const struct wanted *wanted)
{
	uint64_t size = align_up(ENTRY_HEADER + wanted->bytes, 8);
	uint64_t offset = space_take(half, size);
	uint32_t bytes = wanted->bytes;
	const uint8_t *at = wanted->content;
	uint64_t *entry;

	if (offset == 0 || generation_now(half->region) != half->generation)
		return 0;
	entry = (uint64_t *)(half->base + offset);
	__atomic_store_n(&entry[0], wanted->hash, __ATOMIC_RELAXED);
	__atomic_store_n(&entry[1], wanted->info | (uint64_t)half->generation << 32,
			 __ATOMIC_RELAXED);
	for (entry += 2; bytes > 0; entry++) {
		uint32_t part = bytes < 8 ? bytes : 8;

		__atomic_store_n(entry, word_at(at, part), __ATOMIC_RELAXED);
		bytes -= part;
		at += part;
	}
	return offset;
}

/* Turns the generation that was seen full, unless somebody did so already. False: no memory. */
static bool generation_turn(struct rec_region *region, uint32_t seen)
{
	struct rec_depot_control *depot = &region->header->depot;
	uint32_t next = generation_next(seen);
	uint64_t *used = &depot->half[next & 1].used;
	struct half half = half_of(region, next);
	uint64_t empty = (uint64_t)next << 32 | half.slots * 8u;
	uint64_t old;

	/* Never give up a half that holds something for one that cannot hold anything. */
	half_prepare(region, next);
	if (!half_ensure(&half, half.slots * 8u + TURN_ROOM))
		return false;
	old = __atomic_load_n(used, __ATOMIC_RELAXED);
	while (old >> 32 < next) {
		if (__atomic_compare_exchange_n(used, &old, empty, true, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED)) {
			__atomic_store_n(&depot->half[next & 1].entries, 0, __ATOMIC_RELAXED);
			break;
		}
	}
	if (__atomic_compare_exchange_n(&depot->generation, &seen, next, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		__atomic_fetch_add(&depot->turns, 1, __ATOMIC_RELAXED);
	return true;
}

/* One attempt in one generation. Returns the id; 0: this generation is full or over. */
static uint32_t intern_once(const struct half *half, const struct wanted *wanted)
{
	uint64_t stored = 0;
	uint64_t *slot;
	uint64_t old;

	for (;;) {
		uint64_t offset = index_search(half, wanted, &slot, &old);

		if (likely(offset != 0))
			return id_make(half->generation, offset);
		if (!slot)
			return 0;
		if (stored == 0)
			stored = entry_store(half, wanted);
		if (stored == 0)
			return 0;
		/* Release: pairs with the acquire in index_search(). Lost: look what came there. */
		if (__atomic_compare_exchange_n(slot, &old,
						slot_mark(half, wanted->hash) | stored / 8, false,
						__ATOMIC_RELEASE, __ATOMIC_RELAXED))
			break;
	}
	__atomic_fetch_add(&half->region->header->depot.half[half->generation & 1].entries, 1,
			   __ATOMIC_RELAXED);
	return id_make(half->generation, stored);
}

/* Everything but the usual case, in which the first slot looked at has it. */
static __attribute__((noinline)) uint32_t intern_slow(struct rec_region *region,
						      const struct wanted *wanted)
{
	for (int try = 0; try < TURN_TRIES; try++) {
		uint32_t generation = generation_now(region);
		struct half half = half_of(region, generation);
		uint32_t id;

		if ((uint8_t)generation == 0)
			return 0;
		half_prepare(region, generation);
		if (!slot_ensure(&half, probe_slot(&half, wanted->hash, 0)))
			return 0;
		id = intern_once(&half, wanted);
		if (likely(id != 0))
			return id;
		if (generation_now(region) == generation && !generation_turn(region, generation))
			return 0;
	}
	return 0;
}

uint32_t rec_depot_intern(struct rec_region *region, enum rec_depot_kind kind, uint32_t flags,
			  const void *content, uint32_t bytes)
{
	struct wanted wanted = wanted_make(kind, flags, content, bytes);
	uint32_t generation = generation_now(region);
	struct half half = half_of(region, generation);
	uint64_t value, offset;

	uint32_t slot = probe_slot(&half, wanted.hash, 0);

	/* Its page must be there before the index is looked at. */
	if (likely(slot_is_ready(&half, slot))) {
		value = __atomic_load_n(&half.index[slot], __ATOMIC_ACQUIRE);
		offset = (value & SLOT_OFFSET_MASK) * 8;
		if (likely((value & ~SLOT_OFFSET_MASK) == slot_mark(&half, wanted.hash) &&
			   entry_equals(&half, offset, &wanted)))
			return id_make(generation, offset);
	}
	return intern_slow(region, &wanted);
}

/* The whole generation number an id belongs to; 0 when it is dropped or never was. */
static uint32_t id_generation(const struct rec_region *region, uint32_t id)
{
	uint32_t now = generation_now(region);
	uint32_t before = generation_previous(now);

	if (id >> 24 == 0)
		return 0;
	if (id >> 24 == (now & 0xff))
		return now;
	return id >> 24 == (before & 0xff) ? before : 0;
}

/* An entry's header, bounded but not yet believed; NULL when there cannot be one. */
static const uint64_t *entry_header(const struct rec_region *region, uint32_t id, uint64_t *hash,
				    uint64_t *info)
{
	uint32_t generation = id_generation(region, id);
	struct half half = half_of(region, generation);
	uint64_t offset = (uint64_t)(id & SLOT_OFFSET_MASK) * 8;
	const uint64_t *entry = generation == 0 ? NULL : entry_at(&half, offset);
	uint32_t bytes;

	if (!entry)
		return NULL;
	*hash = __atomic_load_n(&entry[0], __ATOMIC_ACQUIRE);
	*info = __atomic_load_n(&entry[1], __ATOMIC_RELAXED);
	bytes = *info & 0xffff;
	if (*info >> 32 != generation || bytes > REC_DEPOT_BYTES_MAX ||
	    offset + ENTRY_HEADER + bytes > half_ready(&half))
		return NULL;
	return entry;
}

int rec_depot_read(const struct rec_region *region, uint32_t id, enum rec_depot_kind kind,
		   void *buffer, uint32_t *flags)
{
	uint64_t hash, info;
	const uint64_t *entry = entry_header(region, id, &hash, &info);
	uint8_t *at = buffer;
	uint32_t bytes;

	if (!entry || (info >> 16 & 0xff) != (uint32_t)kind)
		return HOLTER_E_CORRUPT;
	bytes = info & 0xffff;
	for (uint32_t done = 0; done < bytes; done += 8) {
		uint64_t word = __atomic_load_n(&entry[2 + done / 8], __ATOMIC_RELAXED);

		memcpy(at + done, &word, bytes - done < 8 ? bytes - done : 8);
	}
	/* The hash is the check of everything: torn, overwritten meanwhile, or never an entry. */
	if (content_hash(buffer, bytes, (uint32_t)info) != hash)
		return HOLTER_E_CORRUPT;
	if (flags)
		*flags = info >> 24 & 0xff;
	return (int)bytes;
}

/*
 * Copies from where the entry lies, since 2 KiB are too much for a handler's stack. Should it be
 * overwritten in between, the copy disagrees with its hash and readers refuse it.
 */
uint32_t rec_depot_refresh(struct rec_region *region, uint32_t id)
{
	uint64_t hash, info;
	const uint64_t *entry;
	uint32_t bytes;

	if (likely(rec_depot_is_current(region, id)))
		return id;
	entry = entry_header(region, id, &hash, &info);
	if (!entry)
		return 0;
	bytes = info & 0xffff;
	if (content_hash((const uint8_t *)(entry + 2), bytes, (uint32_t)info) != hash)
		return 0;
	return rec_depot_intern(region, info >> 16 & 0xff, info >> 24 & 0xff, entry + 2, bytes);
}
