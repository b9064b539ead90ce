/*
 * Configuration text: every key, every complaint with its position, files, and the way into a
 * region and back.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "recorder/engine/config.h"

static struct rec_config config;
static struct rec_config_report report;

static int parse(const char *text, unsigned flags)
{
	rec_config_defaults(&config);
	return rec_config_parse(&config, text, flags, &report);
}

static void setup(void)
{
	rec_config_defaults(&config);
}

START_TEST(defaults_are_those_of_the_table)
{
	ck_assert_uint_eq(config.memory_bytes, 16 << 20);
	ck_assert_uint_eq(config.preset, REC_PRESET_DEFAULT);
	ck_assert_int_eq(config.signal, 12);
	ck_assert_uint_eq(config.dump_on_exit, 0);
	ck_assert_uint_eq(config.children, 1);
	ck_assert_uint_eq(config.leader, REC_LEADER_PROCESS);
	ck_assert_uint_eq(config.stack_depth, 64);
	ck_assert_uint_eq(config.memory_mode, REC_MEMORY_SAMPLE);
	ck_assert_uint_eq(config.alloc_interval, 512 << 10);
	ck_assert_uint_eq(config.lock_mode, REC_LOCK_TRY);
	ck_assert_uint_eq(config.compress, 1);
	ck_assert_uint_eq(config.interval_ms, 5000);
	ck_assert_str_eq(config.dir, "");
	ck_assert_str_eq(config.log, "");
	ck_assert_uint_eq(config.recording, 1);
}
END_TEST

START_TEST(every_key_is_read)
{
	ck_assert_int_eq(parse("dir=/var/tmp,memory=64M,settings=profile,signal=RTMIN+3,"
			       "dumponexit=true,children=no,leader=thread,stackdepth=32,alloc=64k,"
			       "locks=timed,compress=no,interval=1s,log=/x.log,"
			       "SocketRead#threshold=1ms,jdk.FileRead#enabled=false,"
			       "Malloc#stackTrace=no,CPULoad#period=500ms,FileWrite#sample=10",
			       REC_CONFIG_STRICT),
			 0);
	ck_assert_str_eq(report.text, "");
	ck_assert_str_eq(config.dir, "/var/tmp");
	ck_assert_uint_eq(config.memory_bytes, 64 << 20);
	ck_assert_uint_eq(config.preset, REC_PRESET_PROFILE);
	ck_assert_int_eq(config.signal, 37);
	ck_assert_uint_eq(config.dump_on_exit, 1);
	ck_assert_uint_eq(config.children, 0);
	ck_assert_uint_eq(config.leader, REC_LEADER_THREAD);
	ck_assert_uint_eq(config.stack_depth, 32);
	ck_assert_uint_eq(config.alloc_interval, 65536);
	ck_assert_uint_eq(config.lock_mode, REC_LOCK_TIMED);
	ck_assert_uint_eq(config.compress, 0);
	ck_assert_uint_eq(config.interval_ms, 1000);
	ck_assert_str_eq(config.log, "/x.log");
	ck_assert_uint_eq(config.event[EV_SocketRead].threshold_ns, 1000000);
	ck_assert_uint_eq(config.event[EV_FileRead].set, REC_CONFIG_SET_ENABLED);
	ck_assert_uint_eq(config.event[EV_FileRead].is_enabled, 0);
	ck_assert_uint_eq(config.event[EV_Malloc].set, REC_CONFIG_SET_STACK);
	ck_assert_uint_eq(config.event[EV_CPULoad].period_ms, 500);
	ck_assert_uint_eq(config.event[EV_FileWrite].sample, 10);
	ck_assert_uint_eq(config.given & (1u << REC_CONFIG_memory), 1u << REC_CONFIG_memory);
	ck_assert_uint_eq(config.given & (1u << REC_CONFIG_config), 0);
}
END_TEST

static const struct {
	const char *text;
	int number;
} signals[] = {
	{ "signal=USR2", 12 },	  { "signal=SIGUSR2", 12 }, { "signal=12", 12 },
	{ "signal=sigusr1", 10 }, { "signal=RTMIN+3", 37 }, { "signal=SIGRTMIN", 34 },
	{ "signal=RTMAX-1", 63 }, { "signal=none", 0 },
};

START_TEST(signals_have_many_names)
{
	ck_assert_int_eq(parse(signals[_i].text, REC_CONFIG_STRICT), 0);
	ck_assert_int_eq(config.signal, signals[_i].number);
}
END_TEST

/* Each way to be wrong: code, position, and words of the message. */
static const struct {
	const char *text;
	int code;
	unsigned position;
	const char *message;
} wrong[] = {
	{ "memroy=16M", HOLTER_E_UNKNOWN_KEY, 0,
	  "unknown key \"memroy\": did you mean \"memory\"?" },
	{ "dir=/tmp,setings=default", HOLTER_E_UNKNOWN_KEY, 9,
	  "unknown key \"setings\": did you mean \"settings\"?" },
	{ "stack=1", HOLTER_E_UNKNOWN_KEY, 0, "did you mean \"stackdepth\"?" },
	{ "xyzzy=1", HOLTER_E_UNKNOWN_KEY, 0, "unknown key \"xyzzy\": there are dir memory" },
	{ "everything", HOLTER_E_SYNTAX, 0, "\"everything\" is not KEY=VALUE" },
	{ "dir=/tmp,=5", HOLTER_E_SYNTAX, 9, "\"=5\" is not KEY=VALUE" },
	{ "dir=", HOLTER_E_SYNTAX, 4, "dir: \"\" is no such value: give a folder" },
	{ "memory=16Q", HOLTER_E_UNIT, 7,
	  "memory: \"16Q\" has a wrong unit or none: give 1M to 4G" },
	{ "memory=1k", HOLTER_E_LIMIT, 7, "out of range" },
	{ "memory=5G", HOLTER_E_LIMIT, 7, "out of range" },
	{ "memory=99999999999999999999G", HOLTER_E_LIMIT, 7, "out of range" },
	{ "memory=much", HOLTER_E_SYNTAX, 7, "no such value" },
	{ "signal=USR3", HOLTER_E_SYNTAX, 7, "no such value" },
	{ "signal=KILL", HOLTER_E_LIMIT, 7, "out of range" },
	{ "signal=RTMIN+31", HOLTER_E_SYNTAX, 7, "no such value" },
	{ "signal=65", HOLTER_E_SYNTAX, 7, "no such value" },
	{ "signal=33", HOLTER_E_LIMIT, 7, "out of range" },
	{ "dumponexit=maybe", HOLTER_E_SYNTAX, 11, "give yes or no" },
	{ "leader=me", HOLTER_E_SYNTAX, 7, "give process, thread or none" },
	{ "stackdepth=0", HOLTER_E_LIMIT, 11, "give 1 to 200" },
	{ "stackdepth=deep", HOLTER_E_SYNTAX, 11, "give 1 to 200" },
	{ "alloc=0", HOLTER_E_LIMIT, 6, "out of range" },
	{ "alloc=some", HOLTER_E_SYNTAX, 6, "give bytes (512k), all or off" },
	{ "locks=spin", HOLTER_E_SYNTAX, 6, "give try, timed or off" },
	{ "interval=5", HOLTER_E_UNIT, 9, "wrong unit or none: give 10ms to 1h" },
	{ "interval=1ms", HOLTER_E_LIMIT, 9, "out of range" },
	{ "settings=defualt", HOLTER_E_OPEN, 9,
	  "neither default, profile, everything, none nor a file" },
	{ "config=/nonexistent/x", HOLTER_E_OPEN, 7, "\"/nonexistent/x\" cannot be read" },
	{ "SocketReed#threshold=1ms", HOLTER_E_UNKNOWN_EVENT, 0,
	  "unknown event \"SocketReed\": did you mean \"SocketRead\"?" },
	{ "Zebra#threshold=1ms", HOLTER_E_UNKNOWN_EVENT, 0, "holter-events(7)" },
	{ "SocketRead#treshold=1ms", HOLTER_E_UNKNOWN_KEY, 11,
	  "unknown setting \"treshold\" of event \"SocketRead\": did you mean \"threshold\"?" },
	{ "SocketRead#colour=red", HOLTER_E_UNKNOWN_KEY, 11,
	  "there are enabled threshold stackTrace period sample" },
	{ "SocketRead#threshold=10", HOLTER_E_UNIT, 21, "SocketRead#threshold: \"10\"" },
	{ "SocketRead#threshold=10 mu", HOLTER_E_UNIT, 21, "wrong unit" },
	{ "SocketRead#threshold=2h", HOLTER_E_LIMIT, 21, "out of range" },
	{ "SocketRead#sample=0", HOLTER_E_LIMIT, 18, "out of range" },
	{ "SocketRead#enabled=2", HOLTER_E_SYNTAX, 19, "give true or false" },
	{ "CPULoad#period=fast", HOLTER_E_SYNTAX, 15, "like 5s" },
};

START_TEST(every_complaint_names_what_is_wrong)
{
	ck_assert_int_eq(parse(wrong[_i].text, REC_CONFIG_STRICT), wrong[_i].code);
	ck_assert_int_eq(report.code, wrong[_i].code);
	ck_assert_uint_eq(report.count, 1);
	ck_assert_uint_eq(report.position, wrong[_i].position);
	ck_assert_msg(strstr(report.text, wrong[_i].message) != NULL, "\"%s\" lacks \"%s\"",
		      report.text, wrong[_i].message);
	ck_assert_ptr_null(strchr(report.text, '\n'));
}
END_TEST

START_TEST(lenient_leaves_out_what_is_wrong)
{
	ck_assert_int_eq(parse("memroy=32M,alloc=all,locks=spin,,stackdepth=7,", 0), 2);
	ck_assert_uint_eq(config.memory_mode, REC_MEMORY_ALL);
	ck_assert_uint_eq(config.stack_depth, 7);
	ck_assert_uint_eq(config.lock_mode, REC_LOCK_TRY);
	ck_assert_int_eq(report.code, HOLTER_E_UNKNOWN_KEY);
	ck_assert_ptr_nonnull(strstr(report.text, "memroy"));
	ck_assert_ptr_nonnull(strstr(report.text, "; locks: "));
}
END_TEST

START_TEST(lenient_reports_are_bounded)
{
	char text[8192] = "";

	for (int i = 0; i < 400; i++)
		strcat(text, "nonsense=\x01\x02,");
	ck_assert_int_eq(parse(text, 0), 400);
	ck_assert_uint_lt(strlen(report.text), sizeof(report.text));
	ck_assert_int_eq(parse(NULL, 0), 0);
	ck_assert_int_eq(parse("", REC_CONFIG_STRICT), 0);
}
END_TEST

START_TEST(long_values_are_refused_whole)
{
	char text[3000] = "dir=/";

	memset(text + 5, 'a', 2000);
	ck_assert_int_eq(parse(text, REC_CONFIG_STRICT), HOLTER_E_LIMIT);
	ck_assert_str_eq(config.dir, "");
}
END_TEST

START_TEST(commas_belong_to_values_in_parentheses_or_behind_backslashes)
{
	ck_assert_int_eq(parse("dir=/a\\,b\\\\c,log=/x(1,2),alloc=all", REC_CONFIG_STRICT), 0);
	ck_assert_str_eq(config.dir, "/a,b\\c");
	ck_assert_str_eq(config.log, "/x(1,2)");
	ck_assert_uint_eq(config.memory_mode, REC_MEMORY_ALL);
}
END_TEST

static char path[64];

static const char *make_file(const char *content)
{
	int fd;

	strcpy(path, "/tmp/test_config_XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, content, strlen(content)), (ssize_t)strlen(content));
	close(fd);
	return path;
}

START_TEST(files_come_first_wherever_they_stand)
{
	char text[200];

	make_file("# a comment, with a comma\n\n  alloc=all\nstackdepth=9, locks=off\r\n"
		  "SocketRead#threshold=2ms\nsettings=profile");
	snprintf(text, sizeof(text), "stackdepth=5,config=%s", path);
	ck_assert_int_eq(parse(text, REC_CONFIG_STRICT), 0);
	ck_assert_uint_eq(config.memory_mode, REC_MEMORY_ALL);
	ck_assert_uint_eq(config.stack_depth, 5);
	ck_assert_uint_eq(config.lock_mode, REC_LOCK_OFF);
	ck_assert_uint_eq(config.preset, REC_PRESET_PROFILE);
	ck_assert_uint_eq(config.event[EV_SocketRead].threshold_ns, 2000000);
	snprintf(text, sizeof(text), "settings=%s", path);
	ck_assert_int_eq(parse(text, REC_CONFIG_STRICT), 0);
	ck_assert_uint_eq(config.stack_depth, 9);
	unlink(path);
}
END_TEST

START_TEST(errors_in_files_name_file_and_line)
{
	char text[200];

	make_file("alloc=all\n\n  lcoks=off\n");
	snprintf(text, sizeof(text), "config=%s", path);
	ck_assert_int_eq(parse(text, REC_CONFIG_STRICT), HOLTER_E_UNKNOWN_KEY);
	ck_assert_msg(strncmp(report.text, path, strlen(path)) == 0, "%s", report.text);
	ck_assert_ptr_nonnull(strstr(report.text, ":3: unknown key \"lcoks\""));
	ck_assert_uint_eq(report.position, 2);
	unlink(path);
	make_file("config=/etc/hostname");
	ck_assert_int_eq(parse(text, REC_CONFIG_STRICT), HOLTER_E_OPEN);
	snprintf(text, sizeof(text), "config=%s", path);
	ck_assert_int_eq(parse(text, REC_CONFIG_STRICT), HOLTER_E_SYNTAX);
	ck_assert_ptr_nonnull(strstr(report.text, "cannot name another one"));
	unlink(path);
}
END_TEST

START_TEST(live_refuses_what_is_fixed)
{
	static const char *const fixed[] = { "memory=1M", "children=no", "signal=none",
					     "leader=none", "config=/x" };

	for (unsigned i = 0; i < ARRAY_LEN(fixed); i++) {
		ck_assert_int_eq(parse(fixed[i], REC_CONFIG_STRICT | REC_CONFIG_LIVE),
				 HOLTER_E_FIXED);
		ck_assert_ptr_nonnull(
			strstr(report.text, " cannot be changed while the program runs: "));
	}
	ck_assert_int_eq(
		parse("alloc=all,FileRead#enabled=no", REC_CONFIG_STRICT | REC_CONFIG_LIVE), 0);
}
END_TEST

START_TEST(presets_and_overrides)
{
	const struct ev_type *read = ev_type_by_number(EV_SocketRead);
	const struct ev_type *poll = ev_type_by_number(EV_Poll);
	struct rec_event_setting setting;
	uint64_t ns;

	parse("", 0);
	setting = rec_config_setting(&config, read, &ns);
	ck_assert_uint_eq(ns, 1000000);
	ck_assert_uint_eq(setting.flags, REC_EVENT_ENABLED);
	ck_assert_uint_eq(rec_config_setting(&config, poll, &ns).flags & REC_EVENT_ENABLED, 0);
	parse("settings=everything,SocketRead#threshold=500ns,Poll#enabled=no", 0);
	setting = rec_config_setting(&config, read, &ns);
	ck_assert_uint_eq(ns, 500);
	ck_assert_uint_eq(setting.flags, REC_EVENT_ENABLED | REC_EVENT_STACK);
	ck_assert_uint_eq(rec_config_setting(&config, poll, &ns).flags & REC_EVENT_ENABLED, 0);
	/* No stack for a shape without one. */
	ck_assert_uint_eq(rec_config_setting(&config, ev_type_by_number(EV_Free), &ns).flags,
			  REC_EVENT_ENABLED);
}
END_TEST

START_TEST(printed_text_reads_back)
{
	char first[4096], second[4096];

	ck_assert_int_eq(parse("dir=/a\\,b,memory=3M,settings=everything,signal=RTMIN+2,alloc=off,"
			       "interval=250ms,log=/l,SocketRead#threshold=1500us,Poll#enabled=no,"
			       "Malloc#stackTrace=false,CPULoad#period=2s,FileRead#sample=3",
			       REC_CONFIG_STRICT),
			 0);
	ck_assert_int_eq(rec_config_print(&config, first, sizeof(first)), 0);
	ck_assert_int_eq(parse(first, REC_CONFIG_STRICT), 0);
	ck_assert_int_eq(rec_config_print(&config, second, sizeof(second)), 0);
	ck_assert_str_eq(first, second);
	ck_assert_ptr_nonnull(strstr(first, "dir=/a\\,b,memory=3M,settings=everything"));
	ck_assert_int_eq(rec_config_print(&config, second, 30), HOLTER_E_LIMIT);
	ck_assert_str_eq(second, "dir=/a\\,b,memory=3M");
}
END_TEST

START_TEST(region_carries_settings)
{
	struct rec_region region;
	struct rec_config loaded;
	char text[1024];
	uint64_t start;
	uint32_t parent;

	ck_assert_int_eq(rec_region_start_time((uint32_t)getpid(), &start, &parent), 0);
	ck_assert_int_eq(rec_region_create(&region, 1 << 20, (uint32_t)getpid(), start), 0);
	parse("memory=1M,dir=/var/tmp,alloc=4k,SocketRead#threshold=2ms,bogus=1,dumponexit=yes", 0);
	ck_assert_int_eq(rec_config_apply(&config, &region, &report), 0);
	ck_assert_uint_eq(region.settings->gate[EV_GATE_SOCKET], 1);
	ck_assert_uint_eq(region.settings->gate[EV_GATE_USER], 1);
	ck_assert_uint_eq(region.settings->gate[EV_GATE_ERROR], 0);
	ck_assert_uint_eq(region.settings->memory_mode, REC_MEMORY_SAMPLE);
	ck_assert_uint_eq(region.settings->alloc_interval, 4096);
	ck_assert_uint_eq(region.settings->lock_mode, REC_LOCK_TRY);
	ck_assert_uint_eq(region.settings->event[EV_SocketRead].threshold_ticks,
			  rec_clock_span_ticks(&region.header->clock, 2000000));
	ck_assert_uint_eq(region.settings->event[EV_Poll].threshold_ticks, UINT64_MAX);
	ck_assert_uint_eq(region.header->dump_on_exit, 1);
	ck_assert_uint_eq(region.settings->generation, 1);
	ck_assert_uint_gt(rec_config_problems(&region, text, sizeof(text)), 0);
	ck_assert_ptr_nonnull(strstr(text, "bogus"));
	ck_assert_int_eq(rec_config_load(&loaded, &region), 0);
	ck_assert_str_eq(loaded.dir, "/var/tmp");
	ck_assert_uint_eq(loaded.event[EV_SocketRead].threshold_ns, 2000000);
	loaded.recording = 0;
	rec_config_apply(&loaded, &region, NULL);
	for (unsigned i = 0; i < EV_GATE_COUNT; i++)
		ck_assert_uint_eq(region.settings->gate[i], 0);
	ck_assert_uint_eq(region.settings->memory_mode, REC_MEMORY_OFF);
	ck_assert_uint_eq(region.settings->lock_mode, REC_LOCK_OFF);
	rec_config_load(&loaded, &region);
	ck_assert_uint_eq(loaded.recording, 0);
	ck_assert_uint_gt(rec_config_problems(&region, text, sizeof(text)), 0);
	/* A damaged text opens no file and ends. */
	memset(region.text, 'x', REC_TEXT_BYTES);
	ck_assert_int_eq(rec_config_load(&loaded, &region), HOLTER_E_CORRUPT);
	strcpy(region.text, "config=/etc/hostname,settings=/etc/hostname");
	ck_assert_int_eq(rec_config_load(&loaded, &region), HOLTER_E_CORRUPT);
	unlink(region.header->path);
	rec_region_unmap(&region);
}
END_TEST

START_TEST(all_overrides_at_once_are_cut_between_items)
{
	char text[4096];

	parse("", 0);
	for (unsigned i = 0; i < EV_NUMBER_MAX; i++)
		config.event[i] = (struct rec_config_event){ 31, 1, 1, 0, 1001, 123456, 1234567 };
	ck_assert_int_eq(rec_config_print(&config, text, sizeof(text)), HOLTER_E_LIMIT);
	ck_assert_int_eq(parse(text, REC_CONFIG_STRICT), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config");
	TCase *tests = tcase_create("config");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_add_test(tests, defaults_are_those_of_the_table);
	tcase_add_test(tests, every_key_is_read);
	tcase_add_loop_test(tests, signals_have_many_names, 0, ARRAY_LEN(signals));
	tcase_add_loop_test(tests, every_complaint_names_what_is_wrong, 0, ARRAY_LEN(wrong));
	tcase_add_test(tests, lenient_leaves_out_what_is_wrong);
	tcase_add_test(tests, lenient_reports_are_bounded);
	tcase_add_test(tests, long_values_are_refused_whole);
	tcase_add_test(tests, commas_belong_to_values_in_parentheses_or_behind_backslashes);
	tcase_add_test(tests, files_come_first_wherever_they_stand);
	tcase_add_test(tests, errors_in_files_name_file_and_line);
	tcase_add_test(tests, live_refuses_what_is_fixed);
	tcase_add_test(tests, presets_and_overrides);
	tcase_add_test(tests, printed_text_reads_back);
	tcase_add_test(tests, region_carries_settings);
	tcase_add_test(tests, all_overrides_at_once_are_cut_between_items);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
