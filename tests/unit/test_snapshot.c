/*
 * Dumps while threads record at full speed: what is in the file is whole and in order, and whatever
 * is missing was overwritten, not lost in between.
 */
#include <check.h>
#include <pthread.h>
#include <sched.h>

#include "recorder/dump/dump.h"
#include "tests/unit/reader_walk.h"
#include "tests/unit/region_fill.h"

#define THREADS 4
#define DUMPS 5

static struct rec_region region;
static int stop;

struct recorder {
	pthread_t id;
	struct fill_thread thread;
	uint32_t number, process;
};

/* Records Free events with a counter as address; every 16th with a stack that names the counter. */
static void *record(void *argument)
{
	struct recorder *self = argument;
	uint64_t count = 1;

	for (; !__atomic_load_n(&stop, __ATOMIC_RELAXED); count++) {
		uint64_t code[3] = { 0x1000, 0x2000 + count % 1000 * 16, 0x3000 };
		struct ev_Free gone = { .address = count };
		struct ev_Malloc grown = { .size = (uint32_t)(count % 1000), .address = count };

		if (count % 16) {
			fill_record(&self->thread, EV_Free, 0, rec_clock_now(), &gone,
				    sizeof(gone));
			continue;
		}
		grown.stack = fill_stack(&region, code, 3, 0);
		fill_record(&self->thread, EV_Malloc, 0, rec_clock_now(), &grown, 16);
	}
	return NULL;
}

static int64_t field(const struct holter_event *event, const char *name)
{
	struct holter_value value;

	ck_assert_int_eq(holter_event_get(event, name, &value), 0);
	return value.as.integer;
}

/* The frame in the middle says which size the event has. */
static void check_stack(const struct holter_event *event)
{
	const struct holter_stack *stack = holter_event_stack(event);
	char expected[32];

	if (!stack)
		return;
	ck_assert_uint_eq(stack->frame_count, 3);
	snprintf(expected, sizeof(expected), "0x%lx", 0x2000 + field(event, "size") * 16 - 1);
	ck_assert_str_eq(stack->frames[1].method->name, expected);
}

static void check_file(const char *path, uint64_t events, uint64_t recycled)
{
	struct holter_reader *reader;
	const struct holter_event *event;
	struct holter_totals totals;
	struct holter_problem problem;
	int64_t last[THREADS] = { 0 }, last_ns = 0;
	uint64_t seen = 0, jumps = 0;
	int code;

	ck_assert_int_eq(holter_reader_open(path, NULL, &reader, &problem), 0);
	while ((code = holter_reader_next(reader, &event)) > 0) {
		const struct holter_thread *thread = holter_event_thread(event);
		const char *name = holter_type_name(holter_event_type(event));
		int64_t number, address;

		seen++;
		if (strcmp(name, "profiler.Free") != 0 && strcmp(name, "profiler.Malloc") != 0)
			continue;
		ck_assert_ptr_nonnull(thread);
		number = thread->os_id - 5000;
		ck_assert(number >= 0 && number < THREADS);
		address = field(event, "address");
		ck_assert_int_gt(address, last[number]);
		jumps += last[number] && address != last[number] + 1;
		last[number] = address;
		ck_assert_int_ge(holter_event_start_ns(event), last_ns);
		last_ns = holter_event_start_ns(event);
		if (name[9] == 'M')
			check_stack(event);
	}
	ck_assert_int_eq(code, 0);
	holter_reader_totals(reader, &totals);
	ck_assert_uint_eq(totals.damage_count, 0);
	ck_assert_uint_eq(seen, events);
	/* One gap for each chunk that was taken away while it was copied, none else. */
	ck_assert_uint_le(jumps, recycled);
	holter_reader_close(reader);
}

START_TEST(recording_goes_on)
{
	static struct recorder recorder[THREADS];
	static struct rec_dump_result result;
	char path[64];
	struct rec_dump_options options = { .path = path, .force = 1, .compress = 1 };
	uint32_t process;

	snprintf(path, sizeof(path), "/tmp/holter-snapshot-%d.jfr.lz4", (int)getpid());
	fill_create(&region, 1 << 20);
	process = fill_process(&region, (uint32_t)getpid(), 1, 0, "busy");
	for (uint32_t i = 0; i < THREADS; i++) {
		fill_thread(&recorder[i].thread, &region, process, 5000 + i, "busy",
			    rec_clock_now());
		ck_assert_int_eq(pthread_create(&recorder[i].id, NULL, record, &recorder[i]), 0);
	}
	while (__atomic_load_n(&region.header->ring.filled, __ATOMIC_RELAXED) < 100)
		sched_yield();
	for (int i = 0; i < DUMPS; i++) {
		int code = rec_dump_write(&region, &options, &result);

		ck_assert_msg(code == 0, "%d %s", code, result.error);
		ck_assert_uint_eq(result.chunks_damaged, 0);
		check_file(path, result.events, result.chunks_recycled);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(recorder[i].id, NULL);
	ck_assert_uint_gt(region.header->ring.filled, (1 << 20) / REC_CHUNK_BYTES);
	unlink(path);
	fill_destroy(&region);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("snapshot");
	TCase *one = tcase_create("snapshot");
	SRunner *runner;
	int failed;

	tcase_set_timeout(one, 150);
	tcase_add_test(one, recording_goes_on);
	suite_add_tcase(suite, one);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
