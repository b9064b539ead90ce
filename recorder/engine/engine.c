/*
 * The leader's loop (engine.h): wait, look who died, serve dumps, sample metrics, tidy up.
 *
 * In: a region and its trigger words. Out: files by dump/, records by metric.c, log lines. One
 * mapping holds all its state. Never here: malloc, signals, output on descriptors 0 to 2.
 */
#include "recorder/engine/engine.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <time.h>

#include "recorder/base/text.h"
#include "recorder/engine/config.h"
#include "recorder/engine/config_value.h"
#include "recorder/engine/family.h"
#include "recorder/engine/lease.h"
#include "recorder/engine/metric.h"
#include "recorder/sys/log.h"
#include "recorder/sys/raw.h"

#define SECOND_NS 1000000000ull
#define SHIM_WAIT_NS (2 * SECOND_NS) /* by then an executed program has loaded libholter.so */
#define RENEW_NS (REC_LEASE_NS / 2)
#define PR_GET_SECCOMP_NUMBER 21

struct engine {
	struct rec_region *region;
	const struct rec_engine_options *options;
	struct rec_lease_holder me;
	struct rec_family_state family;
	uint64_t begin_ns;
	uint64_t looked_ns; /* at the processes */
	uint64_t reclaimed_ns;
	uint64_t next_metric_ns;
	uint32_t looked_word; /* trigger word of the last look */
	uint32_t has_checked_shim;
	bool is_parked;			   /* for good: the program has a seccomp filter */
	uint64_t watched[REC_PROCESS_MAX]; /* start times of processes that are watched */
	struct rec_config config;	   /* read again for every dump */
	struct rec_dump_result result;
	char reason[256], line[REC_LOG_LINE];
	char scratch[16384];
	struct rec_metrics metrics;
};

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static uint64_t epoch_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

void rec_engine_wake(struct rec_region *region)
{
	__atomic_fetch_add(&region->header->trigger.word, 1, __ATOMIC_ACQ_REL);
	raw_futex(&region->header->trigger.word, FUTEX_WAKE, INT32_MAX, NULL);
}

static void log_text(struct engine *engine, const char *line)
{
	rec_config_load(&engine->config, engine->region);
	if (rec_log_line(engine->config.log, epoch_ns(), line) == 0 && engine->config.log[0])
		__atomic_fetch_add(&engine->region->header->log_lines, 1, __ATOMIC_RELAXED);
}

/* "dump FILE: 123 events, 4567 bytes in 12.345 ms (reason)" */
static void log_dump(struct engine *engine, int code, const char *reason)
{
	const struct rec_dump_result *result = &engine->result;
	struct text text = text_init(engine->line, sizeof(engine->line));

	if (code) {
		text_put(&text, "dump failed: ");
		text_put(&text, result->error[0] ? result->error : holter_error_text(code));
	} else {
		text_put(&text, "dump ");
		text_put(&text, result->path);
		text_put(&text, ": ");
		text_put_u64(&text, result->events);
		text_put(&text, " events, ");
		text_put_u64(&text, result->bytes);
		text_put(&text, " bytes, ");
		text_put_u64(&text, result->events_lost);
		text_put(&text, " lost, ");
		text_put_fixed(&text, result->wall_ns / 1000, 3);
		text_put(&text, " ms");
	}
	text_put(&text, " (");
	text_put(&text, reason);
	text_put(&text, ")");
	log_text(engine, engine->line);
}

/* Writes one file under its default name into the configured folder. */
static int write_file(struct engine *engine, const char *reason)
{
	struct rec_header *header = engine->region->header;
	struct rec_dump_options options = { .compress = -1, .reason = reason };
	int code;

	rec_config_load(&engine->config, engine->region);
	options.directory = engine->config.dir;
	options.symbolizer = engine->options->symbolizer;
	memset(&engine->result, 0, sizeof(engine->result));
	code = rec_dump_write(engine->region, &options, &engine->result);
	if (!code) {
		__atomic_fetch_add(&header->dump_count, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&header->dumped_ns, monotonic_ns(), __ATOMIC_RELEASE);
	}
	log_dump(engine, code, reason);
	return code;
}

/* The lease is stretched, since a slow disk must not cost the office. */
static int dump(struct engine *engine, const char *reason)
{
	struct rec_lease *lease = &engine->region->header->lease;
	int code;

	rec_lease_renew(lease, &engine->me, monotonic_ns(), REC_LEASE_BUSY_NS);
	rec_metrics_run(&engine->metrics, monotonic_ns(), 1);
	code = write_file(engine, reason);
	rec_lease_renew(lease, &engine->me, monotonic_ns(), REC_LEASE_NS);
	return code;
}

/* All signals that came until now are answered by one dump; what comes meanwhile by the next. */
static void serve_signals(struct engine *engine)
{
	struct rec_trigger *trigger = &engine->region->header->trigger;
	uint32_t wanted = __atomic_load_n(&trigger->signals, __ATOMIC_ACQUIRE);
	struct text text;

	if (wanted == __atomic_load_n(&trigger->signals_served, __ATOMIC_ACQUIRE))
		return;
	text = text_init(engine->reason, sizeof(engine->reason));
	text_put(&text, "Signal ");
	rec_config_signal_name(engine->region->header->trigger_signal, &text);
	text_put(&text, " to process ");
	text_put_u64(&text, __atomic_load_n(&trigger->signal_pid, __ATOMIC_RELAXED));
	dump(engine, engine->reason);
	__atomic_store_n(&trigger->signals_served, wanted, __ATOMIC_RELEASE);
	raw_futex(&trigger->signals_served, FUTEX_WAKE, INT32_MAX, NULL);
}

/* An ending program waits for this one. */
static void serve_exits(struct engine *engine)
{
	struct rec_trigger *trigger = &engine->region->header->trigger;
	uint32_t wanted = __atomic_load_n(&trigger->exit_dumps, __ATOMIC_ACQUIRE);

	if (wanted == __atomic_load_n(&trigger->exit_dumps_served, __ATOMIC_ACQUIRE))
		return;
	dump(engine, "Exit of the program");
	__atomic_store_n(&trigger->exit_dumps_served, wanted, __ATOMIC_RELEASE);
	raw_futex(&trigger->exit_dumps_served, FUTEX_WAKE, INT32_MAX, NULL);
}

/* Tells the watcher about processes that joined since the last time. */
static void watch_new(struct engine *engine)
{
	uint32_t count = (uint32_t)min_u64(
		__atomic_load_n(&engine->region->header->process_count, __ATOMIC_ACQUIRE),
		REC_PROCESS_MAX);

	for (uint32_t i = 0; i < count && engine->options->watch; i++) {
		const struct rec_process *process = rec_process_at(engine->region, i);
		uint32_t pid = process ? __atomic_load_n(&process->pid, __ATOMIC_ACQUIRE) : 0;

		if (!pid || process->end_ticks || (process->flags & REC_PROCESS_LEADER) ||
		    engine->watched[i] == process->start_time)
			continue;
		engine->watched[i] = process->start_time;
		engine->options->watch(engine->options->watch_context, pid);
	}
}

/* A program started by `holter run` that lives, but never said so. */
static void check_shim(struct engine *engine, uint64_t now)
{
	const struct rec_header *header = engine->region->header;
	uint32_t index;

	if (engine->has_checked_shim || now < engine->begin_ns + SHIM_WAIT_NS)
		return;
	engine->has_checked_shim = 1;
	index = rec_process_find(engine->region, header->root_pid, header->root_start_time);
	if (index == REC_NONE || !engine->family.living ||
	    (rec_process_at(engine->region, index)->flags & REC_PROCESS_EXECUTED))
		return;
	log_text(engine, "the program runs, but did not load libholter.so: nothing is recorded "
			 "(static, set-user-ID, or LD_PRELOAD removed on the way)");
}

/* Looks at the processes when something woke us, and once per interval anyway. */
static void look(struct engine *engine, uint32_t word, uint64_t now)
{
	uint64_t interval_ns = 1000000ull * __atomic_load_n(&engine->region->header->interval_ms,
							    __ATOMIC_RELAXED);
	uint64_t every = engine->options->watch ? interval_ns : SECOND_NS;

	watch_new(engine);
	if (word != engine->looked_word ||
	    now >= engine->looked_ns + min_u64(every, 5 * SECOND_NS) || !engine->looked_ns) {
		rec_family_look(engine->region, engine->options->in_thread ? engine->me.pid : 0,
				&engine->family);
		engine->looked_word = word;
		engine->looked_ns = now;
	}
	check_shim(engine, now);
	if (engine->family.died || now >= engine->reclaimed_ns + interval_ns) {
		rec_family_reclaim(engine->region);
		engine->reclaimed_ns = now;
		engine->family.died = 0;
	}
}

/* Is nobody left, not even a child that maps the region without having said anything? */
static bool family_is_gone(struct engine *engine)
{
	if (engine->options->in_thread || engine->family.living)
		return false;
	rec_family_look(engine->region, 0, &engine->family);
	return !engine->family.living &&
	       !rec_family_is_mapped(engine->options->path, engine->me.pid, engine->scratch,
				     sizeof(engine->scratch));
}

static const char *death_reason(struct engine *engine)
{
	struct text text = text_init(engine->reason, sizeof(engine->reason));

	text_put(&text, "Process ");
	text_put_u64(&text, engine->family.crashed_pid);
	text_put(&text, engine->family.is_fatal ? " died of a fatal signal"
						: " was killed or ended without exit");
	return engine->reason;
}

/* The last dump, if one is due, and the end of the region; it stays where that dump failed. */
static void bury(struct engine *engine)
{
	const struct rec_header *header = engine->region->header;
	int code = 0;

	rec_family_reclaim(engine->region);
	if (engine->family.unannounced)
		code = dump(engine, death_reason(engine));
	else if (header->dump_on_exit && !header->trigger.exit_dumps_served)
		code = dump(engine, "Exit of the program");
	if (code) {
		log_text(engine, "the region is kept: use `holter recover` when there is room");
		return;
	}
	if (engine->options->path)
		raw_syscall3(SYS_unlink, (long)engine->options->path, 0, 0);
}

/* A filter that the program installed for all its threads also holds for this one: do nothing more.
 */
static bool must_park(struct engine *engine)
{
	uint32_t index;
	long mode;

	if (!engine->options->in_thread || engine->is_parked)
		return engine->is_parked;
	index = rec_process_find(engine->region, engine->me.pid, engine->me.start_time);
	if (index != REC_NONE &&
	    (rec_process_at(engine->region, index)->coverage & REC_COVERAGE_SECCOMP))
		engine->is_parked = true;
	/* A filter may refuse the very question. */
	mode = engine->is_parked ? 0 : raw_syscall3(SYS_prctl, PR_GET_SECCOMP_NUMBER, 0, 0);
	if (mode > 0 || mode == -EPERM || mode == -EACCES || mode == -ENOSYS)
		engine->is_parked = true;
	return engine->is_parked;
}

/* Until the word changes; also behind a filter, which lets threads wait or ends them anyway. */
static void park(const uint32_t *word, uint32_t value)
{
	raw_kernel6(SYS_futex, (long)word, FUTEX_WAIT, value, 0, 0, 0);
}

static void wait_for_work(struct engine *engine, uint32_t word, uint64_t now)
{
	uint64_t until = min_u64(engine->next_metric_ns, now + RENEW_NS);
	uint64_t span = until > now ? until - now : 0;
	struct timespec timeout = { (time_t)(span / SECOND_NS), (long)(span % SECOND_NS) };

	/* A timeout of 0 would return at once; a metric that is due gets its turn all the same. */
	if (span)
		raw_futex(&engine->region->header->trigger.word, FUTEX_WAIT, word, &timeout);
}

static void note_cost(struct engine *engine)
{
	struct timespec cpu;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	engine->region->header->lease.cpu_ns =
		(uint64_t)cpu.tv_sec * SECOND_NS + (uint64_t)cpu.tv_nsec;
}

/* Until the family is gone (0) or the lease is lost (HOLTER_E_BUSY). */
static int lead(struct engine *engine)
{
	struct rec_header *header = engine->region->header;

	for (;;) {
		/* Read before anything is looked at: what comes later makes the wait return. */
		uint32_t word = __atomic_load_n(&header->trigger.word, __ATOMIC_ACQUIRE);
		uint64_t now = monotonic_ns();

		if (must_park(engine)) {
			park(&header->trigger.word, word);
			continue;
		}
		if (rec_lease_renew(&header->lease, &engine->me, now, REC_LEASE_NS))
			return HOLTER_E_BUSY;
		serve_exits(engine);
		serve_signals(engine);
		look(engine, word, now);
		if (!engine->family.living && family_is_gone(engine)) {
			bury(engine);
			return 0;
		}
		engine->next_metric_ns = rec_metrics_run(&engine->metrics, monotonic_ns(), 0);
		note_cost(engine);
		wait_for_work(engine, word, monotonic_ns());
	}
}

static struct engine *engine_map(void)
{
	void *memory = raw_mmap(NULL, sizeof(struct engine), PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return raw_is_error(memory) ? NULL : memory;
}

/* A thread stands by while another leads: nobody would start it again. */
static int take_office(struct engine *engine)
{
	const struct timespec pause = { 1, 0 };
	struct rec_header *header = engine->region->header;

	for (;;) {
		uint32_t word = __atomic_load_n(&header->trigger.word, __ATOMIC_ACQUIRE);
		int result = HOLTER_E_BUSY;

		if (!must_park(engine))
			result = rec_lease_take(&header->lease, &engine->me, monotonic_ns(),
						rec_lease_holder_lives);
		if (!result || !engine->options->in_thread)
			return result;
		if (engine->is_parked)
			park(&header->trigger.word, word);
		else
			raw_futex(&header->trigger.word, FUTEX_WAIT, word, &pause);
	}
}

int rec_engine_run(struct rec_region *region, const struct rec_engine_options *options)
{
	struct engine *engine = engine_map();
	uint32_t ppid;
	int result;

	if (!engine)
		return HOLTER_E_NOMEM;
	engine->region = region;
	engine->options = options;
	engine->begin_ns = monotonic_ns();
	engine->me.pid = (uint32_t)raw_getpid();
	engine->me.tid = options->in_thread ? (uint32_t)raw_gettid() : 0;
	rec_region_start_time(engine->me.pid, &engine->me.start_time, &ppid);
	result = take_office(engine);
	if (!result) {
		rec_clock_adopt(&region->header->clock);
		rec_metrics_begin(&engine->metrics, region, options->in_thread);
		result = lead(engine);
		rec_metrics_end(&engine->metrics);
		rec_lease_release(&region->header->lease, &engine->me);
	}
	raw_munmap(engine, sizeof(*engine));
	return result;
}

int rec_engine_exit_dump(struct rec_region *region)
{
	struct rec_engine_options options = { .in_thread = 1 };
	struct engine *engine = engine_map();
	int result;

	if (!engine)
		return HOLTER_E_NOMEM;
	engine->region = region;
	engine->options = &options;
	result = write_file(engine, "Exit of the program");
	raw_munmap(engine, sizeof(*engine));
	return result;
}
