/*
 * The region's file: layout, creation in every state of descriptors and /dev/shm, opening of
 * hostile files, finding by process, reserving.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/region/tables.h"

#define MEMORY (1u << 20)

static struct rec_region region;
static uint64_t own_start;
static uint32_t own_parent;

static void create_region(void)
{
	ck_assert_int_eq(rec_region_start_time((uint32_t)getpid(), &own_start, &own_parent), 0);
	ck_assert_int_eq(rec_region_create(&region, MEMORY, (uint32_t)getpid(), own_start), 0);
}

static void remove_region(void)
{
	if (!region.base)
		return;
	if (region.header->path[0] != 0)
		unlink(region.header->path);
	rec_region_unmap(&region);
}

static int count_fds(void)
{
	int count = 0;

	for (int fd = 0; fd < 100; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

START_TEST(layout_is_ordered_and_bounded)
{
	const uint64_t sizes[] = { REC_MEMORY_MIN, 16u << 20, 3u << 20, REC_MEMORY_MAX };

	for (unsigned i = 0; i < ARRAY_LEN(sizes); i++) {
		struct rec_layout l;

		ck_assert_int_eq(rec_layout_compute(sizes[i], &l), 0);
		const uint64_t at[] = { l.header,    l.settings, l.mailbox, l.text,   l.pids,
					l.processes, l.threads,	 l.modules, l.names,  l.user_types,
					l.live,	     l.slots,	 l.depot,   l.chunks, l.total };
		for (unsigned j = 0; j < ARRAY_LEN(at); j++) {
			ck_assert_uint_eq(at[j] % PAGE_BYTES, 0);
			if (j > 0)
				ck_assert_uint_gt(at[j], at[j - 1]);
		}
		ck_assert_uint_eq(l.total - l.chunks, sizes[i]);
		ck_assert_uint_le(l.depot_half / 8, 1u << 24);
		ck_assert_uint_ge(l.depot_half, 512u << 10);
		ck_assert_uint_eq(l.depot_slots & (l.depot_slots - 1), 0);
		ck_assert_uint_lt(l.depot_slots * 8ull, l.depot_half / 4);
	}
}
END_TEST

START_TEST(layout_refuses_sizes_out_of_range)
{
	struct rec_layout layout = { .total = 42 };

	ck_assert_int_eq(rec_layout_compute(0, &layout), HOLTER_E_LIMIT);
	ck_assert_int_eq(rec_layout_compute(REC_MEMORY_MIN - 8192, &layout), HOLTER_E_LIMIT);
	ck_assert_int_eq(rec_layout_compute(REC_MEMORY_MIN + 1, &layout), HOLTER_E_LIMIT);
	ck_assert_int_eq(rec_layout_compute(REC_MEMORY_MAX + 8192, &layout), HOLTER_E_LIMIT);
	ck_assert_int_eq(rec_layout_compute(UINT64_MAX, &layout), HOLTER_E_LIMIT);
	ck_assert_uint_eq(layout.total, 42);
}
END_TEST

START_TEST(created_file_is_private_and_leaves_no_descriptor)
{
	int before = count_fds();
	struct stat status;
	char path[128];

	create_region();
	ck_assert_int_eq(count_fds(), before);
	snprintf(path, sizeof(path), "/dev/shm/holter-%d-%llx", getpid(),
		 (unsigned long long)own_start);
	ck_assert_str_eq(region.header->path, path);
	ck_assert_int_eq(lstat(path, &status), 0);
	ck_assert_uint_eq(status.st_mode, S_IFREG | 0600);
	ck_assert_uint_eq((uint64_t)status.st_size, region.layout.total);
	ck_assert_uint_eq(region.header->anonymous, 0);
	ck_assert_uint_eq(region.header->depot.generation, 1);
	ck_assert_uint_eq(region.settings->recording, 0);
	ck_assert_uint_eq(region.header->clock.is_tsc, rec_clock_is_tsc);
}
END_TEST

START_TEST(creation_with_closed_streams_leaves_them_closed)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		struct rec_region r;

		for (int fd = 0; fd < 100; fd++)
			close(fd);
		if (rec_region_create(&r, MEMORY, (uint32_t)getpid(), 7) != 0)
			_exit(1);
		unlink(r.header->path);
		_exit(r.header->anonymous || count_fds() != 0 ? 2 : 0);
	}
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(a_second_image_of_a_process_gets_a_file_of_its_own)
{
	struct rec_region second;

	create_region();
	ck_assert_int_eq(rec_region_create(&second, MEMORY, (uint32_t)getpid(), own_start), 0);
	ck_assert_str_ne(second.header->path, region.header->path);
	ck_assert_uint_eq(second.header->anonymous, 0);
	unlink(second.header->path);
	rec_region_unmap(&second);
}
END_TEST

START_TEST(a_planted_link_is_not_followed)
{
	struct stat status;
	char path[128];

	snprintf(path, sizeof(path), "/dev/shm/holter-%d-9", getpid());
	ck_assert_int_eq(symlink("/dev/shm/holter-test-victim", path), 0);
	ck_assert_int_eq(rec_region_create(&region, MEMORY, (uint32_t)getpid(), 9), 0);
	unlink(path);
	ck_assert_str_ne(region.header->path, path);
	ck_assert_int_ne(stat("/dev/shm/holter-test-victim", &status), 0);
}
END_TEST

START_TEST(open_maps_what_create_made)
{
	struct rec_region reader, writer;

	create_region();
	strcpy(region.text, "settings=default");
	ck_assert_int_eq(rec_region_open(&reader, region.header->path, 0), 0);
	ck_assert_int_eq(rec_region_open(&writer, region.header->path, 1), 0);
	ck_assert_str_eq(reader.text, "settings=default");
	writer.settings->memory_mode = 2;
	ck_assert_uint_eq(reader.settings->memory_mode, 2);
	ck_assert_int_eq(rec_region_reserve(&reader, 0, 4096), HOLTER_E_NOSPACE);
	rec_region_unmap(&reader);
	rec_region_unmap(&writer);
	ck_assert_ptr_null(reader.base);
}
END_TEST

START_TEST(open_refuses_what_is_no_region)
{
	struct rec_region other = { .base = NULL };
	char path[] = "/tmp/holter-test-XXXXXX";
	int fd = mkstemp(path);

	ck_assert_int_eq(rec_region_open(&other, "/dev/shm/holter-none", 0), HOLTER_E_OPEN);
	ck_assert_int_eq(rec_region_open(&other, "/dev/null", 0), HOLTER_E_REGION);
	ck_assert_int_eq(rec_region_open(&other, "/tmp", 0), HOLTER_E_REGION);
	ck_assert_int_eq(rec_region_open(&other, path, 0), HOLTER_E_REGION);
	ck_assert_int_eq(ftruncate(fd, 30 << 20), 0);
	ck_assert_int_eq(rec_region_open(&other, path, 0), HOLTER_E_REGION);
	ck_assert_ptr_null(other.base);
	close(fd);
	unlink(path);
}
END_TEST

START_TEST(open_refuses_any_damage_of_the_first_words)
{
	struct rec_region other;

	create_region();
	/* Up to memory_bytes; every one of these bytes decides how the file is read. */
	for (size_t i = 0; i < offsetof(struct rec_header, clock); i++) {
		region.base[i] ^= 0x10;
		ck_assert_int_eq(rec_region_open(&other, region.header->path, 0), HOLTER_E_REGION);
		region.base[i] ^= 0x10;
	}
	ck_assert_int_eq(truncate(region.header->path, (off_t)region.layout.total - 4096), 0);
	ck_assert_int_eq(rec_region_open(&other, region.header->path, 0), HOLTER_E_REGION);
	ck_assert_int_eq(truncate(region.header->path, (off_t)region.layout.total), 0);
	ck_assert_int_eq(rec_region_open(&other, region.header->path, 0), 0);
	rec_region_unmap(&other);
}
END_TEST

START_TEST(open_refuses_links_and_files_of_others)
{
	struct rec_region other;
	char path[] = "/dev/shm/holter-test-link";
	int status;

	create_region();
	unlink(path);
	ck_assert_int_eq(symlink(region.header->path, path), 0);
	ck_assert_int_eq(rec_region_open(&other, path, 0), HOLTER_E_OPEN);
	unlink(path);
	if (getuid() != 0) {
		puts("SKIP open_refuses_links_and_files_of_others: needs root");
		return;
	}
	ck_assert_int_eq(chmod(region.header->path, 0666), 0);
	ck_assert_int_eq(chown(region.header->path, 4711, 4711), 0);
	pid_t child = fork();
	if (child == 0) {
		if (setuid(4712) != 0)
			_exit(9);
		_exit(rec_region_open(&other, region.header->path, 0) != HOLTER_E_PERMISSION);
	}
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(chmod(region.header->path, 0600), 0);
	child = fork();
	if (child == 0) {
		if (setuid(4712) != 0)
			_exit(9);
		_exit(rec_region_open(&other, region.header->path, 0) != HOLTER_E_PERMISSION);
	}
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(start_time_is_that_of_proc_stat)
{
	uint64_t mine, child_time;
	uint32_t parent;
	char expected[64], line[1024];
	FILE *file;
	int fds[2];

	ck_assert_int_eq(pipe(fds), 0);
	pid_t child = fork();
	if (child == 0) {
		/* A name that looks like the end of the field. */
		prctl(PR_SET_NAME, "a) R 1 (b");
		_exit(write(fds[1], "x", 1) != 1 || pause());
	}
	ck_assert_int_eq(read(fds[0], line, 1), 1);
	ck_assert_int_eq(rec_region_start_time((uint32_t)child, &child_time, &parent), 0);
	ck_assert_uint_eq(parent, (uint32_t)getpid());
	snprintf(expected, sizeof(expected), "/proc/%d/stat", child);
	file = fopen(expected, "r");
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), file));
	fclose(file);
	snprintf(expected, sizeof(expected), " %llu ", (unsigned long long)child_time);
	ck_assert_ptr_nonnull(strstr(strrchr(line, ')'), expected));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	ck_assert_int_eq(rec_region_start_time((uint32_t)child, &mine, &parent),
			 HOLTER_E_NO_PROCESS);
}
END_TEST

START_TEST(find_knows_processes_and_their_parents)
{
	uint32_t me = (uint32_t)getpid();
	char path[REC_PATH_MAX] = "untouched";

	create_region();
	ck_assert_int_eq(rec_region_find(me, own_start, 0, path), HOLTER_E_NOT_RECORDED);
	ck_assert_str_eq(path, "untouched");
	ck_assert_uint_eq(rec_process_join(&region, me, own_start, own_parent, 0), 0);
	ck_assert_int_eq(rec_region_find(me, own_start, 0, path), 0);
	ck_assert_str_eq(path, region.header->path);
	ck_assert_int_eq(rec_region_find(me, 0, 0, path), 0);
	ck_assert_int_eq(rec_region_find(me, own_start + 1, 0, path), HOLTER_E_NOT_RECORDED);
	ck_assert_int_eq(rec_region_find(0, 0, 0, path), HOLTER_E_NOT_RECORDED);
	ck_assert_int_eq(rec_region_find(0x7ffffff0, 5, 0, path), HOLTER_E_NOT_RECORDED);
	ck_assert_int_eq(rec_region_find(0x7ffffff0, 5, me, path), 0);
	ck_assert_str_eq(path, region.header->path);
}
END_TEST

START_TEST(find_passes_over_files_of_other_users)
{
	uint32_t me = (uint32_t)getpid();
	char path[REC_PATH_MAX];

	if (getuid() != 0) {
		puts("SKIP find_passes_over_files_of_other_users: needs root");
		return;
	}
	create_region();
	rec_process_join(&region, me, own_start, own_parent, 0);
	ck_assert_int_eq(rec_region_find(me, own_start, 0, path), 0);
	/* Somebody lays a region under a program of root. */
	ck_assert_int_eq(chown(region.header->path, 4711, 4711), 0);
	ck_assert_int_eq(rec_region_find(me, own_start, 0, path), HOLTER_E_NOT_RECORDED);
}
END_TEST

START_TEST(find_survives_decoys)
{
	uint32_t me = (uint32_t)getpid();
	char path[REC_PATH_MAX], decoy[300];
	int fd;

	create_region();
	rec_process_join(&region, me, own_start, own_parent, 0);
	snprintf(decoy, sizeof(decoy), "/dev/shm/holter-%0200d", 1);
	fd = open(decoy, O_CREAT | O_RDWR, 0600);
	ck_assert_int_eq(mkfifo("/dev/shm/holter-1-fifo", 0600), 0);
	ck_assert_int_eq(mkdir("/dev/shm/holter-1-folder", 0700), 0);
	ck_assert_int_eq(rec_region_find(me, own_start, 0, path), 0);
	ck_assert_str_eq(path, region.header->path);
	unlink("/dev/shm/holter-1-fifo");
	rmdir("/dev/shm/holter-1-folder");
	unlink(decoy);
	close(fd);
}
END_TEST

START_TEST(ensure_reserves_in_steps_up_to_the_limit)
{
	uint64_t *ready;

	create_region();
	ready = &region.header->names_ready;
	ck_assert_int_eq(rec_region_ensure(&region, region.layout.names, REC_NAMES_BYTES, ready, 1),
			 0);
	ck_assert_uint_ge(*ready, 4096);
	ck_assert_uint_le(*ready, 64 << 10);
	ck_assert_int_eq(rec_region_ensure(&region, region.layout.names, REC_NAMES_BYTES, ready,
					   REC_NAMES_BYTES),
			 0);
	ck_assert_uint_eq(*ready, REC_NAMES_BYTES);
	ck_assert_int_eq(rec_region_ensure(&region, region.layout.names, REC_NAMES_BYTES, ready,
					   REC_NAMES_BYTES + 1),
			 HOLTER_E_LIMIT);
}
END_TEST

/* A /dev/shm of that size for this test's process only; false: not allowed here. */
static bool small_shm(const char *size)
{
	char options[64];

	snprintf(options, sizeof(options), "size=%s", size);
	if (unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	    mount("tmpfs", "/dev/shm", "tmpfs", 0, options) == 0)
		return true;
	printf("SKIP %s: cannot mount a small /dev/shm\n", "small_shm");
	return false;
}

/* A process of its own makes a region and dies without a word; `nth` makes their order plain. */
static void leave_region(int nth, char *path)
{
	int status, ends[2];
	pid_t child;

	ck_assert_int_eq(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		uint64_t start_time;
		uint32_t ppid;

		usleep(20000 * nth);
		rec_region_start_time((uint32_t)getpid(), &start_time, &ppid);
		if (rec_region_create(&region, MEMORY, (uint32_t)getpid(), start_time) == 0)
			(void)!write(ends[1], region.header->path, REC_PATH_MAX);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(read(ends[0], path, REC_PATH_MAX), REC_PATH_MAX);
	close(ends[0]);
	close(ends[1]);
}

START_TEST(of_dead_regions_the_oldest_goes)
{
	char path[3][REC_PATH_MAX];

	if (!small_shm("64m"))
		return;
	for (int i = 0; i < 3; i++)
		leave_region(i, path[i]);
	create_region(); /* of this process, which lives: not counted */
	ck_assert_int_eq(rec_region_tidy(3), 0);
	ck_assert_int_eq(rec_region_tidy(2), 1);
	ck_assert_int_ne(access(path[0], F_OK), 0);
	ck_assert_int_eq(access(path[1], F_OK), 0);
	ck_assert_int_eq(access(path[2], F_OK), 0);
	ck_assert_int_eq(rec_region_tidy(2), 0);
	ck_assert_int_eq(rec_region_tidy(0), 1);
	ck_assert_int_eq(rec_region_tidy(0), 1);
	ck_assert_int_eq(rec_region_tidy(0), 0);
	ck_assert_int_eq(access(region.header->path, F_OK), 0);
}
END_TEST

START_TEST(a_full_shm_gives_anonymous_memory)
{
	if (!small_shm("48k"))
		return;
	create_region();
	ck_assert_uint_eq(region.header->anonymous, 1);
	ck_assert_str_eq(region.header->path, "");
	ck_assert_int_eq(rec_region_reserve(&region, 0, region.layout.total), 0);
	memset(region.base + region.layout.chunks, 1, MEMORY);
	ck_assert_int_eq(access("/dev/shm/.", W_OK), 0);
	ck_assert_int_eq(system("test -z \"$(ls /dev/shm)\""), 0);
}
END_TEST

START_TEST(a_missing_shm_gives_anonymous_memory)
{
	if (!small_shm("48k"))
		return;
	ck_assert_int_eq(mount(NULL, "/dev/shm", NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
	create_region();
	ck_assert_uint_eq(region.header->anonymous, 1);
}
END_TEST

START_TEST(growth_on_a_small_shm_ends_with_an_error_not_a_signal)
{
	const struct rec_layout *l = &region.layout;
	uint64_t at;

	if (!small_shm("1m"))
		return;
	create_region();
	ck_assert_uint_eq(region.header->anonymous, 0);
	for (at = l->chunks; at < l->total; at += 65536) {
		if (rec_region_reserve(&region, at, at + 65536) != 0)
			break;
		memset(region.base + at, 1, 65536);
	}
	ck_assert_uint_gt(at, l->chunks + 65536);
	ck_assert_uint_lt(at, l->total);
	ck_assert_int_eq(rec_region_reserve(&region, at, at + 65536), HOLTER_E_NOSPACE);
	ck_assert_int_eq(rec_region_ensure(&region, l->threads, 1 << 20,
					   &region.header->threads_ready, 1 << 19),
			 HOLTER_E_NOSPACE);
	ck_assert_uint_eq(region.header->threads_ready, 0);
}
END_TEST

/* As kernels before 5.14 answer MADV_POPULATE_WRITE. */
static void forbid_populate(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 23, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_LEN(code), code };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

START_TEST(kernels_without_populate_reserve_by_file)
{
	const struct rec_layout *l = &region.layout;
	struct stat status;
	uint64_t at;

	if (!small_shm("1m"))
		return;
	forbid_populate();
	create_region();
	ck_assert_uint_eq(region.header->anonymous, 0);
	ck_assert_int_eq(stat(region.header->path, &status), 0);
	ck_assert_int_ge(status.st_blocks * 512, 64 << 10);
	for (at = l->chunks; at < l->total; at += 65536) {
		if (rec_region_reserve(&region, at, at + 65536) != 0)
			break;
		memset(region.base + at, 1, 65536);
	}
	ck_assert_uint_gt(at, l->chunks);
	ck_assert_uint_lt(at, l->total);
}
END_TEST

START_TEST(every_loss_has_a_text)
{
	for (unsigned i = 0; i < REC_LOSS_COUNT; i++)
		ck_assert_uint_gt(strlen(rec_loss_text[i]), 3);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("region");
	TCase *tests = tcase_create("region");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, NULL, remove_region);
	tcase_add_test(tests, layout_is_ordered_and_bounded);
	tcase_add_test(tests, layout_refuses_sizes_out_of_range);
	tcase_add_test(tests, created_file_is_private_and_leaves_no_descriptor);
	tcase_add_test(tests, creation_with_closed_streams_leaves_them_closed);
	tcase_add_test(tests, a_second_image_of_a_process_gets_a_file_of_its_own);
	tcase_add_test(tests, a_planted_link_is_not_followed);
	tcase_add_test(tests, open_maps_what_create_made);
	tcase_add_test(tests, open_refuses_what_is_no_region);
	tcase_add_test(tests, open_refuses_any_damage_of_the_first_words);
	tcase_add_test(tests, open_refuses_links_and_files_of_others);
	tcase_add_test(tests, start_time_is_that_of_proc_stat);
	tcase_add_test(tests, find_knows_processes_and_their_parents);
	tcase_add_test(tests, find_passes_over_files_of_other_users);
	tcase_add_test(tests, find_survives_decoys);
	tcase_add_test(tests, ensure_reserves_in_steps_up_to_the_limit);
	tcase_add_test(tests, of_dead_regions_the_oldest_goes);
	tcase_add_test(tests, a_full_shm_gives_anonymous_memory);
	tcase_add_test(tests, a_missing_shm_gives_anonymous_memory);
	tcase_add_test(tests, growth_on_a_small_shm_ends_with_an_error_not_a_signal);
	tcase_add_test(tests, kernels_without_populate_reserve_by_file);
	tcase_add_test(tests, every_loss_has_a_text);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
