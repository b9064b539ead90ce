/*
 * The shim's table of descriptors: kinds, names, forgetting, settings generations, and the
 * addresses of sockets; on the sources themselves, with a region but without hooks.
 */
#include <check.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* The files under test: the shim is no library that a test could link. */
#include "preload/fd_address.c"
#include "preload/fd_table.c"
#include "preload/scratch.c"

static struct rec_thread *thread;

static void setup(void)
{
	struct rec_region region;

	ck_assert_int_eq(rec_region_create(&region, REC_MEMORY_MIN, (uint32_t)getpid(), 1), 0);
	region.header->children = 1;
	unlink(region.header->path);
	ck_assert_int_eq(rec_process_attach(&region), 0);
	thread = rec_thread_attach();
	ck_assert_ptr_ne(thread, &rec_thread_mute);
}

static bool is_known(int fd)
{
	return PRE_FD_KIND(pre_fd_known(fd)) != PRE_FD_UNKNOWN;
}

static const char *text_of(uint32_t id)
{
	static char text[REC_DEPOT_BYTES_MAX + 1];
	int length = rec_depot_read(&rec_family, id, REC_DEPOT_STRING, text, NULL);

	ck_assert_int_ge(length, 0);
	text[length] = 0;
	return text;
}

static struct rec_address address_of(uint32_t id)
{
	union {
		struct rec_address address;
		uint8_t bytes[REC_DEPOT_BYTES_MAX];
	} copy;

	ck_assert_int_eq(rec_depot_read(&rec_family, id, REC_DEPOT_ADDRESS, copy.bytes, NULL),
			 (int)sizeof(struct rec_address));
	return copy.address;
}

START_TEST(learns_kinds)
{
	int file = open("/dev/null", O_RDWR), ends[2], pair[2];

	ck_assert(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	ck_assert_int_eq(PRE_FD_KIND(pre_fd_known(file)), PRE_FD_UNKNOWN);
	ck_assert_int_eq(PRE_FD_KIND(pre_fd_entry(file)), PRE_FD_FILE);
	ck_assert_int_eq(PRE_FD_KIND(pre_fd_entry(ends[0])), PRE_FD_FILE);
	ck_assert_int_eq(PRE_FD_KIND(pre_fd_entry(pair[0])), PRE_FD_SOCKET);
	ck_assert_uint_eq(pre_fd_entry(pair[0]), pre_fd_known(pair[0]));
	ck_assert_uint_eq(pre_fd_entry(1000), 0);
	ck_assert_uint_eq(pre_fd_entry(-1), 0);
	ck_assert_uint_eq(pre_fd_entry(INT32_MIN), 0);
}
END_TEST

START_TEST(names_paths)
{
	int file = open("/dev/null", O_RDWR), copy;
	uint32_t id = pre_fd_path(thread, file, pre_fd_entry(file));

	ck_assert_str_eq(text_of(id), "/dev/null");
	ck_assert_uint_eq(PRE_FD_ID(pre_fd_known(file)), id);
	copy = dup(file);
	pre_fd_copy(file, copy);
	ck_assert_uint_eq(PRE_FD_ID(pre_fd_known(copy)), id);
	pre_fd_forget(file);
	ck_assert(!is_known(file));
	ck_assert_uint_eq(PRE_FD_ID(pre_fd_known(copy)), id);
	pre_fd_copy(file, copy); /* of something unknown: unknown too */
	ck_assert(!is_known(copy));
}
END_TEST

/* A closed descriptor has no name; that is learnt once. */
START_TEST(nameless_is_remembered)
{
	int file = open("/dev/null", O_RDWR);
	uint64_t entry = pre_fd_entry(file);

	close(file);
	ck_assert_uint_eq(pre_fd_path(thread, file, entry), 0);
	ck_assert(pre_fd_known(file) & PRE_FD_NAMELESS);
	ck_assert_int_eq(open("/dev/null", O_RDWR), file);
	ck_assert_uint_eq(pre_fd_path(thread, file, pre_fd_known(file)), 0);
	pre_fd_forget(file);
	ck_assert_uint_ne(pre_fd_path(thread, file, pre_fd_entry(file)), 0);
}
END_TEST

/* Who learnt about a descriptor that was closed meanwhile must not put it down for the new one. */
START_TEST(late_learner_is_refused)
{
	int file = open("/dev/null", O_RDWR);
	uint64_t before = pre_fd_word(file), seen = pre_fd_entry(file);

	pre_fd_forget(file);
	pre_fd_improve(file, seen, PRE_FD_ENTRY(PRE_FD_FILE, 0, 4711));
	ck_assert(!is_known(file));
	pre_fd_improve(file, before, PRE_FD_ENTRY(PRE_FD_FILE, 0, 4711));
	ck_assert(!is_known(file));
	pre_fd_set(file, PRE_FD_ENTRY(PRE_FD_SOCKET, PRE_FD_TCP, 12));
	seen = pre_fd_known(file);
	pre_fd_set(file, PRE_FD_ENTRY(PRE_FD_FILE, 0, 13));
	pre_fd_improve(file, seen, PRE_FD_ENTRY(PRE_FD_SOCKET, PRE_FD_TCP, 14));
	ck_assert_uint_eq(PRE_FD_ID(pre_fd_known(file)), 13);
}
END_TEST

/* While the settings were others, nobody kept the table. */
START_TEST(other_settings_forget)
{
	int file = open("/dev/null", O_RDWR);

	ck_assert_uint_ne(pre_fd_entry(file), 0);
	rec_family.settings->generation++;
	ck_assert(!is_known(file));
	ck_assert_uint_ne(pre_fd_entry(file), 0);
	ck_assert(is_known(file));
}
END_TEST

START_TEST(forgets_ranges)
{
	for (int fd = 0; fd < (int)PRE_FD_MAX; fd++)
		pre_fd_set(fd, PRE_FD_ENTRY(PRE_FD_FILE, 0, 7));
	pre_fd_forget_range(10, 20);
	pre_fd_forget_range(1000, 40000);
	pre_fd_forget_range(65530, UINT32_MAX);
	pre_fd_forget_range(70000, UINT32_MAX);
	pre_fd_forget_range(50, 49);
	for (int fd = 0; fd < (int)PRE_FD_MAX; fd++) {
		int is_gone = (fd >= 10 && fd <= 20) || (fd >= 1000 && fd <= 40000) || fd >= 65530;

		ck_assert_msg(is_known(fd) != is_gone, "descriptor %d", fd);
	}
	pre_fd_forget_range(0, UINT32_MAX);
	for (int fd = 0; fd < (int)PRE_FD_MAX; fd++)
		ck_assert(!is_known(fd));
}
END_TEST

START_TEST(vfork_child_notes_nothing)
{
	int file = open("/dev/null", O_RDWR);

	pre_fd_set(file, PRE_FD_ENTRY(PRE_FD_FILE, 0, 7));
	rec_thread_current = &rec_thread_mute;
	pre_fd_forget(file);
	pre_fd_forget_range(0, UINT32_MAX);
	pre_fd_set(file, PRE_FD_ENTRY(PRE_FD_SOCKET, 0, 8));
	ck_assert_uint_eq(pre_fd_entry(1), 0);
	rec_thread_current = thread;
	ck_assert_uint_eq(PRE_FD_ID(pre_fd_known(file)), 7);
}
END_TEST

START_TEST(addresses_of_tcp)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT };
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(any);
	int listener = socket(AF_INET6, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
	static const uint8_t home[4] = { 127, 0, 0, 1 };
	struct rec_address address;
	uint32_t id;
	int server;

	if (listener < 0 || bind(listener, (struct sockaddr *)&any, sizeof(any)) != 0)
		return; /* no IPv6 here */
	ck_assert(listen(listener, 1) == 0);
	ck_assert(getsockname(listener, (struct sockaddr *)&any, &length) == 0);
	to.sin_port = any.sin6_port;
	ck_assert(connect(client, (struct sockaddr *)&to, sizeof(to)) == 0);
	server = accept(listener, NULL, NULL);
	/* Through an IPv6 socket, and still an IPv4 peer. */
	id = pre_fd_meet(thread, server, NULL, 0, true);
	address = address_of(id);
	ck_assert_uint_eq(address.family, AF_INET);
	ck_assert_mem_eq(address.peer, home, 4);
	ck_assert_mem_eq(address.local, home, 4);
	ck_assert_uint_eq(address.local_port, ntohs(to.sin_port));
	ck_assert_uint_eq(address.type, SOCK_STREAM);
	ck_assert_uint_eq(pre_fd_known(server) & (PRE_FD_TCP | PRE_FD_PEER),
			  PRE_FD_TCP | PRE_FD_PEER);
	ck_assert_uint_eq(pre_fd_address(thread, server, pre_fd_known(server)), id);
	id = pre_fd_meet(thread, client, (struct sockaddr *)&to, sizeof(to), false);
	ck_assert_uint_eq(address_of(id).peer_port, ntohs(to.sin_port));
	ck_assert(!is_known(client));
	/* Not connected: an address without peer. */
	ck_assert_uint_eq(
		address_of(pre_fd_address(thread, listener, pre_fd_entry(listener))).peer_port, 0);
	ck_assert_uint_eq(pre_fd_known(listener) & PRE_FD_PEER, 0);
}
END_TEST

START_TEST(addresses_of_local_sockets)
{
	struct {
		struct sockaddr_un name;
		socklen_t length;
		const char *wanted;
	} cases[] = {
		{ { AF_UNIX, "/run/some.sock" }, sizeof(struct sockaddr_un), "/run/some.sock" },
		{ { AF_UNIX, "/run/some.sock" }, 2 + 8, "/run/som" },
		{ { AF_UNIX, "\0abstract" }, 2 + 9, "@abstract" },
		{ { AF_UNIX, "" }, 2, "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rec_address address = { 0 };

		put_side(&address, (struct sockaddr *)&cases[i].name, cases[i].length, true);
		ck_assert_str_eq(address.path, cases[i].wanted);
		ck_assert_uint_eq(address.family, AF_UNIX);
	}
	struct rec_address address = { 0 };
	struct sockaddr_un longest = { .sun_family = AF_UNIX };

	memset(longest.sun_path, 'x', sizeof(longest.sun_path));
	put_side(&address, (struct sockaddr *)&longest, sizeof(longest), true);
	ck_assert_uint_eq(strlen(address.path), sizeof(address.path) - 1);
	/* Too short for what its family says: nothing is read. */
	struct sockaddr_in cut = { .sin_family = AF_INET, .sin_port = 0x1234 };

	memset(&address, 0, sizeof(address));
	put_side(&address, (struct sockaddr *)&cut, 4, true);
	ck_assert_uint_eq(address.peer_port, 0);
	put_side(&address, (struct sockaddr *)&cut, 1, true);
}
END_TEST

START_TEST(scratch_runs_out_and_comes_back)
{
	struct pre_scratch *taken[BUFFERS];

	for (uint32_t i = 0; i < BUFFERS; i++) {
		taken[i] = pre_scratch_take();
		ck_assert_ptr_nonnull(taken[i]);
		for (uint32_t k = 0; k < i; k++)
			ck_assert_ptr_ne(taken[i], taken[k]);
	}
	ck_assert_ptr_null(pre_scratch_take());
	/* Without a buffer nothing is learnt, and nothing wrong. */
	ck_assert_uint_eq(pre_fd_entry(0), 0);
	pre_scratch_give(taken[3]);
	ck_assert_ptr_eq(pre_scratch_take(), taken[3]);
	pre_scratch_give(NULL);
}
END_TEST

/* What the threads of a parent had taken is free in its child. */
START_TEST(scratch_is_free_in_a_child)
{
	pid_t child;
	int status;

	for (uint32_t i = 0; i < BUFFERS; i++)
		ck_assert_ptr_nonnull(pre_scratch_take());
	child = fork();
	if (child == 0) {
		if (rec_process_forked() == REC_NONE)
			_exit(1);
		_exit(pre_scratch_take() ? 0 : 2);
	}
	ck_assert(waitpid(child, &status, 0) == child && status == 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fd_table");
	TCase *cases = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(cases, setup, NULL);
	tcase_add_test(cases, learns_kinds);
	tcase_add_test(cases, names_paths);
	tcase_add_test(cases, nameless_is_remembered);
	tcase_add_test(cases, late_learner_is_refused);
	tcase_add_test(cases, other_settings_forget);
	tcase_add_test(cases, forgets_ranges);
	tcase_add_test(cases, vfork_child_notes_nothing);
	tcase_add_test(cases, addresses_of_tcp);
	tcase_add_test(cases, addresses_of_local_sockets);
	tcase_add_test(cases, scratch_runs_out_and_comes_back);
	tcase_add_test(cases, scratch_is_free_in_a_child);
	suite_add_tcase(suite, cases);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
