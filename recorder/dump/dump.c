/*
 * The order of a dump: copy, open the file, metadata, events, constants, header, name.
 *
 * In: a region and options. Out: a finished file or an error in words. Everything is copied out of
 * the region before a byte is written, so that slow storage does not cost events. Never here:
 * bytes.
 */
#include "recorder/dump/dump.h"

#include <time.h>

#include "recorder/base/text.h"
#include "recorder/dump/meta_write.h"
#include "recorder/dump/once_write.h"
#include "recorder/sys/raw.h"

#define GAP_NS 50000000ull /* a thread number is not given again within this time */
#define NS_PER_SECOND 1000000000ull
#define UNIQUE_NS 1000000ull /* start times of two dumps differ by chance within this */

/* All of one dump; in mapped memory, since it is too large for a small stack. */
struct dump {
	const struct rec_region *region;
	const struct rec_dump_options *options;
	struct rec_dump_result *result;
	struct rec_snapshot snapshot;
	struct rec_thread_list threads;
	struct rec_pools pools;
	struct rec_own_types own;
	struct rec_sink sink;
	struct rec_sink_name name;
	struct rec_stream stream;
	struct rec_encoder encoder;
	struct rec_chunk_header header;
	struct rec_clock clock;
	struct rec_vec metadata;
	uint64_t now_ticks, now_epoch_ns, begin_mono_ns, begin_cpu_ns;
	char directory[REC_SINK_PATH];
	char program[64];
	char path[REC_SINK_PATH]; /* where the names of the region are read to */
};

static uint64_t clock_ns(int clock)
{
	struct timespec now = { 0, 0 };

	raw_syscall3(SYS_clock_gettime, clock, (long)&now, 0);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

/* The one mapping of ticks to time of this file, and where the present stands in it. */
static void set_clock(struct dump *dump)
{
	struct rec_clock stored = dump->region->header->clock;

	if (stored.ticks_per_second == 0)
		stored.ticks_per_second = NS_PER_SECOND;
	rec_clock_refine(&stored, &dump->clock);
	dump->now_ticks = stored.is_tsc ? __builtin_ia32_rdtsc() : clock_ns(CLOCK_MONOTONIC_RAW);
	dump->now_epoch_ns = clock_ns(CLOCK_REALTIME);
}

static bool read_name(struct dump *dump, uint32_t name)
{
	return name && rec_names_read(dump->region, name, dump->path, sizeof(dump->path)) > 0;
}

static const struct rec_process *root_of(struct dump *dump)
{
	const struct rec_module_list *tables = &dump->pools.frames.modules;
	uint32_t index = rec_module_list_process(tables, 0, dump->region->header->root_pid);

	return index == REC_NONE ? NULL : rec_module_list_at(tables, index);
}

/* The value of dir= in the region's configuration; a backslash makes a comma part of it. */
static bool configured_directory(struct dump *dump)
{
	const char *text = dump->region->text;
	size_t length = strnlen(text, REC_TEXT_BYTES), used = 0;

	for (size_t i = 0; i + 4 < length; i++) {
		if (memcmp(text + i, "dir=", 4) != 0 ||
		    (i > 0 && text[i - 1] != ',' && text[i - 1] != '\n'))
			continue;
		for (i += 4; i < length && text[i] != ',' && text[i] != '\n'; i++) {
			i += text[i] == '\\' && i + 1 < length;
			if (used + 1 < sizeof(dump->directory))
				dump->directory[used++] = text[i];
		}
		break;
	}
	dump->directory[used] = 0;
	return used > 0;
}

/* The folder of an unnamed file: given, configured, where the program started, /tmp. */
static void choose_directory(struct dump *dump)
{
	const struct rec_process *root = root_of(dump);
	struct text text;
	char *relative = dump->directory;

	if (!dump->options->directory && !configured_directory(dump)) {
		text = text_init(dump->directory, sizeof(dump->directory));
		text_put(&text, root && read_name(dump, root->directory) ? dump->path : "/tmp");
		return;
	}
	if (dump->options->directory) {
		text = text_init(dump->directory, sizeof(dump->directory));
		text_put(&text, dump->options->directory);
		return;
	}
	if (relative[0] == '/' || !root || !read_name(dump, root->directory))
		return;
	/* Of the program, not of whoever dumps. */
	text = text_init(dump->path + strlen(dump->path), sizeof(dump->path) - strlen(dump->path));
	text_put(&text, "/");
	text_put(&text, relative);
	memcpy(dump->directory, dump->path, sizeof(dump->directory));
}

static void choose_name(struct dump *dump)
{
	const struct rec_dump_options *options = dump->options;
	const struct rec_process *root = root_of(dump);
	struct text text = text_init(dump->program, sizeof(dump->program));
	size_t length = options->path ? strlen(options->path) : 0;

	if (root && read_name(dump, root->executable)) {
		const char *slash = strrchr(dump->path, '/');

		text_put(&text, slash ? slash + 1 : dump->path);
	} else if (root) {
		text_put_bytes(&text, root->name, strnlen(root->name, sizeof(root->name)));
	}
	if (!dump->program[0])
		text_put(&text, "program");
	choose_directory(dump);
	dump->name = (struct rec_sink_name){
		.path = options->path,
		.directory = dump->directory,
		.program = dump->program,
		.pid = dump->region->header->root_pid,
		.epoch_seconds = dump->now_epoch_ns / NS_PER_SECOND,
		.is_compressed = options->compress,
		.force = options->force,
	};
	if (options->compress < 0 && options->path)
		dump->name.is_compressed =
			length > 4 && strcmp(options->path + length - 4, ".lz4") == 0;
	else if (options->compress < 0)
		dump->name.is_compressed = dump->region->header->compress != 0;
}

/* Everything out of the region, as fast as can be; files come later. */
static int copy_region(struct dump *dump)
{
	int code = rec_snapshot_take(&dump->snapshot, dump->region);

	if (code == 0)
		code = rec_thread_list_build(&dump->threads, &dump->snapshot, dump->region,
					     rec_clock_span_ticks(&dump->clock, GAP_NS));
	if (code == 0)
		code = rec_pools_init(&dump->pools, dump->region, &dump->threads,
				      dump->options->symbolizer);
	if (code == 0)
		code = rec_snapshot_begin(&dump->snapshot);
	rec_own_types_read(&dump->own, dump->region);
	return code;
}

/* Ticks of a time since the epoch. */
static uint64_t ticks_at(const struct dump *dump, uint64_t epoch_ns)
{
	const struct rec_clock *clock = &dump->clock;

	if (epoch_ns >= clock->base_epoch_ns)
		return clock->base_ticks +
		       rec_clock_span_ticks(clock, epoch_ns - clock->base_epoch_ns);
	uint64_t before = rec_clock_span_ticks(clock, clock->base_epoch_ns - epoch_ns);

	return before < clock->base_ticks ? clock->base_ticks - before : 0;
}

static void prepare_encoder(struct dump *dump)
{
	const struct rec_dump_options *options = dump->options;
	struct rec_encoder *encoder = &dump->encoder;
	uint64_t second = rec_clock_span_ticks(&dump->clock, NS_PER_SECOND);
	uint64_t last = options->last_ns ? rec_clock_span_ticks(&dump->clock, options->last_ns) : 0;

	encoder->stream = &dump->stream;
	encoder->pools = &dump->pools;
	/* Small numbers make short varints: the file's clock starts with the region. */
	encoder->tick_zero = dump->clock.base_ticks > second ? dump->clock.base_ticks - second : 0;
	/* Records go on arriving while we copy, and clocks of two CPUs may differ a little. */
	encoder->sane_ticks = dump->now_ticks + 10 * second;
	/*
	 * A cut in time: a chunk that was copied while it was being filled lacks what came later,
	 * so newer chunks of its thread would leave a gap in the middle.
	 */
	encoder->max_ticks = dump->now_ticks;
	if (last && last < dump->now_ticks)
		encoder->min_ticks = dump->now_ticks - last;
	if (options->begin_epoch_ns)
		encoder->min_ticks =
			max_u64(encoder->min_ticks, ticks_at(dump, options->begin_epoch_ns));
	if (options->end_epoch_ns)
		encoder->max_ticks =
			min_u64(encoder->max_ticks, ticks_at(dump, options->end_epoch_ns));
	rec_encoder_init(encoder, &dump->own);
}

static void write_events(struct dump *dump)
{
	const struct rec_cursor *cursor;

	while ((cursor = rec_snapshot_next(&dump->snapshot)) != NULL) {
		rec_encoder_record(&dump->encoder, cursor);
		if (unlikely(dump->sink.code || dump->pools.code))
			return;
	}
}

static void write_once(struct dump *dump)
{
	struct rec_once once = {
		.region = dump->region,
		.encoder = &dump->encoder,
		.snapshot = &dump->snapshot,
		.clock = &dump->clock,
		.reason = dump->options->reason,
		.destination = dump->sink.path,
		.now_ticks = max_u64(dump->now_ticks, dump->encoder.last_ticks),
		.begin_cpu_ns = dump->begin_cpu_ns,
	};

	rec_once_write(&once);
	dump->now_ticks = once.now_ticks;
	dump->result->events_lost = once.events_lost;
}

/*
 * The chunk's time: from the first end of an event to the dump. It begins up to a millisecond
 * earlier, since JMC drops a chunk that begins when another of the same file does (T2) and two
 * dumps of one region may begin with the same event.
 */
static void set_times(struct dump *dump)
{
	struct rec_chunk_header *header = &dump->header;
	uint64_t first = min_u64(dump->encoder.first_ticks, dump->now_ticks);
	uint64_t early = rec_clock_span_ticks(&dump->clock, dump->now_epoch_ns % UNIQUE_NS);

	first = first > dump->encoder.tick_zero + early ? first - early : dump->encoder.tick_zero;
	header->start_ticks = rec_encoder_ticks(&dump->encoder, first);
	header->start_nanos = rec_clock_epoch_ns(&dump->clock, first);
	header->duration_nanos = rec_clock_span_ns(&dump->clock, dump->now_ticks - first);
	header->ticks_per_second = dump->clock.ticks_per_second;
}

/* The content of the file. */
static int write_chunk(struct dump *dump)
{
	struct rec_chunk_header *header = &dump->header;
	struct rec_stream *stream = &dump->stream;
	uint8_t bytes[JFR_HEADER_BYTES];
	int code = rec_stream_begin(stream, &dump->sink, dump->name.is_compressed);

	if (code)
		return code;
	code = rec_meta_write(&dump->metadata, rec_encoder_ticks(&dump->encoder, dump->now_ticks),
			      dump->now_epoch_ns, &dump->own);
	if (code)
		return code;
	header->metadata = rec_stream_offset(stream);
	rec_stream_put(stream, dump->metadata.data, dump->metadata.used);
	write_events(dump);
	write_once(dump);
	if (dump->pools.code)
		return dump->pools.code;
	header->checkpoint = rec_stream_offset(stream);
	rec_pools_write(&dump->pools, stream, rec_encoder_ticks(&dump->encoder, dump->now_ticks));
	header->bytes = rec_stream_offset(stream);
	set_times(dump);
	rec_chunk_header(bytes, header);
	return rec_stream_end(stream, bytes);
}

static int write_file(struct dump *dump)
{
	int code = copy_region(dump);

	if (code)
		return code;
	choose_name(dump);
	code = rec_sink_open(&dump->sink, &dump->name);
	if (code)
		return code;
	prepare_encoder(dump);
	code = write_chunk(dump);
	if (code == 0)
		code = rec_sink_commit(&dump->sink, &dump->name);
	rec_sink_abort(&dump->sink);
	return code;
}

static void report(struct dump *dump, int code)
{
	struct rec_dump_result *result = dump->result;
	struct text error = text_init(result->error, sizeof(result->error));
	struct text path = text_init(result->path, sizeof(result->path));

	result->chunks_copied = dump->snapshot.piece_count;
	result->chunks_recycled = dump->snapshot.recycled;
	result->chunks_damaged = dump->snapshot.damaged;
	result->cpu_ns = rec_once_cpu_ns() - dump->begin_cpu_ns;
	result->wall_ns = clock_ns(CLOCK_MONOTONIC) - dump->begin_mono_ns;
	if (code) {
		text_put(&error, dump->sink.code ? dump->sink.error : holter_error_text(code));
		return;
	}
	text_put(&path, dump->sink.path);
	result->bytes = dump->sink.bytes;
	result->events = dump->encoder.events;
}

int rec_dump_write(struct rec_region *region, const struct rec_dump_options *options,
		   struct rec_dump_result *result)
{
	struct rec_vec memory = { NULL, 0, 0 };
	struct dump *dump;
	int code;

	memset(result, 0, sizeof(*result));
	if (!region->base || !rec_vec_grow(&memory, sizeof(*dump))) {
		code = region->base ? HOLTER_E_NOMEM : HOLTER_E_REGION;
		text_copy(result->error, result->error + sizeof(result->error),
			  holter_error_text(code));
		return code;
	}
	dump = (struct dump *)memory.data;
	dump->region = region;
	dump->options = options;
	dump->result = result;
	dump->sink.fd = -1;
	dump->begin_mono_ns = clock_ns(CLOCK_MONOTONIC);
	dump->begin_cpu_ns = rec_once_cpu_ns();
	set_clock(dump);
	code = write_file(dump);
	report(dump, code);
	rec_stream_free(&dump->stream);
	rec_vec_free(&dump->metadata);
	rec_pools_free(&dump->pools);
	rec_thread_list_free(&dump->threads);
	rec_snapshot_free(&dump->snapshot);
	rec_vec_free(&memory);
	return code;
}
