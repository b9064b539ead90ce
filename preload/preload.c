/*
 * Life of the shim in a process: start-up before the program's own code, and the end.
 *
 * In: the environment (HOLTER) or a region that `holter run` or a parent process made. Out: a
 * mapped region, the process and its modules entered, handlers installed; at the end the process
 * marked as leaving, the last dump asked for, a region that nobody needs removed. Whatever fails
 * here leaves the program running without us. Never here: output on the program's descriptors.
 */
#include "preload/preload.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "preload/hook_thread.h"
#include "preload/hook_process.h"
#include "preload/executable.h"
#include "preload/modules.h"
#include "preload/real.h"
#include "recorder/capture/capture.h"
#include "recorder/engine/config.h"
#include "recorder/engine/engine.h"
#include "recorder/sys/raw.h"

#define PR_GET_NAME_NUMBER 16
#define COMMAND_LINE_BYTES 4096u
#define ENVIRONMENT_BYTES 32768u
#define LEADER_START_NS 2500000000ull /* longer than a lease */
#define EXIT_DUMP_WAIT_NS 10000000000ull
#define LEADER_MIN_AGE_NS 1000000000ull
#define DEAD_REGIONS_KEPT 32u /* of killed programs, for `holter recover` */
#define EARLY_KEYS 32u	      /* pthread_setspecific of a later key allocates */

/* Mutable globals of this file: set by the constructor; the key afterwards only read. */
static pthread_key_t thread_key;
static bool has_thread_key;
static uint64_t joined_ticks;
static struct rec_config config; /* 6 KiB: too large for a small main stack */

static void on_thread_end(void *rounds)
{
	uintptr_t round = (uintptr_t)rounds;

	/* Other destructors of the thread may still allocate and lock: leave in the last round. */
	if (round < PTHREAD_DESTRUCTOR_ITERATIONS &&
	    pthread_setspecific(thread_key, (void *)(round + 1)) == 0)
		return;
	pre_thread_ending();
	rec_thread_detach();
}

static void arm_thread_end(struct rec_thread *thread)
{
	(void)thread;
	if (has_thread_key)
		pthread_setspecific(thread_key, (void *)1);
}

/* A chunk was filled: this is no short program, so it deserves a leader. */
static void on_chunk_taken(void)
{
	const struct rec_header *header = rec_family.header;
	uint64_t age = rec_clock_now() - joined_ticks;

	if (header->leader_mode != REC_LEADER_PROCESS || pre_leader_alive())
		return;
	if (rec_clock_span_ns(&header->clock, age) >= LEADER_MIN_AGE_NS)
		pre_leader_start();
}

/* The `holter` command itself, run in an environment that preloads us, is not recorded. */
static bool is_own_command(const char *executable)
{
	const char *name = strrchr(executable, '/');

	return strcmp(name ? name + 1 : executable, "holter") == 0;
}

static bool find_or_create(struct rec_region *region)
{
	char path[REC_PATH_MAX];
	uint32_t pid = (uint32_t)raw_getpid();
	uint64_t start_time = 0;
	uint32_t ppid = 0;
	struct rec_config_report report;

	rec_region_start_time(pid, &start_time, &ppid);
	if (rec_region_find(pid, start_time, ppid, path) == 0) {
		if (rec_region_open(region, path, 1) != 0)
			return false;
		if (region->header->children || region->header->root_pid == pid)
			return true;
		rec_region_unmap(region);
		return false;
	}
	rec_config_defaults(&config);
	rec_config_parse(&config, getenv("HOLTER"), 0, &report);
	if (rec_region_create(region, config.memory_bytes, pid, start_time) != 0)
		return false;
	rec_config_apply(&config, region, &report);
	if (region->header->leader_mode == REC_LEADER_PROCESS && pre_leader_would_return())
		region->header->leader_mode = REC_LEADER_THREAD;
	rec_region_tidy(DEAD_REGIONS_KEPT);
	return true;
}

/* Reads a file of /proc/self into the names of the region; 0 where it cannot be had. */
static uint32_t store_file(const char *path, uint32_t limit, uint32_t *bytes)
{
	char *buffer =
		raw_mmap(NULL, limit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t id = 0;
	long got;

	if (raw_is_error(buffer))
		return 0;
	got = raw_read_file(path, buffer, limit);
	if (got > 0) {
		*bytes = (uint32_t)got;
		id = rec_names_add(&rec_family, buffer, (uint32_t)got);
	}
	raw_munmap(buffer, limit);
	return id;
}

static void describe_process(uint32_t index, const char *executable, unsigned missing)
{
	struct rec_process *process = rec_process_at(&rec_family, index);
	char directory[1024];
	long length;

	if (!process)
		return;
	raw_syscall3(SYS_prctl, PR_GET_NAME_NUMBER, (long)process->name, 0);
	process->executable = rec_names_add(&rec_family, executable, (uint32_t)strlen(executable));
	process->arguments =
		store_file("/proc/self/cmdline", COMMAND_LINE_BYTES, &process->arguments_bytes);
	if (process->pid == rec_family.header->root_pid)
		process->environment = store_file("/proc/self/environ", ENVIRONMENT_BYTES,
						  &process->environment_bytes);
	length = raw_syscall3(SYS_getcwd, (long)directory, sizeof(directory), 0);
	if (length > 1)
		process->directory = rec_names_add(&rec_family, directory, (uint32_t)length - 1);
	process->hooks_missing = missing;
	__atomic_fetch_and(&process->flags, ~(uint32_t)REC_PROCESS_EXECING, __ATOMIC_RELAXED);
	__atomic_fetch_or(&process->flags, REC_PROCESS_EXECUTED, __ATOMIC_RELEASE);
}

static void *leader_thread(void *unused)
{
	(void)unused;
	struct rec_engine_options options = { .in_thread = 1 };

	rec_thread_current = &rec_thread_mute;
	rec_engine_run(&rec_family, &options);
	return NULL;
}

/* leader=thread: one thread with all signals blocked, which records nothing of itself. */
static void start_leader_thread(void)
{
	sigset_t all, saved;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &saved);
	if (pre_real.pthread_create(&thread, NULL, leader_thread, NULL) == 0)
		pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
}

/* Priority 101: before the initialisers of most libraries; hooks work before it as well. */
__attribute__((constructor(101))) static void pre_begin(void)
{
	int saved = errno;
	unsigned missing = pre_real_resolve();
	struct rec_region region;
	char executable[4096];
	uint32_t process;

	pre_executable(executable, sizeof(executable));
	if (is_own_command(executable) || getauxval(AT_SECURE) || !find_or_create(&region))
		goto out;
	if (rec_process_attach(&region) != 0)
		goto out;
	joined_ticks = rec_clock_now();
	has_thread_key =
		pthread_key_create(&thread_key, on_thread_end) == 0 && thread_key < EARLY_KEYS;
	rec_thread_attached = arm_thread_end;
	rec_thread_chunk_taken = on_chunk_taken;
	process = rec_process_forked();
	describe_process(process, executable, missing);
	pre_modules_scan();
	pre_leader_prepare();
	pre_signal_begin(region.header->trigger_signal);
	if (region.header->leader_mode == REC_LEADER_THREAD &&
	    region.header->root_pid == (uint32_t)raw_getpid())
		start_leader_thread();
out:
	errno = saved;
}

/* Any process of the family, besides this one, that lives? */
static bool others_alive(uint32_t self)
{
	uint32_t count =
		min_u64(__atomic_load_n(&rec_family.header->process_count, __ATOMIC_ACQUIRE),
			REC_PROCESS_MAX);

	for (uint32_t i = 0; i < count; i++) {
		const struct rec_process *process = rec_process_at(&rec_family, i);
		uint32_t pid = process ? __atomic_load_n(&process->pid, __ATOMIC_ACQUIRE) : 0;

		if (pid != 0 && pid != self && process->end_ticks == 0 &&
		    !(process->flags & REC_PROCESS_LEADER) &&
		    raw_syscall3(SYS_kill, pid, 0, 0) != -ESRCH)
			return true;
	}
	return false;
}

/* False: there is no leader that could make it: it never came up, or was killed. */
static bool wait_for_exit_dump(struct rec_trigger *trigger, uint32_t wanted)
{
	const struct timespec slice = { 0, 50000000 };
	const struct rec_clock *clock = &rec_family.header->clock;
	uint64_t begin = rec_clock_now(), led = begin;

	for (;;) {
		uint32_t served = __atomic_load_n(&trigger->exit_dumps_served, __ATOMIC_ACQUIRE);
		uint64_t now = rec_clock_now();

		if ((int32_t)(served - wanted) >= 0)
			return true;
		if (pre_leader_alive())
			led = now;
		if (rec_clock_span_ns(clock, now - led) > LEADER_START_NS)
			return false;
		if (rec_clock_span_ns(clock, now - begin) > EXIT_DUMP_WAIT_NS)
			return true;
		raw_futex(&trigger->exit_dumps_served, FUTEX_WAIT, served, &slice);
	}
}

static void dump_at_exit(void)
{
	struct rec_trigger *trigger = &rec_family.header->trigger;
	uint32_t wanted;

	if (pre_leader_alive() || pre_leader_start()) {
		wanted = __atomic_add_fetch(&trigger->exit_dumps, 1, __ATOMIC_ACQ_REL);
		__atomic_fetch_add(&trigger->word, 1, __ATOMIC_RELEASE);
		raw_futex(&trigger->word, FUTEX_WAKE, 1, NULL);
		if (wait_for_exit_dump(trigger, wanted))
			return;
	}
	rec_engine_exit_dump(&rec_family);
}

void pre_process_ending(enum ev_name how, int status)
{
	const struct rec_own *own = rec_process_own();
	struct rec_header *header = rec_family.header;
	int saved = errno;
	bool is_last;

	if (how == EV_NAME_exit || !rec_family.base || own->pid == 0 || own->silent ||
	    (raw_refused() ? rec_thread_current == &rec_thread_mute
			   : own->pid != (uint32_t)raw_getpid()))
		return;
	struct rec_process *process = rec_process_at(&rec_family, own->process);

	if (!process || (__atomic_fetch_or(&process->flags, REC_PROCESS_EXITING, __ATOMIC_ACQ_REL) &
			 REC_PROCESS_EXITING))
		return;
	if (how != EV_NAME_returned)
		process->exit_status = (uint32_t)(status & 0xff) << 8;
	/* Behind a filter nobody can be asked or waited for; the leader sees the end by itself. */
	if (raw_refused())
		return;
	is_last = !others_alive(own->pid);
	if (header->dump_on_exit && (own->pid == header->root_pid || is_last))
		dump_at_exit();
	/* Nobody is left who could want it, and no leader will tidy up: a thread of ours ends with
	 * us. */
	if (is_last && !header->anonymous && (!pre_leader_alive() || header->lease.pid == own->pid))
		raw_syscall3(SYS_unlink, (long)header->path, 0, 0);
	errno = saved;
}

/* Runs after the program's own destructors and exit handlers; what is recorded later is not kept.
 */
__attribute__((destructor(101))) static void pre_end(void)
{
	pre_process_exit_events(EV_NAME_returned, 0);
	pre_process_ending(EV_NAME_returned, 0);
}
