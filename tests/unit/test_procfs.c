/*
 * Texts of /proc and of control groups, of several kernels and of none; then the real ones.
 */
#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/sys/cgroup.h"
#include "recorder/sys/procfs.h"

START_TEST(stat_lines)
{
	struct rec_proc_stat stat;

	ck_assert(rec_proc_stat_parse(
		"4711 (a) b (c) S 17 4711 4711 0 -1 4194560 1 2 3 4 250 31 7 8 20 0 12 0 987654 "
		"1000000 321 18446744073709551615 1 1 0 0 0\n",
		&stat));
	ck_assert_str_eq(stat.name, "a) b (c");
	ck_assert_int_eq(stat.state, 'S');
	ck_assert_uint_eq(stat.ppid, 17);
	ck_assert_uint_eq(stat.user_ticks, 250);
	ck_assert_uint_eq(stat.system_ticks, 31);
	ck_assert_uint_eq(stat.threads, 12);
	ck_assert_uint_eq(stat.start_time, 987654);
	ck_assert_uint_eq(stat.rss_pages, 321);
	ck_assert(!rec_proc_stat_parse("", &stat));
	ck_assert(!rec_proc_stat_parse("4711 (x", &stat));
	ck_assert(!rec_proc_stat_parse("4711 )x(", &stat));
	ck_assert(!rec_proc_stat_parse("4711 (x) S 1 2 3\n", &stat));
}
END_TEST

START_TEST(own_stat)
{
	struct rec_proc_stat stat;

	ck_assert(rec_proc_stat_read((uint32_t)getpid(), 0, &stat));
	ck_assert_uint_eq(stat.ppid, (uint32_t)getppid());
	ck_assert_uint_eq(stat.threads, 1);
	ck_assert_uint_gt(stat.rss_pages, 10);
	ck_assert(rec_proc_alive((uint32_t)getpid(), stat.start_time));
	ck_assert(rec_proc_alive((uint32_t)getpid(), 0));
	ck_assert(!rec_proc_alive((uint32_t)getpid(), stat.start_time + 1));
	ck_assert(!rec_proc_alive(1u << 30, 0));
}
END_TEST

START_TEST(a_zombie_is_dead)
{
	pid_t child = fork();
	siginfo_t info;

	if (child == 0)
		_exit(3);
	ck_assert_int_eq(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	ck_assert(!rec_proc_alive((uint32_t)child, 0));
	waitpid(child, NULL, 0);
	ck_assert(!rec_proc_alive((uint32_t)child, 0));
}
END_TEST

static void *lonely(void *pipe_end)
{
	char byte;

	/* Until the parent has looked. */
	if (read((int)(intptr_t)pipe_end, &byte, 1) < 0)
		return NULL;
	_exit(0);
}

START_TEST(a_main_thread_that_left_others_behind_lives)
{
	int ends[2];
	struct rec_proc_stat stat = { .state = 'R' };
	pid_t child;

	ck_assert_int_eq(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		pthread_t thread;

		pthread_create(&thread, NULL, lonely, (void *)(intptr_t)ends[0]);
		pthread_exit(NULL);
	}
	while (stat.state != 'Z' && rec_proc_stat_read((uint32_t)child, 0, &stat))
		usleep(1000);
	ck_assert(rec_proc_alive((uint32_t)child, 0));
	ck_assert_int_eq(write(ends[1], "x", 1), 1);
	waitpid(child, NULL, 0);
	ck_assert(!rec_proc_alive((uint32_t)child, 0));
}
END_TEST

START_TEST(machine_text)
{
	struct rec_proc_machine machine;

	ck_assert(rec_proc_machine_parse("cpu  100 5 50 800 20 1 2 22 7 0\n"
					 "cpu0 50 5 25 400 10 1 1 11 7 0\n"
					 "cpu1 50 0 25 400 10 0 1 11 0 0\n"
					 "intr 123 0 0 4\nctxt 98765\nbtime 1\n",
					 &machine));
	ck_assert_uint_eq(machine.total_ticks, 1000);
	ck_assert_uint_eq(machine.idle_ticks, 820);
	ck_assert_uint_eq(machine.processors, 2);
	ck_assert_uint_eq(machine.switches, 98765);
	ck_assert(rec_proc_machine_parse("cpu 1 2 3 4", &machine));
	ck_assert_uint_eq(machine.total_ticks, 10);
	ck_assert_uint_eq(machine.switches, 0);
	ck_assert(!rec_proc_machine_parse("", &machine));
	ck_assert(!rec_proc_machine_parse("cpux", &machine));
}
END_TEST

START_TEST(named_numbers)
{
	const char *text = "MemTotal:       16384 kB\nMemFree:\t 12 kB\nVmX: none\nLast: 7";
	uint64_t value = 1;

	ck_assert(rec_proc_number(text, "MemTotal:", &value));
	ck_assert_uint_eq(value, 16384);
	ck_assert(rec_proc_number(text, "MemFree:", &value));
	ck_assert_uint_eq(value, 12);
	ck_assert(rec_proc_number(text, "Last:", &value));
	ck_assert_uint_eq(value, 7);
	ck_assert(!rec_proc_number(text, "VmX:", &value));
	ck_assert(!rec_proc_number(text, "Free:", &value));
	ck_assert(!rec_proc_number("", "Free:", &value));
}
END_TEST

START_TEST(interfaces)
{
	const char *text = "Inter-|   Receive                |  Transmit\n"
			   " face |bytes    packets errs drop|bytes packets\n"
			   "    lo: 1234 10 0 0 0 0 0 0 5678 10 0 0 0 0 0 0\n"
			   "enp0s31f6name_too_long:99 1 0 0 0 0 0 0 77 1 0 0 0 0 0 0\n";
	struct rec_proc_interface interface;
	const char *at = rec_proc_interface_next(text, &interface);

	ck_assert_ptr_nonnull(at);
	ck_assert_str_eq(interface.name, "lo");
	ck_assert_uint_eq(interface.read_bytes, 1234);
	ck_assert_uint_eq(interface.written_bytes, 5678);
	at = rec_proc_interface_next(at, &interface);
	ck_assert_ptr_nonnull(at);
	ck_assert_str_eq(interface.name, "enp0s31f6name_t");
	ck_assert_uint_eq(interface.written_bytes, 77);
	ck_assert_ptr_null(rec_proc_interface_next(at, &interface));
	ck_assert_ptr_null(rec_proc_interface_next("", &interface));
	ck_assert_ptr_nonnull(rec_proc_interface_next("eth0:", &interface));
	ck_assert_uint_eq(interface.written_bytes, 0);
}
END_TEST

START_TEST(limit_of_files)
{
	ck_assert_uint_eq(rec_proc_open_files_limit(
				  "Limit   Soft  Hard\nMax open files     1024    4096   files\n"),
			  1024);
	ck_assert_uint_eq(rec_proc_open_files_limit("Max open files  unlimited unlimited files\n"),
			  UINT64_MAX);
	ck_assert_uint_eq(rec_proc_open_files_limit(""), 0);
}
END_TEST

START_TEST(descriptors_are_listed)
{
	struct rec_proc_list list;
	char path[REC_PROC_PATH];
	uint32_t before = 0, number;
	int has_it = 0;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	rec_proc_path(path, (uint32_t)getpid(), 0, "fd");
	ck_assert(rec_proc_list_open(&list, path));
	while (rec_proc_list_next(&list, &number)) {
		before++;
		has_it |= number == (uint32_t)fd;
	}
	rec_proc_list_close(&list);
	ck_assert_uint_ge(before, 4);
	ck_assert_int_eq(has_it, 1);
	ck_assert(!rec_proc_list_open(&list, "/nonexistent"));
	close(fd);
}
END_TEST

#define V1_CGROUP "9:name=systemd:/\n4:memory:/api/abc\n2:cpu,cpuacct:/user.slice/x y\n0::/\n"
#define V1_MOUNTS                                                                                  \
	"22 1 0:20 / / rw - ext4 /dev/vda rw\n"                                                    \
	"30 22 0:31 / /sys/fs/cgroup/memory rw,nosuid shared:9 - cgroup cgroup rw,memory\n"        \
	"31 22 0:32 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"              \
	"32 22 0:33 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"

START_TEST(groups_version_1)
{
	struct rec_cgroup_folders folders;

	ck_assert(rec_cgroup_locate(V1_CGROUP, V1_MOUNTS, &folders));
	ck_assert_str_eq(folders.memory.path, "/sys/fs/cgroup/memory/api/abc");
	ck_assert_uint_eq(folders.memory.version, 1);
	ck_assert_uint_eq(folders.memory.mount_length, strlen("/sys/fs/cgroup/memory"));
	ck_assert_str_eq(folders.cpu.path, "/sys/fs/cgroup/cpu,cpuacct/user.slice/x y");
}
END_TEST

START_TEST(groups_version_2)
{
	struct rec_cgroup_folders folders;

	ck_assert(rec_cgroup_locate("0::/user.slice/app.scope\n",
				    "35 22 0:33 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
				    &folders));
	ck_assert_str_eq(folders.cpu.path, "/sys/fs/cgroup/user.slice/app.scope");
	ck_assert_str_eq(folders.memory.path, "/sys/fs/cgroup/user.slice/app.scope");
	ck_assert_uint_eq(folders.cpu.version, 2);
	/* The root group. */
	ck_assert(rec_cgroup_locate("0::/\n", "35 22 0:33 / /sys/fs/cgroup rw - cgroup2 none rw",
				    &folders));
	ck_assert_str_eq(folders.cpu.path, "/sys/fs/cgroup");
}
END_TEST

START_TEST(groups_of_containers)
{
	struct rec_cgroup_folders folders;

	/* The group itself is mounted: the host's path is cut off. */
	ck_assert(rec_cgroup_locate("4:memory:/docker/abc\n",
				    "30 22 0:31 /docker/abc /sys/fs/cgroup/memory ro - cgroup c "
				    "rw,memory\n",
				    &folders));
	ck_assert_str_eq(folders.memory.path, "/sys/fs/cgroup/memory");
	ck_assert_str_eq(folders.cpu.path, "");
	/* A path outside the mount, or of an outer namespace. */
	ck_assert(rec_cgroup_locate("4:memory:/other\n",
				    "30 22 0:31 /docker/abc /sys/fs/cgroup/memory ro - cgroup c "
				    "rw,memory\n",
				    &folders));
	ck_assert_str_eq(folders.memory.path, "/sys/fs/cgroup/memory");
	ck_assert(rec_cgroup_locate("0::/../../x\n", "35 22 0:33 / /cg rw - cgroup2 c rw\n",
				    &folders));
	ck_assert_str_eq(folders.memory.path, "/cg");
}
END_TEST

START_TEST(groups_of_damaged_texts)
{
	struct rec_cgroup_folders folders;

	ck_assert(!rec_cgroup_locate("", "", &folders));
	ck_assert(!rec_cgroup_locate(V1_CGROUP, "x\n\n- - -\n30 22", &folders));
	ck_assert(!rec_cgroup_locate(":::::\n\n", V1_MOUNTS, &folders));
}
END_TEST

START_TEST(limits)
{
	ck_assert_uint_eq(rec_cgroup_cpu_max("max 100000\n"), REC_CGROUP_UNLIMITED);
	ck_assert_uint_eq(rec_cgroup_cpu_max("50000 100000\n"), 500);
	ck_assert_uint_eq(rec_cgroup_cpu_max("250000 100000"), 2500);
	ck_assert_uint_eq(rec_cgroup_cpu_max("250000 0"), REC_CGROUP_UNLIMITED);
	ck_assert_uint_eq(rec_cgroup_cpu_max(""), REC_CGROUP_UNLIMITED);
	ck_assert_uint_eq(rec_cgroup_cpu_quota("-1\n", "100000\n"), REC_CGROUP_UNLIMITED);
	ck_assert_uint_eq(rec_cgroup_cpu_quota("150000\n", "100000\n"), 1500);
	ck_assert_uint_eq(rec_cgroup_cpu_quota("", ""), REC_CGROUP_UNLIMITED);
	ck_assert_uint_eq(rec_cgroup_bytes("max\n"), REC_CGROUP_UNLIMITED);
	ck_assert_uint_eq(rec_cgroup_bytes("9223372036854771712\n"), REC_CGROUP_UNLIMITED);
	ck_assert_uint_eq(rec_cgroup_bytes("-1"), REC_CGROUP_UNLIMITED);
	ck_assert_uint_eq(rec_cgroup_bytes("1048576\n"), 1048576);
}
END_TEST

static char root[64];

static void put(const char *file, const char *text)
{
	char path[256];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", root, file);
	out = fopen(path, "w");
	ck_assert_ptr_nonnull(out);
	fputs(text, out);
	fclose(out);
}

START_TEST(the_lowest_limit_of_the_way_up_counts)
{
	struct rec_cgroup_folders folders = { .cpu.version = 2 };
	struct rec_cgroup group;
	char command[128];

	strcpy(root, "/tmp/test_cgroup_XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
	snprintf(folders.cpu.path, sizeof(folders.cpu.path), "%s/a/b", root);
	folders.cpu.mount_length = (uint32_t)strlen(root);
	folders.memory = folders.cpu;
	snprintf(command, sizeof(command), "mkdir -p %s/a/b", root);
	ck_assert_int_eq(system(command), 0);
	put("a/b/cpu.max", "400000 100000\n");
	put("a/cpu.max", "150000 100000\n");
	put("a/b/memory.max", "max\n");
	put("a/memory.max", "5000000\n");
	put("memory.max", "9000000\n");
	put("a/b/memory.current", "4242\n");
	put("a/b/cpu.stat", "usage_usec 5\nnr_periods 9\nnr_throttled 3\nthrottled_usec 77\n");
	rec_cgroup_read(&folders, &group);
	ck_assert_uint_eq(group.cpu_millis, 1500);
	ck_assert_uint_eq(group.memory_limit, 5000000);
	ck_assert_uint_eq(group.memory_used, 4242);
	ck_assert_uint_eq(group.throttled_periods, 3);
	ck_assert_uint_eq(group.throttled_ns, 77000);
	snprintf(command, sizeof(command), "rm -rf %s", root);
	ck_assert_int_eq(system(command), 0);
	/* Gone meanwhile. */
	rec_cgroup_read(&folders, &group);
	ck_assert_uint_eq(group.cpu_millis, REC_CGROUP_UNLIMITED);
	ck_assert_uint_eq(group.memory_used, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("procfs");
	TCase *tests = tcase_create("procfs");
	SRunner *runner;
	int failed;

	tcase_add_test(tests, stat_lines);
	tcase_add_test(tests, own_stat);
	tcase_add_test(tests, a_zombie_is_dead);
	tcase_add_test(tests, a_main_thread_that_left_others_behind_lives);
	tcase_add_test(tests, machine_text);
	tcase_add_test(tests, named_numbers);
	tcase_add_test(tests, interfaces);
	tcase_add_test(tests, limit_of_files);
	tcase_add_test(tests, descriptors_are_listed);
	tcase_add_test(tests, groups_version_1);
	tcase_add_test(tests, groups_version_2);
	tcase_add_test(tests, groups_of_containers);
	tcase_add_test(tests, groups_of_damaged_texts);
	tcase_add_test(tests, limits);
	tcase_add_test(tests, the_lowest_limit_of_the_way_up_counts);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
