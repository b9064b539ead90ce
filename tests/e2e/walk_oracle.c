/*
 * A library to be preloaded: compares the stack walker with libunwind inside real programs.
 *
 * In: WALK_EVERY=N compares at each Nth malloc, WALK_CPU_US=N at a random instruction after each N
 * us of CPU time (SIGPROF), WALK_OUT names the file that results are appended to; WALK_SNAPSHOT=1
 * finds objects as for glibc < 2.35. Out: one line a process: captures, frames, differences; and
 * the first differences in full. Three judgements each time: the walk without memo == libunwind;
 * the captured stack, read back from the depot, == the walk.
 *
 * Built by walk_oracle.sh together with the recorder's region and capture code.
 */
#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libunwind.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "recorder/capture/capture.h"
#include "recorder/capture/cfi.h"
#include "recorder/capture/stackwalk.h"
#include "recorder/sys/raw.h"

#define DEPTH 120u
#define EXPORT __attribute__((visibility("default")))

void *malloc(size_t size) EXPORT;

static struct rec_region region;
static uint64_t every, checked, frames, compared, different, deeper, memo_different, cut, said;
static uint64_t self_low, self_high;
static int out = -1;
static bool has_judge = true;
static __thread int inside __attribute__((tls_model("initial-exec")));
static __thread uint64_t countdown __attribute__((tls_model("initial-exec")));

static void say_stack(const char *title, const uint64_t *pcs, uint32_t count)
{
	dprintf(out, "  %s\n", title);
	for (uint32_t i = 0; i < count; i++) {
		Dl_info info = { 0 };

		dladdr((void *)(pcs[i] - 1), &info);
		dprintf(out, "    %2u %lx %s+%lx %s\n", i, pcs[i],
			info.dli_fname ? info.dli_fname : "?",
			info.dli_fbase ? pcs[i] - (uint64_t)info.dli_fbase : 0,
			info.dli_sname ? info.dli_sname : "?");
	}
}

/* libunwind's frames outside of this library. */
static uint32_t judge(uint64_t *pcs)
{
	unw_context_t context;
	unw_cursor_t cursor;
	uint32_t count = 0;
	unw_word_t pc;

	if (unw_getcontext(&context) != 0 || unw_init_local(&cursor, &context) != 0)
		return 0;
	do {
		unw_get_reg(&cursor, UNW_REG_IP, &pc);
		if (pc == 0)
			break;
		if (count == 0 && pc >= self_low && pc < self_high)
			continue;
		pcs[count++] = pc;
	} while (count < DEPTH && unw_step(&cursor) > 0);
	return count;
}

static uint32_t same_until(const uint64_t *a, uint32_t a_count, const uint64_t *b, uint32_t b_count)
{
	uint32_t i = 0;

	/* Where a signal interrupted, ours is one further, as if it were a return address. */
	while (i < a_count && i < b_count && a[i] - b[i] <= (i > 0))
		i++;
	return i;
}

static __attribute__((noinline)) void compare(bool with_judge)
{
	static __thread uint64_t ours[DEPTH], theirs[DEPTH],
		kept[REC_DEPOT_BYTES_MAX / 8] __attribute__((tls_model("initial-exec")));
	uint32_t truncated, count, count_theirs = 0, equal, flags = 0;
	uint32_t id = rec_stack_capture(rec_thread_self());
	int bytes;

	count = rec_stack_walk(ours, 64, &truncated);
	bytes = rec_depot_read(&region, id, REC_DEPOT_STACK, kept, &flags);
	checked++;
	frames += count;
	cut += truncated;
	if (bytes != (int)count * 8 || memcmp(kept, ours, (size_t)bytes) != 0 ||
	    flags != truncated) {
		memo_different++;
		if (said++ < 4) {
			dprintf(out, " capture differs: id %x bytes %d flags %u, truncated %u\n",
				id, bytes, flags, truncated);
			say_stack("captured", kept, bytes > 0 ? (uint32_t)bytes / 8 : 0);
			say_stack("walked", ours, count);
		}
	}
	if (!with_judge)
		return;
	count_theirs = judge(theirs);
	compared++;
	equal = same_until(ours, count, theirs, count_theirs);
	if (equal == count && (count == count_theirs || count == 64))
		return;
	/* libunwind gave up where we went on. */
	if (equal == count_theirs) {
		deeper++;
		if (said > 8)
			return;
	} else {
		different++;
	}
	if (said++ < 8) {
		dprintf(out, " walk differs from libunwind at %u (%s), truncated %u\n", equal,
			equal == count_theirs ? "we go on" : "different", truncated);
		say_stack("ours", ours, count);
		say_stack("libunwind", theirs, count_theirs);
	}
}

static void on_profile(int signal)
{
	int saved = errno;

	(void)signal;
	if (!inside) {
		inside = 1;
		compare(has_judge);
		inside = 0;
	}
	errno = saved;
}

EXPORT void *malloc(size_t size)
{
	static void *(*real)(size_t);
	static char early[65536];
	static size_t early_used;

	if (!real) {
		if (inside) { /* dlsym itself allocates */
			early_used += (size + 15) & ~15ul;
			return early_used <= sizeof(early)
				       ? early + early_used - ((size + 15) & ~15ul)
				       : NULL;
		}
		inside = 1;
		real = dlsym(RTLD_NEXT, "malloc");
		inside = 0;
	}
	if (every && !inside && countdown-- == 0) {
		countdown = every - 1;
		inside = 1;
		compare(has_judge);
		inside = 0;
	}
	return real(size);
}

/* As the recorder's own hook: what was opened becomes known. */
EXPORT void *dlopen(const char *path, int mode)
{
	void *(*real)(const char *, int);
	void *handle;

	*(void **)&real = dlsym(RTLD_NEXT, "dlopen");
	handle = real(path, mode);
	rec_cfi_refresh();
	return handle;
}

__attribute__((constructor)) static void begin(void)
{
	const char *cpu = getenv("WALK_CPU_US");
	const char *name = getenv("WALK_OUT");
	const char *number = getenv("WALK_EVERY");
	struct sigaction action = { .sa_handler = on_profile, .sa_flags = SA_RESTART };
	struct itimerval timer = { 0 };

	inside = 1;
	out = open(name ? name : "/dev/null", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	out = fcntl(out, F_DUPFD_CLOEXEC, 700);
	if (rec_region_create(&region, 16u << 20, (uint32_t)getpid(), 1) != 0 ||
	    rec_process_attach(&region) != 0)
		_exit(99);
	unlink(region.header->path);
	region.header->children = 1;
	rec_live.stack_depth = 64;
	rec_cfi_object((uint64_t)&begin, &self_low, &self_high);
	rec_cfi_use_snapshot(getenv("WALK_SNAPSHOT") != NULL);
	has_judge = getenv("WALK_ALONE") == NULL;
	every = number ? strtoull(number, NULL, 10) : 0;
	if (cpu) {
		sigaction(SIGPROF, &action, NULL);
		timer.it_interval.tv_usec = timer.it_value.tv_usec = atoi(cpu);
		setitimer(ITIMER_PROF, &timer, NULL);
	}
	inside = 0;
}

__attribute__((destructor)) static void end(void)
{
	char program[64] = "?";
	struct itimerval timer = { 0 };

	inside = 1;
	setitimer(ITIMER_PROF, &timer, NULL);
	raw_read_file("/proc/self/comm", program, sizeof(program));
	program[strcspn(program, "\n")] = 0;
	dprintf(out,
		"%s[%d]: captures %lu frames %lu truncated %lu compared %lu different %lu deeper "
		"%lu "
		"capture-different %lu\n",
		program, getpid(), checked, frames, cut, compared, different, deeper,
		memo_different);
}
