/*
 * Walks the calling thread's stack by cached rules (cfi.h), remembers the last stack of each
 * thread, and interns what is new.
 *
 * In: a thread state, the registers of the caller. Out: a depot id for the event. Three parts: what
 * may be read (struct bounds), one step up the stack (struct walk), the memo of the last stack.
 * Never here: locks, allocation, reads outside of known stack, more than a few hundred bytes of
 * stack.
 */
#include "recorder/capture/stackwalk.h"

#include <signal.h>

#include "recorder/capture/capture.h"
#include "recorder/capture/cfi.h"
#include "recorder/sys/raw.h"

#define STACK_REACH (1ull << 30) /* a thread's own stack is never longer */
#define OWN_PAGES_MAX 16384u	 /* probed at most to know a stack whole: 64 MiB */
#define FOREIGN_PROBES_MAX 128u	 /* pages probed a walk on stacks of unknown origin */
#define ROOM_MIN 1536u		 /* bytes that a walk and an interning may need below */
#define OWN_FRAMES_MAX 32
#define MEMO_FRAMES 86u
#define NESTED_MAX 64u /* refusals in a row that a walk under way explains */
#define ADDRESS_LIMIT (1ull << REC_CFI_ADDRESS_BITS)
#define ADDRESS_MIN PAGE_BYTES

/* The last entry of the main thread's stack, set by the dynamic linker. */
extern void *__libc_stack_end __attribute__((weak));

/* The recorder's code; found at the first walk, then constant. */
static uint64_t own_low, own_high;

/* Thread pointer of the main thread, whose thread block is not on its stack. Set once at start. */
static uint64_t main_thread_pointer;

static inline uint64_t thread_pointer(void)
{
	uint64_t pointer;

	__asm__("mov %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

__attribute__((constructor)) static void note_main_thread(void)
{
	main_thread_pointer = thread_pointer();
}

/*
 * A thread's last stack, in its memo words: leaf first, ending with the arrays. Offsets count down
 * from `high` in units of 8 bytes, so that 32 bits suffice; 0 = none.
 */
struct memo {
	uint64_t busy;	  /* stack pointer of the walk under way; 0 none */
	uint64_t high;	  /* top of the stack it was made on */
	uint32_t refused; /* nested walks refused since */
	uint32_t rules;	  /* rec_cfi_generation() of the walk */
	uint32_t id;	  /* depot id of the stack; 0: not interned */
	uint16_t start;	  /* the leaf's entry */
	uint8_t is_valid;
	uint8_t depth;	     /* the setting it was made with */
	uint8_t is_complete; /* the last entry is the outermost frame */
	uint8_t reserved[7];
	struct memo_frame {
		uint32_t slot; /* where the return address lies */
		uint32_t save; /* where rbp, as it is in this frame, was loaded from */
		uint32_t base; /* that rbp, if it points into the stack */
	} frame[MEMO_FRAMES];
	uint64_t pc[MEMO_FRAMES]; /* the return addresses */
};
_Static_assert(sizeof(struct memo) <= REC_MEMO_WORDS * 8, "memo must fit its words");
_Static_assert(offsetof(struct memo, frame) + REC_STACK_DEPTH_MAX * 8 <= REC_MEMO_WORDS * 8,
	       "the deepest stack must fit behind the memo's head");

/* A frame: code is at `pc` in it, reached by a return to there or (is_exact) interrupted there. */
struct walk {
	uint64_t pc, rsp, rbp, rbx;
	uint64_t low, high;	   /* readable */
	uint64_t context;	   /* ucontext when the frame was interrupted by a signal */
	struct rec_thread *thread; /* may be NULL */
	uint32_t probes;
	uint8_t is_own; /* [low, high) is the thread's own stack, whole */
	uint8_t is_exact, is_doubtful;
	uint8_t is_plain; /* only frames that a memo can verify */
	uint8_t tracks_rbx, wants_rbx;
	uint8_t has_ended; /* the outermost frame was met */
	uint64_t save;	   /* where the last step loaded rbp from, 0: nowhere */
};

/* ---- What may be read ---- */

/* A word of stack; by an instruction of our own, since sanitizers object to foreign frames. */
static inline uint64_t peek(uint64_t address)
{
	uint64_t value;

	__asm__ volatile("mov %1, %0" : "=r"(value) : "m"(*(const uint64_t *)address));
	return value;
}

static bool is_readable(uint64_t address)
{
	/* Refused for its `how` after the set was read: EINVAL; EFAULT where nothing can be read.
	 */
	return raw_syscall6(SYS_rt_sigprocmask, -1, (long)address, 0, 8, 0, 0) == -22;
}

static bool are_pages_readable(uint64_t from, uint64_t to)
{
	if (to > from && (to - from) / PAGE_BYTES > OWN_PAGES_MAX)
		return false;
	for (uint64_t page = from; page < to; page += PAGE_BYTES)
		if (!is_readable(page))
			return false;
	return true;
}

/* Where the thread's own stack would end if `sp` were on it; 0 = it is not. */
static uint64_t own_top(uint64_t sp)
{
	uint64_t pointer = thread_pointer();
	uint64_t end = &__libc_stack_end ? (uint64_t)__libc_stack_end : 0;

	/* Threads of pthread_create: the thread block lies above the frames in the same mapping. */
	if (main_thread_pointer && pointer != main_thread_pointer)
		return pointer > sp && pointer - sp < STACK_REACH ? align_down(pointer, 8) : 0;
	return end > sp && end - sp < STACK_REACH ? align_down(end, 8) : 0;
}

/*
 * Is `sp` on the thread's own stack? Every page between it and the top is probed once, so this is
 * known, not guessed; and it stays so: what lies above the stack pointer is in use as long as the
 * thread runs on it.
 */
static bool find_own(struct rec_thread *thread, uint64_t sp, uint64_t *low, uint64_t *high)
{
	uint64_t top = own_top(sp);
	uint64_t page = align_down(sp, PAGE_BYTES);
	uint64_t known = top;

	if (!top)
		return false;
	if (thread && thread->stack_high == top && thread->stack_low <= top)
		known = thread->stack_low;
	if (!are_pages_readable(page, known))
		return false;
	*low = page;
	*high = top;
	if (thread) {
		/* A handler may come between: low first would claim more than is known. */
		thread->stack_high = 0;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		thread->stack_low = page;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		thread->stack_high = top;
	}
	return true;
}

/* Bounds for a stack pointer on whatever stack. False: too little room there for a walk. */
static bool find_bounds(struct walk *w, uint64_t sp)
{
	struct rec_thread *t = w->thread;
	struct {
		uint64_t low;
		uint64_t flags;
		uint64_t size;
	} alternate;

	w->is_own = 1;
	if (t && sp >= t->stack_low && sp < t->stack_high) {
		w->low = t->stack_low;
		w->high = t->stack_high;
		return true;
	}
	if (find_own(t, sp, &w->low, &w->high))
		return true;
	w->is_own = 0;
	w->low = w->high = 0;
	w->is_plain = 0;
	if (raw_syscall3(SYS_sigaltstack, 0, (long)&alternate, 0) != 0 ||
	    ((uint32_t)alternate.flags & SS_DISABLE) || sp - alternate.low >= alternate.size)
		return true;
	w->low = align_down(sp, 8);
	w->high = align_down(alternate.low + alternate.size, 8);
	return (uint64_t)__builtin_frame_address(0) - alternate.low >= ROOM_MIN ||
	       (uint64_t)__builtin_frame_address(0) < alternate.low;
}

/* May the word at `address` be read? On stacks of unknown origin page by page, by probing. */
static bool can_read(struct walk *w, uint64_t address)
{
	uint64_t page = align_down(address, PAGE_BYTES);

	if ((address & 7) != 0)
		return false;
	if (address >= w->low && address < w->high)
		return true;
	if (w->is_own || w->probes >= FOREIGN_PROBES_MAX)
		return false;
	w->probes++;
	if (!is_readable(address))
		return false;
	/* Pages that follow each other make one range; a jump begins a new one. */
	if (page != w->high)
		w->low = page;
	w->high = page + PAGE_BYTES;
	return true;
}

static bool load(struct walk *w, uint64_t address, uint64_t *value)
{
	if (!can_read(w, address))
		return false;
	*value = peek(address);
	return true;
}

/* ---- One step ---- */

/* Register of an interrupted frame, by DWARF number, in the kernel's struct ucontext. */
static uint64_t context_register(uint64_t context, unsigned number)
{
	static const uint8_t offsets[16] = { 144, 136, 152, 128, 112, 104, 120, 160,
					     40,  48,  56,  64,	 72,  80,  88,	96 };

	return peek(context + offsets[number & 15]);
}

static bool register_value(struct walk *w, unsigned number, uint64_t *value)
{
	if (number == REC_CFI_REG_RSP) {
		*value = w->rsp;
	} else if (number == REC_CFI_REG_RBP) {
		*value = w->rbp;
	} else if (w->context) {
		*value = context_register(w->context, number);
	} else if (number == REC_CFI_REG_RBX) {
		*value = w->rbx;
		w->wants_rbx = 1;
		return w->tracks_rbx;
	} else {
		return false;
	}
	return true;
}

/* A callee-saved register as the caller had it; what cannot be read is zero, which stops a later
 * use. */
static uint64_t saved_register(struct walk *w, uint8_t how, int32_t offset, uint64_t cfa,
			       uint64_t current)
{
	uint64_t from = cfa;
	uint64_t value;

	if (how == REC_CFI_SAME)
		return current;
	if (how == REC_CFI_AT_RBP)
		from = w->rbp;
	else if (how == REC_CFI_AT_RSP)
		from = w->rsp;
	else if (how != REC_CFI_AT_CFA)
		return 0;
	from += (uint64_t)(int64_t)offset;
	/* Below rsp only the red zone of an interrupted leaf is in use. */
	if (from < w->rsp && (!w->context || w->rsp - from > 128))
		return 0;
	return load(w, from, &value) ? value : 0;
}

/* Sets the frame reached by a return to `pc`. False: that is no code address: the end, or nonsense.
 */
static bool arrive(struct walk *w, uint64_t pc, uint64_t rsp)
{
	w->pc = pc;
	w->rsp = rsp;
	w->is_exact = 0;
	w->context = 0;
	if (pc == 0)
		w->has_ended = 1;
	return pc >= ADDRESS_MIN && pc < ADDRESS_LIMIT;
}

static bool step_row(struct walk *w, const struct rec_cfi_row *row)
{
	uint64_t base, cfa, pc, rbp, rbx;

	if (!register_value(w, row->cfa_register, &base))
		return false;
	cfa = base + (uint64_t)(int64_t)row->cfa_offset;
	if (row->cfa == REC_CFI_CFA_DEREF) {
		if (cfa < w->rsp || !load(w, cfa, &cfa))
			return false;
		cfa += (uint64_t)(int64_t)row->cfa_add;
	}
	if (row->ra != REC_CFI_AT_CFA || cfa <= w->rsp || cfa - w->rsp > STACK_REACH ||
	    cfa + (uint64_t)(int64_t)row->ra_offset < w->rsp ||
	    !load(w, cfa + (uint64_t)(int64_t)row->ra_offset, &pc))
		return false;
	rbp = saved_register(w, row->rbp, row->rbp_offset, cfa, w->rbp);
	rbx = w->tracks_rbx ? saved_register(w, row->rbx, row->rbx_offset, cfa, w->rbx) : 0;
	w->save = row->rbp == REC_CFI_AT_CFA ? cfa + (uint64_t)(int64_t)row->rbp_offset : 0;
	w->rbp = rbp;
	w->rbx = rbx;
	return arrive(w, pc, cfa);
}

/* The handler's caller is the kernel: the interrupted registers are in the ucontext at rsp. */
static bool step_signal(struct walk *w)
{
	uint64_t context = w->rsp;
	uint64_t pc, sp;

	if (!can_read(w, context + 40) || !can_read(w, context + 168))
		return false;
	pc = peek(context + 168);
	sp = context_register(context, REC_CFI_REG_RSP);
	w->rbp = context_register(context, REC_CFI_REG_RBP);
	w->rbx = context_register(context, REC_CFI_REG_RBX);
	if ((sp < w->low || sp >= w->high) && !find_bounds(w, sp))
		return false;
	if (!arrive(w, pc, sp))
		return false;
	w->context = context;
	w->is_exact = w->tracks_rbx = 1;
	return true;
}

/* Code without rules: believed to have a frame pointer when that is plausible. */
static bool step_frame(struct walk *w)
{
	uint64_t rbp = w->rbp;
	uint64_t next, pc;

	if (rbp == 0)
		w->has_ended = 1;
	if (rbp < w->rsp || rbp - w->rsp > STACK_REACH || !load(w, rbp, &next) ||
	    !load(w, rbp + 8, &pc))
		return false;
	w->rbp = next;
	w->is_doubtful = 1;
	return arrive(w, pc, rbp + 16);
}

static uint32_t rule_at(const struct walk *w)
{
	uint64_t address = w->pc + w->is_exact;
	uint32_t rule = REC_CFI_RULE(rec_cfi_lookup(address));

	if (rule)
		return rule;
	return rec_cfi_fill(address, (w->is_exact ? REC_CFI_EXACT : 0) |
					     (w->is_doubtful ? REC_CFI_DOUBTFUL : 0));
}

/* One frame up, by any rule. False: there is no next frame, or it cannot be found. */
static __attribute__((noinline)) bool step(struct walk *w)
{
	struct rec_cfi_row row;
	uint32_t rule = rule_at(w);

	if (rec_cfi_expand(rule, &row)) {
		if (REC_CFI_FORM(rule) == REC_CFI_FORM_SPECIAL || w->context)
			w->is_plain = 0;
		return step_row(w, &row);
	}
	switch (REC_CFI_SPECIAL(rule)) {
	case REC_CFI_SIGNAL:
		w->is_plain = 0;
		return step_signal(w);
	case REC_CFI_FRAME:
		w->is_plain = 0;
		return step_frame(w);
	case REC_CFI_END:
		w->has_ended = 1;
		return false;
	default:
		return false;
	}
}

/* The part of a walk that the usual step changes; held in registers. */
struct spot {
	uint64_t pc, rsp, rbp;
	uint64_t save; /* where rbp was loaded from by the last step, 0: nowhere */
	uint64_t high; /* 0: only step() may go on from here */
};

static inline __attribute__((always_inline)) struct spot spot_of(const struct walk *w)
{
	/* All of [rsp, high) is readable: on foreign stacks as far as pages were probed. */
	bool is_usual = !w->is_exact && !w->tracks_rbx && w->rsp >= w->low && w->rsp <= w->high;

	return (struct spot){ w->pc, w->rsp, w->rbp, w->save, is_usual ? w->high : 0 };
}

/*
 * One frame up by a short rule that is cached: the usual case, at a few ns. False: nothing was
 * done, let step() see to it.
 */
static inline __attribute__((always_inline)) bool step_fast(struct spot *s)
{
	uint64_t word = rec_cfi_lookup(s->pc);
	uint32_t rule = REC_CFI_RULE(word);
	uint64_t slot = REC_CFI_RBP_SLOT(rule);
	uint64_t cfa, pc;

	/* Branches, which are foretold: a conditional move would have to wait for the rule. */
	if (likely(REC_CFI_FORM(rule) == REC_CFI_FORM_RSP)) {
		cfa = s->rsp + REC_CFI_WORD_CFA_OFFSET(word);
	} else if (likely(REC_CFI_FORM(rule) == REC_CFI_FORM_RBP)) {
		cfa = s->rbp + REC_CFI_WORD_CFA_OFFSET(word);
		if (unlikely(cfa <= s->rsp || (cfa & 7) != 0 || slot > cfa - s->rsp))
			return false;
	} else {
		return false;
	}
	/* Everything from rsp to high is stack, and so what lies between rsp and the CFA. */
	if (unlikely(cfa > s->high))
		return false;
	pc = peek(cfa - 8);
	if (unlikely(pc - ADDRESS_MIN >= ADDRESS_LIMIT - ADDRESS_MIN))
		return false;
	s->save = 0;
	if (slot) {
		s->save = cfa - slot;
		s->rbp = peek(s->save);
	}
	s->pc = pc;
	s->rsp = cfa;
	return true;
}

static inline __attribute__((always_inline)) void put_back(const struct spot *s, struct walk *w)
{
	w->pc = s->pc;
	w->rsp = s->rsp;
	w->rbp = s->rbp;
}

static inline __attribute__((always_inline)) bool step_any(struct walk *w, struct spot *s)
{
	bool went;

	if (likely(step_fast(s)))
		return true;
	put_back(s, w);
	went = step(w);
	*s = spot_of(w);
	return went;
}

/* After the last step, or the last frame that there was room for: does the stack go on? */
static bool goes_on(struct walk *w, bool is_full)
{
	return (is_full && step(w)) || !w->has_ended;
}

/* Frames from the present one on; returns their number, at most `max`. */
static uint32_t walk_all(struct walk *w, uint64_t *pcs, uint32_t max, uint32_t *truncated)
{
	struct spot s = spot_of(w);
	uint32_t count = 0;

	do {
		/* One further where a signal interrupted: readers look one back, at the call. */
		pcs[count++] = s.pc + w->is_exact;
	} while (count < max && step_any(w, &s));
	put_back(&s, w);
	*truncated = goes_on(w, count == max);
	return count;
}

/* ---- Where it begins ---- */

static __attribute__((noinline)) void find_own_code(void)
{
	uint64_t low, high;

	if (!rec_cfi_object((uint64_t)&find_own_code, &low, &high))
		low = high = 1;
	__atomic_store_n(&own_high, high, __ATOMIC_RELAXED);
	__atomic_store_n(&own_low, low, __ATOMIC_RELEASE);
}

void rec_stack_own_code(uint64_t low, uint64_t high)
{
	own_high = high;
	own_low = low;
}

/*
 * The first frame outside of the recorder: its own code keeps frame pointers (Makefile:
 * SHIM_CFLAGS).
 * @frame: frame address of a function of ours.
 */
static inline __attribute__((always_inline)) void leave_own_code(struct walk *w,
								 const uint64_t *frame)
{
	uint64_t low = __atomic_load_n(&own_low, __ATOMIC_ACQUIRE);

	if (unlikely(!low)) {
		find_own_code();
		low = own_low;
	}
	for (int i = 0; i < OWN_FRAMES_MAX && frame[1] - low < own_high - low; i++)
		frame = (const uint64_t *)frame[0];
	w->pc = frame[1];
	w->rbp = frame[0];
	w->rsp = (uint64_t)(frame + 2);
}

/* A walk that begins at the caller of the function whose frame address is `frame`. */
static inline __attribute__((always_inline)) bool begin(struct walk *w, struct rec_thread *thread,
							const uint64_t *frame)
{
	leave_own_code(w, frame);
	w->rbx = w->context = w->save = 0;
	w->thread = thread;
	w->probes = 0;
	w->is_exact = w->is_doubtful = w->tracks_rbx = w->wants_rbx = w->has_ended = 0;
	w->is_plain = 1;
	return find_bounds(w, w->rsp);
}

/*
 * The whole walk again, by rules alone from this function on, so that rbx is known: a few frames of
 * assembler code (the dynamic linker's lazy binding) hang on it.
 * @first_rsp: stack pointer of the first frame outside of the recorder.
 *
 * Return: number of frames in @pcs; 0 when that frame is not reached.
 */
static __attribute__((noinline)) uint32_t
walk_tracking(struct walk *w, uint64_t first_rsp, uint64_t *pcs, uint32_t max, uint32_t *truncated)
{
	__asm__ volatile("lea 0(%%rip), %0\n\t"
			 "mov %%rsp, %1\n\t"
			 "mov %%rbp, %2\n\t"
			 "mov %%rbx, %3"
			 : "=&r"(w->pc), "=&m"(w->rsp), "=&m"(w->rbp), "=&m"(w->rbx));
	w->context = 0;
	w->is_exact = w->tracks_rbx = 1;
	w->is_doubtful = w->has_ended = w->is_plain = w->wants_rbx = 0;
	if (!find_bounds(w, w->rsp))
		return 0;
	for (int i = 0; i < OWN_FRAMES_MAX && w->rsp < first_rsp; i++)
		if (!step(w))
			return 0;
	return w->rsp == first_rsp ? walk_all(w, pcs, max, truncated) : 0;
}

/* Walks without a memo. */
static uint32_t walk_plainly(struct walk *w, uint64_t *pcs, uint32_t max, uint32_t *truncated)
{
	uint64_t first_rsp = w->rsp;
	uint32_t count = walk_all(w, pcs, max, truncated);
	uint32_t again = w->wants_rbx ? walk_tracking(w, first_rsp, pcs, max, truncated) : 0;

	return again ? again : count;
}

uint32_t rec_stack_walk(uint64_t *pcs, uint32_t max, uint32_t *truncated)
{
	struct rec_thread *thread = rec_thread_self();
	struct walk w;

	*truncated = 1;
	if (max == 0 || !begin(&w, thread->tid ? thread : NULL, __builtin_frame_address(0)))
		return 0;
	return walk_plainly(&w, pcs, max, truncated);
}

/* ---- The memo ---- */

static inline uint32_t offset_of(uint64_t high, uint64_t address)
{
	return (uint32_t)((high - address) / 8);
}

static inline uint64_t word_at(uint64_t high, uint32_t offset)
{
	return peek(high - (uint64_t)offset * 8);
}

/* rbp matters only where it can be the base of a frame: pointing into the stack. */
static inline uint32_t base_of(uint64_t rbp, uint64_t low, uint64_t high)
{
	return rbp - low < high - low && (rbp & 7) == 0 ? offset_of(high, rbp) : 0;
}

static inline __attribute__((always_inline)) void
note_frame(const struct spot *s, uint32_t base, uint64_t high, struct memo *m, uint32_t index)
{
	struct memo_frame *f = &m->frame[index];

	m->pc[index] = s->pc;
	f->slot = offset_of(high, s->rsp - 8);
	f->base = base;
	f->save = s->save && base ? offset_of(high, s->save) : 0;
}

/*
 * The entries, from the outermost inwards, whose words on the stack are as they were. What a walk
 * would read on its way from one of them outwards is checked, all of it, so reaching one by a walk
 * means the rest. Only words at or above the present leaf's return address are looked at.
 *
 * Return: the first intact entry; MEMO_FRAMES when there is none.
 */
static uint32_t first_intact(const struct memo *m, uint64_t high, uint32_t leaf)
{
	for (uint32_t i = MEMO_FRAMES; i-- > m->start;) {
		const struct memo_frame *f = &m->frame[i];

		if (f->slot > leaf || word_at(high, f->slot) != m->pc[i])
			return i + 1;
		if (f->save &&
		    (f->save > leaf || word_at(high, f->save) != high - (uint64_t)f->base * 8))
			return i + 1;
	}
	return m->start;
}

static inline bool is_frame(const struct spot *s, uint32_t base, uint64_t high,
			    const struct memo_frame *f, uint64_t pc)
{
	return f->slot == offset_of(high, s->rsp - 8) && pc == s->pc && f->base == base;
}

/* Puts the first `count` entries right before entry `end`. */
static void move_frames(struct memo *m, uint32_t count, uint32_t end)
{
	memmove(&m->pc[end - count], &m->pc[0], count * sizeof(m->pc[0]));
	memmove(&m->frame[end - count], &m->frame[0], count * sizeof(m->frame[0]));
	m->start = (uint16_t)(end - count);
}

/*
 * Walks, new entries at the arrays' begin, until the outermost frame, `depth`, or a frame that is
 * intact in the memo from `join` on: the old entries then follow the new ones.
 */
static void walk_joining(struct walk *w, struct memo *m, uint32_t depth, uint32_t join)
{
	uint64_t low = w->low, high = w->high;
	struct spot s = spot_of(w);
	uint32_t base = base_of(s.rbp, low, high);
	uint32_t count = 0;

	for (;;) {
		if (unlikely(count == join)) /* about to be overwritten */
			join = MEMO_FRAMES;
		note_frame(&s, base, high, m, count);
		m->pc[count++] += w->is_exact;
		if (count == depth || !step_any(w, &s))
			break;
		if (s.save)
			base = base_of(s.rbp, low, high);
		while (join < MEMO_FRAMES && m->frame[join].slot > offset_of(high, s.rsp - 8))
			join++;
		if (join < MEMO_FRAMES && is_frame(&s, base, high, &m->frame[join], m->pc[join]) &&
		    (m->is_complete || count + MEMO_FRAMES - join >= depth)) {
			move_frames(m, count, join);
			return;
		}
	}
	move_frames(m, count, MEMO_FRAMES);
	put_back(&s, w);
	m->is_complete = !goes_on(w, count == depth);
	/* Nothing to trust later: other stacks were crossed, or it broke off. */
	if (!w->is_plain || w->is_doubtful || (!m->is_complete && count < depth))
		m->depth = 0;
}

static uint32_t count_loss(struct rec_thread *thread, enum rec_loss cause)
{
	if (thread->cold.loss)
		thread->cold.loss[cause]++;
	return 0;
}

static uint32_t intern(struct rec_thread *thread, const uint64_t *pcs, uint32_t count,
		       bool is_truncated)
{
	uint32_t id = rec_depot_intern(thread->cold.region, REC_DEPOT_STACK,
				       is_truncated ? REC_DEPOT_TRUNCATED : 0, pcs, count * 8);

	return id ? id : count_loss(thread, REC_LOSS_DEPOT_FULL);
}

static uint32_t intern_memo(struct rec_thread *thread, struct memo *m, uint32_t depth)
{
	uint32_t count = MEMO_FRAMES - m->start;
	bool is_truncated = count > depth || !m->is_complete;

	m->id = intern(thread, &m->pc[m->start], (uint32_t)min_u64(count, depth), is_truncated);
	return m->id;
}

/* Is the frame that a walk begins with the memo's first one? */
static bool is_leaf(const struct walk *w, const struct memo *m)
{
	struct spot s = spot_of(w);

	return is_frame(&s, base_of(s.rbp, w->low, w->high), w->high, &m->frame[m->start],
			m->pc[m->start]);
}

/* The usual capture: by the memo as far as it holds. */
static uint32_t capture_memo(struct walk *w, struct memo *m, uint32_t depth)
{
	struct rec_thread *thread = w->thread;
	uint32_t rules = rec_cfi_generation();
	uint64_t first_rsp = w->rsp;
	uint32_t join = MEMO_FRAMES;
	bool is_usable = m->is_valid && w->is_own && m->high == w->high && m->depth == depth &&
			 m->rules == rules;

	if (is_usable) {
		join = first_intact(m, w->high, offset_of(w->high, w->rsp - 8));
		if (join == m->start && is_leaf(w, m)) {
			if (m->id && likely(rec_depot_is_current(thread->cold.region, m->id)))
				return m->id;
			if (m->id)
				m->id = rec_depot_refresh(thread->cold.region, m->id);
			return m->id ? m->id : intern_memo(thread, m, depth);
		}
	}
	m->is_valid = 0; /* until it is whole again */
	m->high = w->high;
	m->rules = rules;
	m->depth = (uint8_t)depth;
	walk_joining(w, m, depth, join);
	if (unlikely(w->wants_rbx && m->depth == 0)) {
		uint32_t truncated;
		uint32_t count = walk_tracking(w, first_rsp, m->pc, depth, &truncated);

		if (count)
			return intern(thread, m->pc, count, truncated);
	}
	m->is_valid = m->depth == depth;
	return intern_memo(thread, m, depth);
}

/* Settings deeper than a memo: the words behind its head hold addresses only. */
static uint32_t capture_deep(struct walk *w, struct memo *m, uint32_t depth)
{
	uint64_t *pcs = (uint64_t *)&m->frame[0];
	uint32_t count, truncated;

	m->is_valid = 0;
	count = walk_plainly(w, pcs, depth, &truncated);
	return intern(w->thread, pcs, count, truncated);
}

/*
 * Takes the memo for a walk. A handler that interrupts one must not; but a walk may also have been
 * left for ever, by a handler's siglongjmp: then the stack pointer is above its frame again.
 */
static bool enter(struct memo *m, const struct walk *w, uint64_t here)
{
	bool is_nested = m->busy != 0;

	if (is_nested && w->is_own)
		is_nested = m->busy >= w->low && m->busy < w->high && here < m->busy;
	if (is_nested && m->refused < NESTED_MAX) {
		m->refused++;
		return false;
	}
	m->refused = 0;
	m->busy = here;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return true;
}

uint32_t rec_stack_capture(struct rec_thread *thread)
{
	uint64_t here = (uint64_t)__builtin_frame_address(0);
	uint32_t depth = __atomic_load_n(&rec_live.stack_depth, __ATOMIC_RELAXED);
	struct memo *m;
	struct walk w;
	uint32_t id;

	if (unlikely(!thread->tid))
		thread = rec_thread_attach();
	if (unlikely(!thread->tid || !thread->cold.region))
		return 0;
	depth = depth ? (uint32_t)min_u64(depth, REC_STACK_DEPTH_MAX) : REC_STACK_DEPTH_DEFAULT;
	m = (struct memo *)thread->memo;
	if (unlikely(!begin(&w, thread, (const uint64_t *)here) || !enter(m, &w, here)))
		return count_loss(thread, REC_LOSS_NO_STACK);
	id = depth <= MEMO_FRAMES ? capture_memo(&w, m, depth) : capture_deep(&w, m, depth);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (unlikely(m->busy != here)) {
		m->is_valid = 0;
		return count_loss(thread, REC_LOSS_NO_STACK);
	}
	m->busy = 0;
	return id;
}
