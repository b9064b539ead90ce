/*
 * What is put into a region comes out of the dump: values, times, threads, stacks, losses, judged
 * by the JDK's reader (skipped without java) and by bytes.
 */
#include <check.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "recorder/dump/dump.h"
#include "tests/unit/region_fill.h"

#define PID 4000u
#define CHILD 4100u

static struct rec_region region;
static struct rec_dump_result result;
static char folder[64], path[128], plain[200];
static uint32_t root, child;

static void setup(void)
{
	strcpy(folder, "/tmp/holter-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/a.jfr", folder);
	fill_create(&region, 2 << 20);
	region.header->root_pid = PID;
	root = fill_process(&region, PID, 1, 0, "server");
	child = fill_process(&region, CHILD, PID, rec_process_at(&region, root)->space, "server");
}

static void teardown(void)
{
	char command[128];

	fill_destroy(&region);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}

static uint64_t at(uint64_t us)
{
	return fill_base(&region) + us * 1000;
}

static void dump_with(struct rec_dump_options options)
{
	int code;

	options.path = options.path ? options.path : path;
	options.force = 1;
	code = rec_dump_write(&region, &options, &result);
	ck_assert_msg(code == 0, "%d %s", code, result.error);
}

static void dump(void)
{
	dump_with((struct rec_dump_options){ .reason = "test" });
}

/* Output of a command; its exit status must be 0. */
static char *output_of(const char *command)
{
	static char buffer[4 << 20];
	FILE *pipe = popen(command, "r");
	size_t used;

	ck_assert_ptr_nonnull(pipe);
	used = fread(buffer, 1, sizeof(buffer) - 1, pipe);
	buffer[used] = 0;
	ck_assert_msg(pclose(pipe) == 0, "%s: %s", command, buffer);
	return buffer;
}

static bool has(const char *program)
{
	char command[64];

	snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", program);
	return system(command) == 0;
}

/* The events of the named types as DumpEvents prints them. */
static char *events(const char *names)
{
	char command[400];

	snprintf(command, sizeof(command),
		 "java -Xshare:auto tests/e2e/java/DumpEvents.java %s %s 2>&1", path, names);
	return output_of(command);
}

static void expect(const char *names, const char *expected)
{
	if (!has("java")) {
		printf("SKIP %s: no java\n", names);
		return;
	}
	ck_assert_str_eq(events(names), expected);
}

static char *read_file(const char *name, size_t *bytes)
{
	static char buffer[8 << 20];
	FILE *file = fopen(name, "r");

	ck_assert_ptr_nonnull(file);
	*bytes = fread(buffer, 1, sizeof(buffer), file);
	fclose(file);
	return buffer;
}

START_TEST(every_kind_of_field)
{
	struct fill_thread main, worker;
	uint64_t code[] = { 0x1000001010, 0x1000002020, 0x77 };
	uint32_t stack;
	struct ev_MonitorEnter enter = { .monitorClass = EV_NAME_pthread_mutex,
					 .previousOwner = 4000 };
	struct ev_SocketRead read = { .duration = 1500000 };
	struct ev_FileRead file = { .bytesRead = 77 };
	struct ev_Malloc all = { .size = 32, .address = 0x00017f0000001000 };
	struct ev_CPULoad load = { .machineTotal = 0x3e800000 /* 0.25 */ };
	struct ev_NetworkUtilization net = { .readRate = 1000, .writeRate = 2000 };
	struct ev_ThreadPark park = { .parkedClass = EV_NAME_sem, .timeout = 5, .until = 1 };

	fill_module(&region, root, 0x1000000000, 0x1000100000, "/opt/bin/server", 0, 0);
	fill_thread(&main, &region, root, 4000, "main", at(0));
	fill_thread(&worker, &region, root, 4001, "worker", at(0));
	stack = fill_stack(&region, code, 3, 0);
	enter.stack = stack;
	enter.duration = 2000;
	enter.address = 0x7ffc00000010;
	fill_record(&worker, EV_MonitorEnter, 0, at(10), &enter, sizeof(enter));
	read.conn = fill_ipv4(&region, 0x7f000001, 6379);
	fill_record(&main, EV_SocketRead, 1, at(2000000), &read, sizeof(read));
	file.path = fill_string(&region, "/tmp/h\xc3\xa9\xff");
	file.stack = fill_stack(&region, code, 1, REC_DEPOT_TRUNCATED);
	fill_record(&main, EV_FileRead, 0, at(2000010), &file, sizeof(file));
	fill_record(&main, EV_Malloc, 0, at(2000020), &all, sizeof(all) - 8);
	all.weight = 512;
	fill_record(&main, EV_Malloc, 0, at(2000030), &all, sizeof(all));
	fill_record(&main, EV_CPULoad, 0, at(2000040), &load, sizeof(load));
	net.networkInterface = fill_string(&region, "eth0");
	fill_record(&main, EV_NetworkUtilization, 0, at(2000050), &net, sizeof(net));
	fill_record(&main, EV_ThreadPark, 0, at(2000060), &park, sizeof(park));
	dump();
	expect("jdk.JavaMonitorEnter jdk.SocketRead jdk.FileRead profiler.Malloc jdk.CPULoad "
	       "jdk.NetworkUtilization jdk.ThreadPark",
	       "jdk.JavaMonitorEnter 1700000000123464789 duration=2000 "
	       "eventThread=worker#4001@server[4000] "
	       "stackTrace=server.0x100f()V:-1:Native<server.0x201f()V:-1:Native<[unknown].0x76()V:"
	       "-1:Native "
	       "monitorClass=pthread_mutex_t previousOwner=main#4000@server[4000] "
	       "address=140720308486160\n"
	       "jdk.SocketRead 1700000000587456789 duration=1536000000 "
	       "eventThread=main#4000@server[4000] "
	       "stackTrace=null host=127.0.0.1 address=127.0.0.1 port=6379 timeout=0 bytesRead=0 "
	       "endOfStream=true\n"
	       "jdk.FileRead 1700000002123466789 duration=0 eventThread=main#4000@server[4000] "
	       "stackTrace=server.0x100f()V:-1:Native<... path=/tmp/h\xc3\xa9\xef\xbf\xbd "
	       "bytesRead=77 "
	       "endOfFile=false\n"
	       "profiler.Malloc 1700000002123476789 eventThread=main#4000@server[4000] "
	       "stackTrace=null "
	       "size=4294967328 address=139637976731648 weight=4294967328\n"
	       "profiler.Malloc 1700000002123486789 eventThread=main#4000@server[4000] "
	       "stackTrace=null "
	       "size=4294967328 address=139637976731648 weight=512\n"
	       "jdk.CPULoad 1700000002123496789 jvmUser=0.0 jvmSystem=0.0 machineTotal=0.25\n"
	       "jdk.NetworkUtilization 1700000002123506789 networkInterface=eth0"
	       " readRate=1000 writeRate=2000\n"
	       "jdk.ThreadPark 1700000002123516789 duration=0 eventThread=main#4000@server[4000] "
	       "stackTrace=null parkedClass=sem_t timeout=5 until=1 address=0\n");
}
END_TEST

/* The bytes of jfr-format 12, with the ids and the order of fields of profiler.Malloc. */
START_TEST(known_bytes)
{
	static const uint8_t expected[] = {
		0x16, 0x86, 0x08,			  /* 22 bytes, type 1030 */
		0x90, 0xae, 0xd1, 0xd8, 0x04,		  /* tick 1259624208 */
		0x65,					  /* thread 101 */
		0x01,					  /* stack 1 */
		0x80, 0x20,				  /* size 4096 */
		0xef, 0xfd, 0xb6, 0xf5, 0xdd, 0xaa, 0x15, /* address 0x5555deadbeef */
		0x80, 0x80, 0x20,			  /* weight 524288 */
	};
	struct fill_thread main;
	uint64_t code[] = { 0x77 };
	struct ev_Malloc event = { .size = 4096, .address = 0x5555deadbeef, .weight = 524288 };
	size_t bytes;
	char *file;

	fill_thread(&main, &region, root, 101, "main", at(0));
	event.stack = fill_stack(&region, code, 1, 0);
	/* The file's clock starts a second before the region. */
	fill_record(&main, EV_Malloc, 0, fill_base(&region) + 259624208, &event, sizeof(event));
	dump();
	file = read_file(path, &bytes);
	ck_assert_int_eq(memcmp(file, "FLR\0\0\2\0\1", 8), 0);
	ck_assert_uint_eq(sizeof(expected), expected[0]);
	ck_assert_ptr_nonnull(memmem(file, bytes, expected, sizeof(expected)));
	ck_assert_uint_eq(bytes, result.bytes);
}
END_TEST

START_TEST(merged_by_time_over_chunks_and_threads)
{
	struct fill_thread thread[3];
	struct ev_FileForce event = { 0 };
	char *line;
	uint64_t last = 0, count = 0;

	for (uint32_t i = 0; i < 3; i++)
		fill_thread(&thread[i], &region, i == 2 ? child : root, 4200 + i, "t", at(0));
	/* Enough for several chunks each; every 500th jump needs a new time base. */
	for (uint64_t i = 0; i < 3000; i++)
		fill_record(&thread[i * 7 % 3], EV_FileForce, 0, at(i) + i / 500 * 5000000000ull,
			    &event, sizeof(event));
	dump();
	if (!has("java")) {
		printf("SKIP merged: no java\n");
		return;
	}
	/* The reader gives them in the order of the file, within one chunk. */
	line = events("jdk.FileForce");
	for (; *line; line = strchr(line, '\n') + 1, count++) {
		uint64_t time = strtoull(line + strlen("jdk.FileForce "), NULL, 10);

		ck_assert_uint_eq(time, FILL_EPOCH_NS + count * 1000 + count / 500 * 5000000000ull);
		ck_assert_uint_ge(time, last);
		last = time;
	}
	ck_assert_uint_eq(count, 3000);
}
END_TEST

START_TEST(processes_and_reused_threads)
{
	struct fill_thread first, second, forked;
	uint64_t late = 1000000; /* us: longer than a thread number is kept back */
	struct ev_ThreadEnd event = { .thread = 4300 };

	fill_thread(&first, &region, root, 4300, "early", at(0));
	fill_record(&first, EV_ThreadEnd, 0, at(1), &event, sizeof(event));
	rec_append_detach(&first.writer, &first.cold);
	rec_thread_leave(&region, first.cold.owner.thread, at(2));
	fill_thread(&second, &region, root, 4300, "late", at(late));
	fill_record(&second, EV_ThreadEnd, 0, at(late + 1), &event, sizeof(event));
	fill_thread(&forked, &region, child, 4100, "child", at(late));
	event.thread = 99999;
	fill_record(&forked, EV_ThreadEnd, 0, at(late + 2), &event, sizeof(event));
	dump();
	expect("jdk.ThreadEnd",
	       "jdk.ThreadEnd 1700000000123457789 eventThread=early#4300@server[4000] "
	       "thread=early#4300@server[4000]\n"
	       "jdk.ThreadEnd 1700000001123457789 eventThread=late#4300@server[4000] "
	       "thread=late#4300@server[4000]\n"
	       "jdk.ThreadEnd 1700000001123458789 eventThread=child#4100@server[4100] "
	       "thread=[tid=99999]#99999@server[4100]\n");
}
END_TEST

START_TEST(modules_by_process_and_time)
{
	struct fill_thread main, forked, executed;
	uint64_t code[] = { 0x2000000101 };
	struct ev_Malloc event = { .size = 1 };
	uint32_t other = fill_process(&region, 4200, PID, 0, "other");

	/* Two libraries use one address in turn; another program has a third there. */
	fill_module(&region, root, 0x2000000000, 0x2000001000, "/lib/first.so", at(0), at(100));
	fill_module(&region, root, 0x2000000000, 0x2000001000, "/lib/second.so", at(200), 0);
	fill_module(&region, other, 0x2000000000, 0x2000001000, "/lib/third.so", at(0), 0);
	event.stack = fill_stack(&region, code, 1, 0);
	fill_thread(&main, &region, root, 4000, "main", at(0));
	fill_thread(&forked, &region, child, 4100, "child", at(0));
	fill_thread(&executed, &region, other, 4200, "other", at(0));
	fill_record(&main, EV_Malloc, 0, at(50), &event, 16);
	fill_record(&main, EV_Malloc, 0, at(250), &event, 16);
	fill_record(&forked, EV_Malloc, 0, at(260), &event, 16);
	fill_record(&executed, EV_Malloc, 0, at(270), &event, 16);
	dump();
	expect("profiler.Malloc",
	       "profiler.Malloc 1700000000123506789 eventThread=main#4000@server[4000] "
	       "stackTrace=first.so.0x100()V:-1:Native size=1 address=0 weight=1\n"
	       "profiler.Malloc 1700000000123706789 eventThread=main#4000@server[4000] "
	       "stackTrace=second.so.0x100()V:-1:Native size=1 address=0 weight=1\n"
	       "profiler.Malloc 1700000000123716789 eventThread=child#4100@server[4100] "
	       "stackTrace=second.so.0x100()V:-1:Native size=1 address=0 weight=1\n"
	       "profiler.Malloc 1700000000123726789 eventThread=other#4200@other[4200] "
	       "stackTrace=third.so.0x100()V:-1:Native size=1 address=0 weight=1\n");
}
END_TEST

static int symbolize(void *context, const char *module, const char *build_id, uint64_t address,
		     struct rec_symbol *symbols, int max)
{
	(*(int *)context)++;
	ck_assert_int_ge(max, 2);
	ck_assert_str_eq(module, "/lib/code.so");
	ck_assert_str_eq(build_id, "abcdef0000000000000000000000000000000000");
	if (address == 0x3ff)
		return 0;
	ck_assert_uint_eq(address, 0x1ff);
	symbols[0] = (struct rec_symbol){ "Map<int, char>::find", "int, Pair<int, long> const&", 42,
					  1, 1 };
	symbols[1] = (struct rec_symbol){ "main", "", -1, 0, 0 };
	return 2;
}

START_TEST(symbols_and_inlined_frames)
{
	struct fill_thread main;
	uint64_t code[] = { 0x3000000200, 0x3000000400 }, again[] = { 0x3000000400, 0x3000000200 };
	struct ev_Malloc event = { .size = 1 };
	int calls = 0;
	struct rec_symbolizer symbolizer = { .resolve = symbolize, .context = &calls };

	fill_module(&region, root, 0x3000000000, 0x3000001000, "/lib/code.so", 0, 0);
	fill_thread(&main, &region, root, 4000, "main", at(0));
	event.stack = fill_stack(&region, code, 2, 0);
	fill_record(&main, EV_Malloc, 0, at(1), &event, 16);
	event.stack = fill_stack(&region, again, 2, 0);
	fill_record(&main, EV_Malloc, 0, at(2), &event, 16);
	dump_with((struct rec_dump_options){ .symbolizer = &symbolizer });
	ck_assert_int_eq(calls, 2);
	expect("profiler.Malloc",
	       "profiler.Malloc 1700000000123457789 eventThread=main#4000@server[4000] "
	       "stackTrace=code.so.Map<int, char>::find(Lint;LPair<int, long> const&;)V:42:Inlined"
	       "<code.so.main()V:-1:Native<code.so.0x3ff()V:-1:Native size=1 address=0 weight=1\n"
	       "profiler.Malloc 1700000000123458789 eventThread=main#4000@server[4000] "
	       "stackTrace=code.so.0x3ff()V:-1:Native"
	       "<code.so.Map<int, char>::find(Lint;LPair<int, long> const&;)V:42:Inlined"
	       "<code.so.main()V:-1:Native size=1 address=0 weight=1\n");
}
END_TEST

START_TEST(own_event_types)
{
	struct rec_user_type type = {
		.field_count = 4,
		.shape = EV_SHAPE_DT,
		.name = "shop.Order placed",
		.label = "Order",
		.category = "Shop / Orders",
		.field = { { "orderId", "Id", EV_KIND_LONG, 0 },
			   { "item", "Item", EV_KIND_STRING, 0 },
			   { "duration", "Taken name", EV_KIND_DOUBLE, 0 },
			   { "hidden", "", EV_KIND_CONN, 0 } },
	};
	struct {
		uint32_t duration;
		uint64_t order;
		uint32_t item;
		double share;
		uint32_t connection;
		uint32_t padding;
	} __attribute__((packed)) body = { 7, 99, 0, 0.5, 0, 0 };
	struct fill_thread main;
	uint32_t index = rec_user_type_add(&region, &type);

	fill_thread(&main, &region, root, 4000, "main", at(0));
	body.item = fill_string(&region, "book");
	fill_record(&main, EV_USER_BASE + index, 0, at(1), &body, sizeof(body));
	dump();
	expect("shop.Order_placed", "shop.Order_placed 1700000000123457782 duration=7 "
				    "eventThread=main#4000@server[4000] "
				    "orderId=99 item=book duration_2=0.5\n");
}
END_TEST

START_TEST(losses_add_up)
{
	struct fill_thread main, worker;
	struct ev_Malloc event = { .stack = 0x01fffff0, .size = 1 };
	char *line;
	uint64_t lost = 0;

	fill_thread(&main, &region, root, 4000, "main", at(0));
	fill_thread(&worker, &region, root, 4001, "worker", at(0));
	main.cold.loss[REC_LOSS_NO_CHUNK] = 3;
	*main.cold.loss_bytes = 96;
	worker.cold.loss[REC_LOSS_DEPOT_FULL] = 4;
	region.header->loss[REC_LOSS_NESTED] = 5;
	region.header->loss_bytes = 100;
	fill_record(&main, EV_Malloc, 0, at(1), &event, 16); /* its stack is not in the depot */
	dump();
	ck_assert_uint_eq(result.events_lost, 3 + 4 + 5 + 1);
	if (!has("java")) {
		printf("SKIP losses: no java\n");
		return;
	}
	line = events("jdk.DataLoss");
	for (char *events_at = line; (events_at = strstr(events_at, "events=")) != NULL;
	     events_at++)
		lost += strtoull(events_at + 7, NULL, 10);
	ck_assert_uint_eq(lost, 13);
	ck_assert_ptr_nonnull(strstr(line, "amount=96 total=196"));
	ck_assert_ptr_nonnull(strstr(line, "thread=worker#4001@server[4000] process=4000"));
}
END_TEST

START_TEST(only_a_part_of_the_time)
{
	struct fill_thread main;
	struct ev_ThreadEnd event = { .thread = 4000 };
	uint64_t all;

	fill_thread(&main, &region, root, 4000, "main", at(0));
	dump();
	all = result.events;
	for (uint64_t second = 0; second < 100; second += 10)
		fill_record(&main, EV_ThreadEnd, 0, at(second * 1000000), &event, sizeof(event));
	dump();
	ck_assert_uint_eq(result.events, all + 10);
	dump_with((struct rec_dump_options){ .begin_epoch_ns = FILL_EPOCH_NS + 20000000000,
					     .end_epoch_ns = FILL_EPOCH_NS + 40000000000 });
	ck_assert_uint_eq(result.events, all + 3);
	/* The region is 100 s old, the last events at 80 and 90 s. */
	dump_with((struct rec_dump_options){ .last_ns = 25000000000 });
	ck_assert_uint_eq(result.events, all + 2);
}
END_TEST

START_TEST(dead_process_tells_itself)
{
	static const char arguments[] = "server\0--port\0"
					"80\0--password=hunter2\0redis://u:pw@h/0";
	static const char environment[] =
		"HOME=/root\0API_KEY=abc\0URL=http://me:secret@host/x\0EMPTY=";
	struct rec_process *process = rec_process_at(&region, root);
	char *lines;

	process->executable = rec_names_add(&region, "/opt/bin/server", 15);
	process->arguments = rec_names_add(&region, arguments, sizeof(arguments) - 1);
	process->environment = rec_names_add(&region, environment, sizeof(environment) - 1);
	process->end_ticks = at(5);
	process->coverage = REC_COVERAGE_SIGNAL_TAKEN;
	process->hooks_missing = 2;
	strcpy(region.text, "settings=profile");
	rec_live_add(&region, child, 0x1230, 100, 1000, 0, CHILD, at(1000000));
	dump_with((struct rec_dump_options){ .reason = "Killed" });
	if (!has("java")) {
		printf("SKIP dead: no java\n");
		return;
	}
	lines = events("");
	ck_assert_ptr_nonnull(strstr(lines, "jvmName=/opt/bin/server jvmVersion=Holter"));
	ck_assert_ptr_nonnull(
		strstr(lines, "jvmArguments=settings=profile jvmFlags=null javaArguments=server "
			      "--port 80 --password=*** redis://u:***@h/0 "
			      "jvmStartTime=1700000000123 pid=4000"));
	ck_assert_ptr_nonnull(strstr(lines, "key=HOME value=/root"));
	ck_assert_ptr_nonnull(strstr(lines, "key=API_KEY value=***"));
	ck_assert_ptr_nonnull(strstr(lines, "key=URL value=http://me:******@host/x"));
	ck_assert_ptr_nonnull(strstr(lines, "key=EMPTY value="));
	ck_assert_ptr_null(strstr(lines, "hunter2"));
	ck_assert_ptr_nonnull(strstr(lines, "reason=Killed recordingId=1"));
	ck_assert_ptr_nonnull(
		strstr(lines, "subject=hooks state=2 without a real function process=4000"));
	ck_assert_ptr_nonnull(strstr(lines, "subject=trigger signal state=taken by the program"));
	ck_assert_ptr_nonnull(strstr(lines,
				     "eventThread=[tid=4100]#4100@server[4100] stackTrace=null "
				     "address=4656 size=100 weight=1000 age="));
	ck_assert_ptr_nonnull(strstr(lines, "jdk.SystemProcess"));
}
END_TEST

/* Every row of the catalog, so that the metadata of each is decoded; and two dumps in one file. */
START_TEST(jdk_tools_accept_it)
{
	struct fill_thread main;
	static const uint8_t zeros[256];
	uint64_t code[] = { 0x77 };
	char command[600];
	char *text;

	if (!has("jfr")) {
		printf("SKIP jdk tools: no jfr\n");
		return;
	}
	fill_thread(&main, &region, root, 4000, "main", at(0));
	for (uint32_t i = 0; i < ev_type_count; i++) {
		uint32_t body[64] = { 0 };

		if (ev_types[i].shape & EV_HAS_STACK)
			body[0] = fill_stack(&region, code, 1, 0);
		fill_record(&main, ev_types[i].number, 0, at(i), body, ev_types[i].bytes);
	}
	dump();
	snprintf(command, sizeof(command), "jfr summary %s", path);
	text = output_of(command);
	for (uint32_t i = 0; i < ev_type_count; i++)
		ck_assert_msg(strstr(text, ev_types[i].name), "%s", ev_types[i].name);
	for (const char *verb = "print\0print --json\0print --xml\0metadata\0"; *verb;
	     verb += strlen(verb) + 1) {
		snprintf(command, sizeof(command), "jfr %s %s", verb, path);
		text = output_of(command);
		for (uint32_t i = 0; i < ev_type_count; i++)
			ck_assert_msg(strstr(text, strrchr(ev_types[i].name, '.') + 1), "%s",
				      ev_types[i].name);
	}
	/* Another meaning for the same keys in the second chunk must not mix up (T1). */
	fill_thread(&main, &region, child, CHILD, "second", at(0));
	fill_record(&main, EV_ThreadEnd, 0, at(500), zeros, 8);
	snprintf(plain, sizeof(plain), "%s/b.jfr", folder);
	dump_with((struct rec_dump_options){
		.path = plain, .begin_epoch_ns = FILL_EPOCH_NS + 400000, .reason = "second dump" });
	snprintf(command, sizeof(command),
		 "jfr assemble %s %s/all.jfr && jfr print --events DumpReason,ThreadEnd %s/all.jfr",
		 folder, folder, folder);
	text = output_of(command);
	ck_assert_ptr_nonnull(strstr(text, "\"second\" (osThreadId = 4100)"));
	ck_assert_ptr_nonnull(strstr(text, "\"main\" (osThreadId = 4000)"));
	ck_assert_ptr_nonnull(strstr(text, "reason = \"test\""));
	ck_assert_ptr_nonnull(strstr(text, "reason = \"second dump\""));
}
END_TEST

START_TEST(holes_and_damage_are_skipped)
{
	struct fill_thread main;
	struct ev_ThreadEnd event = { .thread = 4000 };
	uint64_t events;
	uint64_t *record;

	fill_thread(&main, &region, root, 4000, "main", at(0));
	dump();
	events = result.events;
	for (int i = 0; i < 10; i++)
		fill_record(&main, EV_ThreadEnd, 0, at(1), &event, sizeof(event));
	record = (uint64_t *)(uintptr_t)(main.writer.pos - 160);
	record[0] = EV_WORD0(EV_TYPE_HOLE, 2, 0, 0);
	record[2] = EV_WORD0(99, 2, 0, 0);		/* no such type */
	record[4] = EV_WORD0(EV_MonitorEnter, 2, 0, 0); /* too short */
	dump();
	ck_assert_uint_eq(result.events, events + 7 + 1);
	ck_assert_uint_eq(result.events_lost, 2);
	record[6] = EV_WORD0(EV_ThreadEnd, 0, 0, 0); /* no length: the rest of the chunk is lost */
	dump();
	ck_assert_uint_eq(result.events, events + 0 + 1);
	ck_assert_uint_eq(result.chunks_damaged, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("dump");
	TCase *one = tcase_create("dump");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(one, setup, teardown);
	tcase_set_timeout(one, 120);
	tcase_add_test(one, every_kind_of_field);
	tcase_add_test(one, known_bytes);
	tcase_add_test(one, merged_by_time_over_chunks_and_threads);
	tcase_add_test(one, processes_and_reused_threads);
	tcase_add_test(one, modules_by_process_and_time);
	tcase_add_test(one, symbols_and_inlined_frames);
	tcase_add_test(one, own_event_types);
	tcase_add_test(one, losses_add_up);
	tcase_add_test(one, only_a_part_of_the_time);
	tcase_add_test(one, dead_process_tells_itself);
	tcase_add_test(one, jdk_tools_accept_it);
	tcase_add_test(one, holes_and_damage_are_skipped);
	suite_add_tcase(suite, one);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
