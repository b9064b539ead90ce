/*
 * Speed of the reader: every event with its thread and all frames of its stack, as the loop over a
 * JDK's RecordingFile would do it (200,000 events of 11 frames: 0.28 s warm on JDK 17).
 *
 * Usage: bench_reader [EVENTS [STACKS [FILE]]]. The recording is made in memory, or FILE is read;
 * with as many stacks as events nothing can be reused. Prints ns per event, the best of several
 * rounds, in processor time, so that a busy machine does not count.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "reader/holter_reader.h"
#include "tests/unit/reader_build_meta.h"

#define FRAMES 11
#define METHODS 1000
#define ROUNDS 15

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void build_stacks(struct build *build, unsigned stacks)
{
	build_int(build, 31);
	build_int(build, stacks);
	for (unsigned i = 1; i <= stacks; i++) {
		build_int(build, i);
		build_byte(build, 0);
		build_int(build, FRAMES);
		for (unsigned k = 0; k < FRAMES; k++) {
			build_int(build, (i * 7 + k * 31) % METHODS + 1);
			build_int(build, 100 + k);
			build_int(build, 0);
			build_int(build, 1);
		}
	}
}

static void build_constants(struct build *build, unsigned stacks)
{
	char text[64];

	build_checkpoint_begin(build, 6);
	build_int(build, 22);
	build_int(build, 8);
	for (unsigned i = 1; i <= 8; i++) {
		snprintf(text, sizeof(text), "worker-%u", i);
		build_int(build, 4000 + i);
		build_text(build, text);
		build_int(build, 4000 + i);
		build_text(build, NULL);
		build_int(build, 0);
		build_int(build, 0);
	}
	build_int(build, 27);
	build_int(build, METHODS + 2);
	for (unsigned i = 1; i <= METHODS; i++) {
		snprintf(text, sizeof(text), "some_function_of_a_program_%u", i);
		build_int(build, i);
		build_text(build, text);
	}
	build_int(build, 5000);
	build_text(build, "()V");
	build_int(build, 5001);
	build_text(build, "libsomething.so.1");
	build_int(build, 21);
	build_int(build, 1);
	build_int(build, 1);
	build_int(build, 0);
	build_int(build, 5001);
	build_int(build, 0);
	build_int(build, 0);
	build_byte(build, 0);
	build_int(build, 28);
	build_int(build, METHODS);
	for (unsigned i = 1; i <= METHODS; i++) {
		build_int(build, i);
		build_int(build, 1);
		build_int(build, i);
		build_int(build, 5000);
		build_int(build, 0x100);
		build_byte(build, 0);
	}
	build_int(build, 29);
	build_int(build, 1);
	build_int(build, 1);
	build_text(build, "Native");
	build_stacks(build, stacks);
	build_event_end(build);
}

static void build_recording(struct build *build, unsigned events, unsigned stacks)
{
	static const char *const types[] = {
		BUILD_STACK_TYPES,
		"demo.SocketRead 1010 jdk.jfr.Event - startTime:11:t duration:11:s "
		"eventThread:22:p "
		"stackTrace:31:p host:20 address:20 port:10 timeout:11:m bytesRead:11:b "
		"endOfStream:4",
		NULL,
	};

	build_chunk_begin(build);
	build_metadata(build, types);
	for (unsigned i = 0; i < events; i++) {
		build_event_begin(build, 1010);
		build_int(build, 1000000 + (uint64_t)i * 5000);
		build_int(build, 1000 + i % 1000);
		build_int(build, 4001 + i % 8);
		build_int(build, i % stacks + 1);
		build_text(build, NULL);
		build_text(build, "10.0.0.1");
		build_int(build, 6379);
		build_int(build, 0);
		build_int(build, i % 4096);
		build_byte(build, 0);
		build_event_end(build);
	}
	build_constants(build, stacks);
	build_chunk_end(build);
}

struct sums {
	uint64_t events;
	uint64_t frames;
	uint64_t bytes;
};

/* Looks at every event with thread and stack, and where `path` is given at one field. */
static void read_all(struct holter_reader *reader, struct holter_path *path, struct sums *sums)
{
	const struct holter_event *event;

	*sums = (struct sums){ .events = 0 };
	while (holter_reader_next(reader, &event) > 0) {
		const struct holter_stack *stack = holter_event_stack(event);
		const struct holter_thread *thread = holter_event_thread(event);
		struct holter_value value;

		sums->events++;
		sums->bytes += (uint64_t)holter_event_start_ns(event);
		sums->bytes += (uint64_t)holter_event_duration_ns(event);
		sums->bytes += thread && thread->os_name ? (uint64_t)thread->os_name[0] : 0;
		for (uint32_t i = 0; stack && i < stack->frame_count; i++) {
			sums->bytes += (uint64_t)stack->frames[i].method->name[0] +
				       (uint64_t)stack->frames[i].line;
			sums->frames++;
		}
		if (path && holter_path_get(path, event, &value) == 0 &&
		    value.kind == HOLTER_KIND_INT)
			sums->bytes += (uint64_t)value.as.integer;
	}
}

static void measure(const char *what, const char *file, const struct build *build,
		    struct holter_path *path)
{
	struct sums sums = { .events = 0 };
	double best = 1e18;

	for (int round = 0; round < ROUNDS; round++) {
		struct holter_reader *reader;
		double start = now_ns();
		int code = file ? holter_reader_open(file, NULL, &reader, NULL)
				: holter_reader_open_memory(build->bytes, build->used, NULL,
							    &reader, NULL);

		if (code) {
			fprintf(stderr, "bench_reader: %s\n", holter_error_text(code));
			exit(1);
		}
		read_all(reader, path, &sums);
		holter_reader_close(reader);
		double time = now_ns() - start;

		best = time < best ? time : best;
	}
	printf("%-28s %8.1f ns an event, %7.2f ms for %llu events with %llu frames\n", what,
	       best / (double)(sums.events ? sums.events : 1), best / 1e6,
	       (unsigned long long)sums.events, (unsigned long long)sums.frames);
}

static void measure_scan(const char *file, const struct build *build)
{
	struct holter_totals totals = { .event_count = 0 };
	double best = 1e18;

	for (int round = 0; round < ROUNDS; round++) {
		struct holter_reader *reader;
		double start = now_ns();
		int code = file ? holter_reader_open(file, NULL, &reader, NULL)
				: holter_reader_open_memory(build->bytes, build->used, NULL,
							    &reader, NULL);

		if (code)
			exit(1);
		holter_reader_scan(reader);
		holter_reader_totals(reader, &totals);
		holter_reader_close(reader);
		double time = now_ns() - start;

		best = time < best ? time : best;
	}
	printf("%-28s %8.1f ns an event\n", "counting only",
	       best / (double)(totals.event_count ? totals.event_count : 1));
}

int main(int argc, char **argv)
{
	unsigned events = argc > 1 ? (unsigned)atoi(argv[1]) : 200000;
	unsigned stacks = argc > 2 ? (unsigned)atoi(argv[2]) : 500;
	const char *file = argc > 3 ? argv[3] : NULL;
	struct build build = { .used = 0 };
	struct holter_path *path = NULL;

	if (!file)
		build_recording(&build, events ? events : 1, stacks ? stacks : 1);
	if (holter_path_create("bytesRead", &path))
		return 1;
	measure("events, threads, stacks", file, &build, NULL);
	measure("the same and a path", file, &build, path);
	measure_scan(file, &build);
	holter_path_destroy(path);
	free(build.bytes);
	return 0;
}
