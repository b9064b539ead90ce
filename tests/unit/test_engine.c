/*
 * The leader's loop over a region of our own making: a child that only sleeps plays the program, a
 * thread of the test leads. Dumps, the lease, ends of every kind, reclaimed chunks, truth of
 * periodic events.
 */
#include <check.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/engine/config.h"
#include "recorder/engine/engine.h"
#include "recorder/engine/family.h"
#include "recorder/region/ring.h"
#include "recorder/region/tables.h"
#include "recorder/sys/procfs.h"

static struct rec_region region;
static struct rec_config config;
static char folder[64], path[REC_PATH_MAX];
static pid_t program;
static uint32_t process;
static pthread_t leader;
static int leader_result;

static int has_region(void)
{
	return access(path, F_OK) == 0;
}

static int count_files(void)
{
	DIR *entries = opendir(folder);
	struct dirent *entry;
	int count = 0;

	while ((entry = readdir(entries)) != NULL)
		count += strncmp(entry->d_name, "holter-", 7) == 0 &&
			 strstr(entry->d_name, ".jfr") != NULL;
	closedir(entries);
	return count;
}

/* Waits for a state, bounded by the test's timeout. */
#define AWAIT(condition)                                                                           \
	while (!(condition))                                                                       \
	usleep(1000)

static uint32_t join(pid_t pid)
{
	uint64_t start_time;
	uint32_t parent;

	ck_assert_int_eq(rec_region_start_time((uint32_t)pid, &start_time, &parent), 0);
	return rec_process_join(&region, (uint32_t)pid, start_time, parent, 0);
}

static pid_t start_program(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		close(0);
		for (;;)
			pause();
	}
	return pid;
}

static void setup(void)
{
	struct rec_config_report report;
	uint64_t start_time;
	uint32_t parent;
	char text[256];

	strcpy(folder, "/tmp/test_engine_XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	program = start_program();
	rec_region_start_time((uint32_t)program, &start_time, &parent);
	ck_assert_int_eq(rec_region_create(&region, 1 << 20, (uint32_t)program, start_time), 0);
	memcpy(path, region.header->path, sizeof(path));
	snprintf(text, sizeof(text), "memory=1M,dir=%s,interval=20ms,log=%s/log,compress=no",
		 folder, folder);
	rec_config_defaults(&config);
	ck_assert_int_eq(rec_config_parse(&config, text, REC_CONFIG_STRICT, &report), 0);
	rec_config_apply(&config, &region, &report);
	process = join(program);
	ck_assert_uint_ne(process, REC_NONE);
}

static void teardown(void)
{
	char command[128];

	kill(program, SIGKILL);
	unlink(path);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}

static const struct rec_engine_options engine_options = { .path = path };

static void *lead(void *options)
{
	(void)options;
	leader_result = rec_engine_run(&region, &engine_options);
	return NULL;
}

static void start_leader(void)
{
	ck_assert_int_eq(pthread_create(&leader, NULL, lead, NULL), 0);
	AWAIT(__atomic_load_n(&region.header->lease.generation, __ATOMIC_ACQUIRE));
}

static void end_program(void)
{
	kill(program, SIGKILL);
	waitpid(program, NULL, 0);
	rec_engine_wake(&region);
}

START_TEST(signals_become_files)
{
	struct rec_trigger *trigger = &region.header->trigger;

	start_leader();
	for (uint32_t i = 1; i <= 3; i++) {
		__atomic_fetch_add(&trigger->signals, 2, __ATOMIC_RELEASE);
		rec_engine_wake(&region);
		AWAIT(__atomic_load_n(&trigger->signals_served, __ATOMIC_ACQUIRE) == 2 * i);
		ck_assert_int_ge(count_files(), (int)i);
	}
	ck_assert_uint_eq(region.header->dump_count, (uint32_t)count_files());
	ck_assert(has_region());
	end_program();
	pthread_join(leader, NULL);
}
END_TEST

START_TEST(a_killed_program_is_dumped_and_buried)
{
	start_leader();
	end_program();
	pthread_join(leader, NULL);
	ck_assert_int_eq(leader_result, 0);
	ck_assert_int_eq(count_files(), 1);
	ck_assert(!has_region());
	ck_assert_uint_eq(region.header->lease.pid, 0);
}
END_TEST

START_TEST(one_that_said_so_is_only_buried)
{
	__atomic_fetch_or(&rec_process_at(&region, process)->flags, REC_PROCESS_EXITING,
			  __ATOMIC_RELEASE);
	start_leader();
	end_program();
	pthread_join(leader, NULL);
	ck_assert_int_eq(leader_result, 0);
	ck_assert_int_eq(count_files(), 0);
	ck_assert(!has_region());
}
END_TEST

START_TEST(dumponexit_without_an_exit_dump_is_made_good)
{
	__atomic_fetch_or(&rec_process_at(&region, process)->flags, REC_PROCESS_EXITING,
			  __ATOMIC_RELEASE);
	region.header->dump_on_exit = 1;
	start_leader();
	end_program();
	pthread_join(leader, NULL);
	ck_assert_int_eq(count_files(), 1);
}
END_TEST

START_TEST(an_exit_dump_is_served_and_not_repeated)
{
	struct rec_trigger *trigger = &region.header->trigger;

	region.header->dump_on_exit = 1;
	start_leader();
	__atomic_fetch_or(&rec_process_at(&region, process)->flags, REC_PROCESS_EXITING,
			  __ATOMIC_RELEASE);
	__atomic_fetch_add(&trigger->exit_dumps, 1, __ATOMIC_RELEASE);
	rec_engine_wake(&region);
	AWAIT(__atomic_load_n(&trigger->exit_dumps_served, __ATOMIC_ACQUIRE) == 1);
	ck_assert_int_eq(count_files(), 1);
	end_program();
	pthread_join(leader, NULL);
	ck_assert_int_eq(count_files(), 1);
	ck_assert(!has_region());
}
END_TEST

START_TEST(a_fatal_signal_counts_though_exit_was_said)
{
	__atomic_fetch_or(&rec_process_at(&region, process)->flags,
			  REC_PROCESS_EXITING | REC_PROCESS_FATAL, __ATOMIC_RELEASE);
	start_leader();
	end_program();
	pthread_join(leader, NULL);
	ck_assert_int_eq(count_files(), 1);
}
END_TEST

START_TEST(the_family_outlives_its_first_process)
{
	pid_t child = start_program();

	__atomic_fetch_or(&rec_process_at(&region, process)->flags, REC_PROCESS_EXITING,
			  __ATOMIC_RELEASE);
	ck_assert_uint_ne(join(child), REC_NONE);
	start_leader();
	end_program();
	AWAIT(__atomic_load_n(&rec_process_at(&region, process)->end_ticks, __ATOMIC_ACQUIRE));
	ck_assert(has_region());
	program = child;
	end_program();
	pthread_join(leader, NULL);
	ck_assert(!has_region());
	ck_assert_int_eq(count_files(), 1);
}
END_TEST

/* A child that was forked past the hooks: it maps the region, but no table knows it. */
START_TEST(a_silent_child_keeps_the_region)
{
	char scratch[4096];
	pid_t child = start_program();

	ck_assert(rec_family_is_mapped(path, (uint32_t)getpid(), scratch, sizeof(scratch)));
	start_leader();
	end_program();
	AWAIT(__atomic_load_n(&rec_process_at(&region, process)->end_ticks, __ATOMIC_ACQUIRE));
	ck_assert(has_region());
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	/* Each test runs in a child of the runner, which does not map this region. */
	pthread_join(leader, NULL);
	ck_assert(!has_region());
}
END_TEST

START_TEST(there_is_one_leader)
{
	struct rec_engine_options options = { 0 };

	start_leader();
	/* Of another process: this one holds the lease already. */
	pid_t other = fork();
	if (other == 0)
		_exit(rec_engine_run(&region, &options) == HOLTER_E_BUSY ? 7 : 1);
	int status;
	waitpid(other, &status, 0);
	ck_assert_int_eq(WEXITSTATUS(status), 7);
	end_program();
	pthread_join(leader, NULL);
}
END_TEST

START_TEST(who_loses_the_lease_stops)
{
	start_leader();
	__atomic_store_n(&region.header->lease.pid, 1, __ATOMIC_RELEASE);
	rec_engine_wake(&region);
	pthread_join(leader, NULL);
	ck_assert_int_eq(leader_result, HOLTER_E_BUSY);
	ck_assert(has_region());
	ck_assert_uint_eq(region.header->lease.pid, 1);
}
END_TEST

START_TEST(dead_threads_give_their_chunks_back)
{
	struct rec_chunk_owner owner = { .pid = (uint32_t)program, .tid = 1u << 29 };
	struct rec_chunk_owner living = { .pid = (uint32_t)program, .tid = (uint32_t)program };
	uint32_t dead_chunk, living_chunk, entry;

	owner.process = living.process = process;
	owner.thread = entry = rec_thread_join(&region, owner.pid, owner.tid, process, 5, "dead");
	living.thread = REC_NONE;
	dead_chunk = rec_ring_exchange(&region, REC_CHUNK_NONE, &owner, 5);
	living_chunk = rec_ring_exchange(&region, REC_CHUNK_NONE, &living, 5);
	rec_thread_at(&region, entry)->loss[REC_LOSS_NESTED] = 3;
	ck_assert_uint_eq(rec_family_reclaim(&region), 1);
	ck_assert_uint_eq(rec_family_reclaim(&region), 0);
	ck_assert_uint_ne(rec_ring_chunk(&region, dead_chunk)->state, REC_CHUNK_OWNED);
	ck_assert_uint_eq(rec_ring_chunk(&region, living_chunk)->state, REC_CHUNK_OWNED);
	ck_assert_uint_ne(rec_thread_at(&region, entry)->end_ticks, 0);
	ck_assert_uint_eq(region.header->loss[REC_LOSS_NESTED], 3);
	/* The process ends: the other one too. */
	struct rec_family_state state = { 0 };
	kill(program, SIGKILL);
	waitpid(program, NULL, 0);
	rec_family_look(&region, 0, &state);
	ck_assert_uint_eq(state.living, 0);
	ck_assert_uint_eq(state.died, 1);
	ck_assert_uint_eq(state.unannounced, 1);
	ck_assert_uint_eq(state.crashed_pid, (uint32_t)program);
	ck_assert_uint_eq(rec_family_reclaim(&region), 1);
	rec_family_look(&region, 0, &state);
	ck_assert_uint_eq(state.died, 0);
	ck_assert_uint_eq(state.unannounced, 1);
}
END_TEST

/* The body of the last record of a type in the leader's chunk; how many there are. */
static uint32_t find_records(uint32_t type, void *body, size_t size)
{
	static struct rec_chunk chunk;
	uint32_t fresh = __atomic_load_n(&region.header->ring.fresh, __ATOMIC_RELAXED);
	uint32_t found = 0;

	for (uint32_t number = 1; number <= fresh; number++) {
		if (rec_ring_copy(&region, number, &chunk) != 1)
			continue;
		for (uint32_t at = 0; at < ARRAY_LEN(chunk.data) && chunk.data[at];
		     at += EV_WORDS(chunk.data[at])) {
			if (EV_TYPE(chunk.data[at]) != type)
				continue;
			memcpy(body, &chunk.data[at + 1], size);
			found++;
		}
	}
	return found;
}

static float as_float(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

START_TEST(periodic_events_tell_the_truth)
{
	struct ev_FileDescriptors files = { 0 };
	struct ev_HeapSummary heap = { 0 };
	struct ev_ThreadStatistics threads = { 0 };
	struct ev_ResidentSetSize rss = { 0 };
	struct ev_PhysicalMemory memory = { 0 };
	struct ev_CPULoad load = { 0 };
	struct ev_Cgroup group = { 0 };
	struct ev_NetworkUtilization network;
	struct ev_ContextSwitchRate switches = { 0 };
	struct rec_proc_stat stat;
	struct rec_process *entry = rec_process_at(&region, process);

	entry->live_samples = 11;
	entry->live_bytes = 5555;
	entry->allocated_bytes = 777777;
	start_leader();
	AWAIT(find_records(EV_CPULoad, &load, sizeof(load)) >= 3 &&
	      find_records(EV_ContextSwitchRate, &switches, sizeof(switches)) >= 1);
	ck_assert_uint_ge(find_records(EV_FileDescriptors, &files, sizeof(files)), 1);
	ck_assert_uint_eq(files.process, (uint32_t)program);
	ck_assert_uint_eq(files.limit, (uint32_t)sysconf(_SC_OPEN_MAX));
	ck_assert_uint_ge(find_records(EV_HeapSummary, &heap, sizeof(heap)), 1);
	ck_assert_uint_eq(heap.process, (uint32_t)program);
	ck_assert_uint_eq(heap.liveSamples, 11);
	ck_assert_uint_eq(heap.liveBytes, 5555);
	ck_assert_uint_eq(heap.allocatedBytes, 777777);
	ck_assert_uint_ge(find_records(EV_ThreadStatistics, &threads, sizeof(threads)), 1);
	ck_assert_uint_eq(threads.activeCount, 1);
	ck_assert_uint_eq(threads.peakCount, 1);
	ck_assert_uint_ge(find_records(EV_ResidentSetSize, &rss, sizeof(rss)), 1);
	ck_assert(rec_proc_stat_read((uint32_t)program, 0, &stat));
	ck_assert_uint_eq(rss.size, stat.rss_pages * 4096);
	ck_assert_uint_ge(rss.peak, rss.size);
	ck_assert_uint_ge(find_records(EV_PhysicalMemory, &memory, sizeof(memory)), 1);
	ck_assert_uint_gt(memory.totalSize, memory.usedSize);
	ck_assert_uint_eq(memory.totalSize / 4096, (uint64_t)sysconf(_SC_PHYS_PAGES));
	ck_assert_float_le(as_float(load.machineTotal), 1);
	ck_assert_float_ge(as_float(load.machineTotal), 0);
	ck_assert_float_le(as_float(load.jvmUser), 0.5f); /* it only sleeps */
	ck_assert_float_gt(as_float(switches.switchRate), 0);
	if (find_records(EV_Cgroup, &group, sizeof(group)))
		ck_assert(as_float(group.cpuLimit) == -1 || as_float(group.cpuLimit) > 0);
	find_records(EV_NetworkUtilization, &network, sizeof(network));
	end_program();
	pthread_join(leader, NULL);
}
END_TEST

START_TEST(descriptors_are_counted_exactly)
{
	struct ev_FileDescriptors files = { 0 };
	struct rec_proc_list list;
	char name[REC_PROC_PATH];
	uint32_t open = 0, number;
	int pair[2];

	kill(program, SIGKILL);
	waitpid(program, NULL, 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	program = start_program();
	ck_assert_uint_ne(join(program), REC_NONE);
	rec_proc_path(name, (uint32_t)program, 0, "fd");
	/* Twice: it closes its input at first. */
	for (int tries = 0; tries < 2; tries++, usleep(50000)) {
		ck_assert(rec_proc_list_open(&list, name));
		for (open = 0; rec_proc_list_next(&list, &number);)
			open++;
		rec_proc_list_close(&list);
	}
	start_leader();
	AWAIT(find_records(EV_FileDescriptors, &files, sizeof(files)) >= 1);
	ck_assert_uint_eq(files.process, (uint32_t)program);
	ck_assert_uint_eq(files.open, open);
	ck_assert_uint_ge(files.sockets, 2);
	end_program();
	pthread_join(leader, NULL);
}
END_TEST

/* A thread that computes; its share is told with its tid. */
START_TEST(a_busy_thread_is_named)
{
	struct ev_ThreadCPULoad load = { 0 };
	pid_t busy = fork();

	if (busy == 0)
		for (volatile unsigned i = 0;; i++)
			;
	ck_assert_uint_ne(join(busy), REC_NONE);
	start_leader();
	AWAIT(find_records(EV_ThreadCPULoad, &load, sizeof(load)) >= 2 &&
	      load.eventThread == (uint32_t)busy);
	ck_assert_float_gt(as_float(load.user), 0);
	ck_assert_float_le(as_float(load.user) + as_float(load.system), 1.01f);
	kill(busy, SIGKILL);
	waitpid(busy, NULL, 0);
	end_program();
	pthread_join(leader, NULL);
}
END_TEST

START_TEST(stopped_it_samples_nothing)
{
	struct ev_PhysicalMemory memory;
	uint32_t before;

	start_leader();
	AWAIT(find_records(EV_PhysicalMemory, &memory, sizeof(memory)) >= 2);
	config.recording = 0;
	rec_config_apply(&config, &region, NULL);
	/* A round under way may still end. */
	usleep(100000);
	before = find_records(EV_PhysicalMemory, &memory, sizeof(memory));
	usleep(200000);
	ck_assert_uint_eq(find_records(EV_PhysicalMemory, &memory, sizeof(memory)), before);
	config.recording = 1;
	rec_config_apply(&config, &region, NULL);
	AWAIT(find_records(EV_PhysicalMemory, &memory, sizeof(memory)) > before);
	end_program();
	pthread_join(leader, NULL);
}
END_TEST

START_TEST(every_dump_is_logged)
{
	char name[128], line[512] = "";
	FILE *log;

	start_leader();
	end_program();
	pthread_join(leader, NULL);
	snprintf(name, sizeof(name), "%s/log", folder);
	log = fopen(name, "r");
	ck_assert_ptr_nonnull(log);
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), log));
	fclose(log);
	ck_assert_ptr_nonnull(strstr(line, "]: dump /tmp/test_engine_"));
	ck_assert_ptr_nonnull(strstr(line, "was killed or ended without exit)"));
}
END_TEST

START_TEST(a_program_without_a_leader_dumps_itself)
{
	ck_assert_int_eq(rec_engine_exit_dump(&region), 0);
	ck_assert_int_eq(count_files(), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("engine");
	TCase *tests = tcase_create("engine");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, signals_become_files);
	tcase_add_test(tests, a_killed_program_is_dumped_and_buried);
	tcase_add_test(tests, one_that_said_so_is_only_buried);
	tcase_add_test(tests, dumponexit_without_an_exit_dump_is_made_good);
	tcase_add_test(tests, an_exit_dump_is_served_and_not_repeated);
	tcase_add_test(tests, a_fatal_signal_counts_though_exit_was_said);
	tcase_add_test(tests, the_family_outlives_its_first_process);
	tcase_add_test(tests, a_silent_child_keeps_the_region);
	tcase_add_test(tests, there_is_one_leader);
	tcase_add_test(tests, who_loses_the_lease_stops);
	tcase_add_test(tests, dead_threads_give_their_chunks_back);
	tcase_add_test(tests, periodic_events_tell_the_truth);
	tcase_add_test(tests, descriptors_are_counted_exactly);
	tcase_add_test(tests, a_busy_thread_is_named);
	tcase_add_test(tests, stopped_it_samples_nothing);
	tcase_add_test(tests, every_dump_is_logged);
	tcase_add_test(tests, a_program_without_a_leader_dumps_itself);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
