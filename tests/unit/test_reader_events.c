/*
 * Typed access: structs of the catalog against recordings that have all fields, few of them, or
 * fields of the same name and another kind.
 */
#include <check.h>

#include "reader/holter_events.h"
#include "tests/unit/reader_build_meta.h"
#include "tests/unit/reader_walk.h"

static struct build build;
static struct holter_reader *reader;
static struct holter_events *events;

static const struct holter_event *open_and_next(void)
{
	const struct holter_event *event = NULL;

	ck_assert_int_eq(holter_reader_open_memory(build.bytes, build.used, NULL, &reader, NULL),
			 0);
	ck_assert_int_eq(holter_reader_next(reader, &event), 1);
	return event;
}

static void setup(void)
{
	build = (struct build){ .used = 0 };
	ck_assert_int_eq(holter_events_create(&events), 0);
	build_chunk_begin(&build);
}

static void teardown(void)
{
	holter_events_destroy(events);
	holter_reader_close(reader);
	free(build.bytes);
}

START_TEST(all_fields_in_another_order)
{
	static const char *const types[] = {
		BUILD_STACK_TYPES,
		"jdk.SocketRead 1010 jdk.jfr.Event - startTime:11:t duration:11:s bytesRead:11:b "
		"endOfStream:4 own:20 port:10 host:20 address:20 timeout:11:m",
		NULL,
	};
	struct holter_event_SocketRead read;
	struct holter_event_SocketWrite write;
	const struct holter_event *event;

	build_metadata(&build, types);
	build_event_begin(&build, 1010);
	build_int(&build, 2000);
	build_int(&build, 500);
	build_int(&build, 4096);
	build_byte(&build, 1);
	build_text(&build, "extra");
	build_int(&build, 6379);
	build_text(&build, NULL);
	build_text(&build, "10.0.0.1");
	build_int(&build, 0);
	build_event_end(&build);
	build_chunk_end(&build);
	event = open_and_next();
	ck_assert_int_eq(holter_events_number(events, event), HOLTER_EVENT_SocketRead);
	ck_assert_ptr_null(holter_events_missing(events, event));
	ck_assert_int_eq(holter_events_get_SocketRead(events, event, &read), 0);
	ck_assert_uint_eq(read.missing, 0);
	ck_assert_int_eq(read.bytesRead, 4096);
	ck_assert(read.endOfStream);
	ck_assert_int_eq(read.port, 6379);
	ck_assert_ptr_null(read.host);
	ck_assert_str_eq(read.address, "10.0.0.1");
	ck_assert_int_eq(holter_events_get_SocketWrite(events, event, &write), HOLTER_E_NO_TYPE);
}
END_TEST

START_TEST(missing_and_odd_fields_are_told)
{
	static const char *const types[] = {
		BUILD_STACK_TYPES,
		"jdk.SocketRead 1010 jdk.jfr.Event - startTime:11:t bytesRead:20 address:20",
		NULL,
	};
	struct holter_event_SocketRead read;
	const struct holter_event *event;

	build_metadata(&build, types);
	build_event_begin(&build, 1010);
	build_int(&build, 2000);
	build_text(&build, "many");
	build_text(&build, "10.0.0.1");
	build_event_end(&build);
	build_chunk_end(&build);
	event = open_and_next();
	ck_assert_str_eq(holter_events_missing(events, event), "host");
	ck_assert_int_eq(holter_events_get_SocketRead(events, event, &read), 0);
	/* host, port, timeout, bytesRead, endOfStream */
	ck_assert_uint_eq(read.missing, 1 | 4 | 8 | 16 | 32);
	ck_assert_int_eq(read.bytesRead, 0);
	ck_assert_str_eq(read.address, "10.0.0.1");
}
END_TEST

START_TEST(threads_and_classes)
{
	static const char *const types[] = {
		BUILD_STACK_TYPES,
		"jdk.JavaMonitorEnter 1001 jdk.jfr.Event - startTime:11:t duration:11:s "
		"monitorClass:21:p previousOwner:22:p address:11:u",
		"demo.Other 1002 jdk.jfr.Event - startTime:11:t",
		NULL,
	};
	/* Class 1 is named by Symbol 1; Thread 7. */
	static const uint8_t pools[] = { 21,  1,   1,	0,   1,	 0, 0, 0, 27, 1,   1, 3, 5, 'm',
					 'u', 't', 'e', 'x', 22, 1, 7, 3, 1,  'T', 7, 0, 0, 0 };
	struct holter_event_MonitorEnter enter;
	const struct holter_event *event;

	build_metadata(&build, types);
	build_bytes(&build, "\x0e\xe9\7\1\2\1\7\xff\xff\xff\xff\xff\xff\x7f", 14);
	build_bytes(&build, "\4\xea\7\1", 4);
	build_checkpoint_begin(&build, 3);
	build_bytes(&build, pools, sizeof(pools));
	build_event_end(&build);
	build_chunk_end(&build);
	event = open_and_next();
	ck_assert_int_eq(holter_events_get_MonitorEnter(events, event, &enter), 0);
	ck_assert_uint_eq(enter.missing, 0);
	ck_assert_str_eq(enter.monitorClass, "mutex");
	ck_assert_int_eq(enter.previousOwner->os_id, 7);
	ck_assert_uint_eq(enter.address, (1ull << 49) - 1);
	ck_assert_int_eq(holter_reader_next(reader, &event), 1);
	ck_assert_int_eq(holter_events_number(events, event), HOLTER_EVENT_NONE);
	ck_assert_ptr_null(holter_events_missing(events, event));
	ck_assert_int_eq(holter_events_get_MonitorEnter(events, event, &enter), HOLTER_E_NO_TYPE);
}
END_TEST

int main(void)
{
	Suite *all = suite_create("reader events");
	TCase *tcase = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, all_fields_in_another_order);
	tcase_add_test(tcase, missing_and_odd_fields_are_told);
	tcase_add_test(tcase, threads_and_classes);
	suite_add_tcase(all, tcase);
	runner = srunner_create(all);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
