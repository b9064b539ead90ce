/*
 * Chunk ring and append under load: several writers with handlers that interrupt them, a reader
 * that copies all the time, writers that are torn off in the middle of an append.
 *
 * Every record carries its writer, a counter and a checksum; the reader accepts nothing else.
 */
#include <check.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "recorder/region/append.h"

#define WRITERS 8
#define TYPE_PLAIN 1
#define TYPE_HANDLER 2

struct body {
	uint64_t writer, counter, checksum;
};

struct writer {
	struct rec_writer writer;
	struct rec_writer_cold cold;
	uint64_t loss[REC_LOSS_COUNT], loss_bytes;
	uint64_t plain, handler; /* records made */
	uint32_t number;
};

static struct rec_region region;
static __thread struct writer *self;
static _Atomic int stop;
static int done; /* writers that have made all their records */

static uint64_t checksum(uint64_t writer, uint64_t counter, uint64_t type)
{
	return (writer * 31 + counter) * 0x9e3779b97f4a7c15ull ^ type;
}

static void put(struct writer *w, uint32_t type, uint64_t counter)
{
	struct body body = { w->number, counter, checksum(w->number, counter, type) };
	uint64_t now = rec_clock_now();

	if (!rec_append(&w->writer, type, 0, now, &body, sizeof(body)))
		rec_append_slow(&w->writer, &w->cold, type, 0, now, &body, sizeof(body));
}

static void on_signal(int number)
{
	(void)number;
	if (self)
		put(self, TYPE_HANDLER, self->handler++);
}

static void attach(struct writer *w, uint32_t number)
{
	w->number = number;
	w->cold.region = &region;
	w->cold.loss = w->loss;
	w->cold.loss_bytes = &w->loss_bytes;
	w->cold.owner.tid = number;
}

static uint64_t lost(const struct writer *w)
{
	uint64_t sum = 0;

	for (int i = 0; i < REC_LOSS_COUNT; i++)
		sum += w->loss[i];
	return sum;
}

/* Checks one chunk; counts its records by type. */
static void read_chunk(const struct rec_chunk *chunk, uint64_t found[3])
{
	uint64_t next_plain = 0, next_handler = 0;
	uint32_t at = 0;

	while (at < REC_CHUNK_DATA / 8 && chunk->data[at] != 0) {
		uint64_t word = chunk->data[at];
		uint32_t words = EV_WORDS(word);
		uint32_t type = EV_TYPE(word);
		const struct body *body = (const struct body *)&chunk->data[at + 1];

		ck_assert_uint_gt(words, 0);
		ck_assert_uint_le(at + words, REC_CHUNK_DATA / 8);
		at += words;
		if (type == EV_TYPE_HOLE || type == EV_TYPE_REBASE)
			continue;
		ck_assert(type == TYPE_PLAIN || type == TYPE_HANDLER);
		ck_assert_uint_eq(words, 4);
		ck_assert_uint_eq(body->writer, chunk->tid);
		ck_assert_uint_eq(body->checksum, checksum(body->writer, body->counter, type));
		uint64_t *next = type == TYPE_PLAIN ? &next_plain : &next_handler;

		ck_assert_uint_ge(body->counter, *next);
		*next = body->counter + 1;
		found[type]++;
	}
}

static uint64_t read_all(uint64_t found[3])
{
	static __thread struct rec_chunk copy;
	uint64_t busy = 0;

	for (uint32_t i = 1; i <= region.layout.chunk_max; i++) {
		int result = rec_ring_copy(&region, i, &copy);

		if (result == 1)
			read_chunk(&copy, found);
		else if (result < 0)
			busy++;
	}
	return busy;
}

static void create(uint64_t memory)
{
	uint64_t start_time;
	uint32_t ppid;

	ck_assert_int_eq(rec_region_start_time((uint32_t)getpid(), &start_time, &ppid), 0);
	ck_assert_int_eq(rec_region_create(&region, memory, (uint32_t)getpid(), start_time), 0);
	unlink(region.header->path);
}

struct job {
	struct writer *writer;
	uint64_t count;
};

static void *write_records(void *argument)
{
	struct job *job = argument;
	struct writer *w = job->writer;

	self = w;
	for (uint64_t i = 0; i < job->count && !stop; i++)
		put(w, TYPE_PLAIN, w->plain++);
	/* Too fast to have been interrupted even once: the flood goes on until it has been. */
	while (__atomic_load_n(&w->handler, __ATOMIC_RELAXED) == 0)
		usleep(100);
	__atomic_fetch_add(&done, 1, __ATOMIC_RELEASE);
	while (!stop)
		usleep(1000);
	self = NULL;
	rec_append_detach(&w->writer, &w->cold);
	return NULL;
}

static void *flood(void *threads)
{
	pthread_t *thread = threads;

	while (!stop) {
		for (int i = 0; i < WRITERS; i++)
			pthread_kill(thread[i], SIGUSR1);
		usleep(50);
	}
	return NULL;
}

static void *keep_reading(void *unused)
{
	(void)unused;
	while (!stop) {
		uint64_t found[3] = { 0 };

		read_all(found);
	}
	return NULL;
}

static void run(struct writer *writers, uint64_t count)
{
	pthread_t threads[WRITERS], flooder, reader;
	struct job jobs[WRITERS];
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	sigaction(SIGUSR1, &action, NULL);
	stop = 0;
	done = 0;
	for (uint32_t i = 0; i < WRITERS; i++) {
		attach(&writers[i], i + 1);
		jobs[i] = (struct job){ &writers[i], count };
		pthread_create(&threads[i], NULL, write_records, &jobs[i]);
	}
	pthread_create(&reader, NULL, keep_reading, NULL);
	pthread_create(&flooder, NULL, flood, threads);
	while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) < WRITERS)
		usleep(1000);
	stop = 1;
	pthread_join(flooder, NULL);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	pthread_join(reader, NULL);
}

START_TEST(ring_that_fits_keeps_every_record)
{
	static struct writer writers[WRITERS];
	uint64_t found[3] = { 0 }, made = 0, dropped = 0;

	create(32u << 20);
	run(writers, 60000);
	ck_assert_uint_eq(read_all(found), 0);
	for (int i = 0; i < WRITERS; i++) {
		made += writers[i].plain + writers[i].handler;
		dropped += lost(&writers[i]);
	}
	ck_assert_uint_eq(found[1] + found[2] + dropped, made);
	ck_assert_uint_gt(found[2], 0);
	rec_region_unmap(&region);
}
END_TEST

START_TEST(ring_that_wraps_keeps_the_newest)
{
	static struct writer writers[WRITERS];
	uint64_t found[3] = { 0 };
	uint64_t capacity;

	create(1u << 20);
	capacity = region.layout.chunk_max * (REC_CHUNK_DATA / 32);
	run(writers, 200000);
	ck_assert_uint_eq(read_all(found), 0);
	ck_assert_uint_gt(found[1] + found[2], capacity / 2);
	ck_assert_uint_le(found[1] + found[2], capacity);
	ck_assert_uint_gt(region.header->ring.filled, 2ull * region.layout.chunk_max);
	rec_region_unmap(&region);
}
END_TEST

START_TEST(more_writers_than_chunks_are_counted)
{
	static struct writer writers[200];
	uint64_t made = 0, dropped = 0, found[3] = { 0 };

	create(1u << 20); /* 128 chunks */
	for (uint32_t i = 0; i < ARRAY_LEN(writers); i++) {
		attach(&writers[i], i + 1);
		put(&writers[i], TYPE_PLAIN, writers[i].plain++);
		made++;
		dropped += lost(&writers[i]);
	}
	read_all(found);
	ck_assert_uint_eq(dropped, ARRAY_LEN(writers) - 128);
	ck_assert_uint_eq(found[1], made - dropped);
	/* One leaves: the next gets its chunk. */
	rec_append_detach(&writers[0].writer, &writers[0].cold);
	writers[199].cold.retry_ticks = 0;
	uint64_t before = lost(&writers[199]);

	put(&writers[199], TYPE_PLAIN, writers[199].plain++);
	ck_assert_uint_eq(lost(&writers[199]), before);
	rec_region_unmap(&region);
}
END_TEST

START_TEST(time_base_moves_when_ticks_overflow)
{
	static struct writer w;
	struct body body = { 1, 0, checksum(1, 0, TYPE_PLAIN) };
	static struct rec_chunk copy;
	uint64_t now = rec_clock_now();
	uint64_t base, seen[2] = { 0 };
	uint32_t at = 0, count = 0;

	create(1u << 20);
	attach(&w, 1);
	rec_append_slow(&w.writer, &w.cold, TYPE_PLAIN, 0, now, &body, sizeof(body));
	now += 5ull << 32;
	ck_assert(!rec_append(&w.writer, TYPE_PLAIN, 0, now, &body, sizeof(body)));
	rec_append_slow(&w.writer, &w.cold, TYPE_PLAIN, 0, now, &body, sizeof(body));
	ck_assert(rec_append(&w.writer, TYPE_PLAIN, 0, now + 7, &body, sizeof(body)));
	ck_assert_int_eq(rec_ring_copy(&region, w.writer.chunk, &copy), 1);
	base = copy.base_ticks;
	for (; copy.data[at] != 0; at += EV_WORDS(copy.data[at])) {
		if (EV_TYPE(copy.data[at]) == EV_TYPE_REBASE)
			base = copy.data[at + 1];
		else if (EV_TYPE(copy.data[at]) == TYPE_PLAIN && count++ > 0)
			seen[count - 2] = base + EV_TICKS(copy.data[at]);
	}
	ck_assert_uint_eq(count, 3);
	ck_assert_uint_eq(seen[0], now);
	ck_assert_uint_eq(seen[1], now + 7);
	rec_region_unmap(&region);
}
END_TEST

static sigjmp_buf away;

static void on_alarm(int number)
{
	(void)number;
	siglongjmp(away, 1);
}

/*
 * A handler that leaves by siglongjmp, at any instruction of an append, must not end recording. One
 * that hits a change of chunks costs that chunk until the leader finds it, so there are more chunks
 * than that.
 */
START_TEST(appends_left_by_longjmp_do_not_wedge)
{
	static struct writer w;
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_NODEFER };
	static volatile int jumps;
	uint64_t found[3] = { 0 };
	uint64_t filled;

	create(16u << 20);
	attach(&w, 1);
	sigaction(SIGALRM, &action, NULL);
	sigsetjmp(away, 1);
	while (jumps++ < 500) {
		ualarm(60, 0);
		for (;;)
			put(&w, TYPE_PLAIN, w.plain++);
	}
	ualarm(0, 0);
	filled = region.header->ring.filled;
	for (int i = 0; i < 100000; i++)
		put(&w, TYPE_PLAIN, w.plain++);
	ck_assert_uint_gt(region.header->ring.filled, filled + 50);
	read_all(found);
	ck_assert_uint_gt(found[1], 1000);
	rec_region_unmap(&region);
}
END_TEST

START_TEST(scale_keeps_22_bits)
{
	uint64_t values[] = { 0, 1, UINT32_MAX, 1ull << 32, 123456789012345ull, 1ull << 61 };

	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		uint32_t flags = 0;
		uint64_t scaled = rec_append_scale(values[i], &flags);
		uint64_t back = scaled << (10 * (flags & EV_FLAG_SCALE_MASK));

		ck_assert_uint_le(back, values[i]);
		ck_assert_uint_le(values[i] - back, values[i] >> 21);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ring");
	TCase *plain = tcase_create("ring");
	SRunner *runner = srunner_create(suite);
	struct rec_clock clock;
	int failed;

	rec_clock_init(&clock);
	tcase_set_timeout(plain, 120);
	tcase_add_test(plain, ring_that_fits_keeps_every_record);
	tcase_add_test(plain, ring_that_wraps_keeps_the_newest);
	tcase_add_test(plain, more_writers_than_chunks_are_counted);
	tcase_add_test(plain, time_base_moves_when_ticks_overflow);
	tcase_add_test(plain, appends_left_by_longjmp_do_not_wedge);
	tcase_add_test(plain, scale_keeps_22_bits);
	suite_add_tcase(suite, plain);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
