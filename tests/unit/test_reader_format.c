/*
 * The reader and the format text: the vectors, texts, constants, units, paths, counts.
 *
 * Recordings are made by reader_build.h, which knows nothing of our writer.
 */
#include <check.h>
#include <fcntl.h>
#include <lz4frame.h>
#include <malloc.h>
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/reader_build_meta.h"
#include "tests/unit/reader_walk.h"

static struct holter_reader *open_build(const struct build *build)
{
	struct holter_reader *reader = NULL;

	ck_assert_int_eq(holter_reader_open_memory(build->bytes, build->used, NULL, &reader, NULL),
			 0);
	return reader;
}

static const struct holter_event *next(struct holter_reader *reader)
{
	const struct holter_event *event = NULL;

	ck_assert_int_eq(holter_reader_next(reader, &event), 1);
	return event;
}

static struct holter_value get(const struct holter_event *event, const char *path)
{
	struct holter_value value;
	int code = holter_event_get(event, path, &value);

	ck_assert_msg(code == 0, "%s: %s", path, holter_error_text(code));
	return value;
}

static int64_t get_int(const struct holter_event *event, const char *path)
{
	struct holter_value value = get(event, path);

	ck_assert_msg(value.kind == HOLTER_KIND_INT || value.kind == HOLTER_KIND_UINT, "%s", path);
	return value.as.integer;
}

static const char *get_text(const struct holter_event *event, const char *path)
{
	struct holter_value value = get(event, path);

	ck_assert_msg(value.kind == HOLTER_KIND_STRING, "%s is of kind %d", path, value.kind);
	return value.as.text.data;
}

static void finish(struct build *build, struct holter_reader *reader)
{
	const struct holter_event *event;

	ck_assert_int_eq(holter_reader_next(reader, &event), 0);
	holter_reader_close(reader);
	free(build->bytes);
}

START_TEST(mini)
{
	struct holter_reader *reader;
	const struct holter_event *event;
	struct holter_totals totals;

	ck_assert_int_eq(holter_reader_open("tests/golden/mini.jfr", NULL, &reader, NULL), 0);
	event = next(reader);
	ck_assert_str_eq(holter_type_name(holter_event_type(event)), "demo.Tick");
	ck_assert_int_eq(holter_event_start_ns(event), 1700000000000000500);
	ck_assert_int_eq(get_int(event, "n"), -2);
	ck_assert_str_eq(get_text(event, "text"), "hello");
	ck_assert_uint_eq(holter_event_size(event), 11);
	event = next(reader);
	ck_assert_int_eq(holter_event_start_ns(event), 1700000000000300000);
	ck_assert_int_eq(get_int(event, "n"), 300);
	ck_assert_str_eq(get_text(event, "text"), "h\xc3\xa9y");
	ck_assert_str_eq(holter_type_label(holter_event_type(event)), "Tick");
	ck_assert_str_eq(holter_reader_chunk(reader)->locale, "en");
	ck_assert_int_eq(holter_reader_next(reader, &event), 0);
	ck_assert_int_eq(holter_reader_next(reader, &event), 0);
	holter_reader_totals(reader, &totals);
	ck_assert_uint_eq(totals.event_count, 2);
	ck_assert_uint_eq(totals.byte_count, 517);
	ck_assert_int_eq(totals.duration_ns, 1000000000);
	holter_reader_close(reader);
}
END_TEST

START_TEST(vector_of_jep_328)
{
	static const char *const types[] = {
		BUILD_STACK_TYPES,
		"jdk.ClassLoad 263 jdk.jfr.Event - startTime:11:t duration:11:s eventThread:22:p "
		"stackTrace:31:p loadedClass:21:p definingClassLoader:24:p "
		"initiatingClassLoader:24:p",
		NULL,
	};
	static const uint8_t bytes[24] = { 0x98, 0x80, 0x80, 0x00, 0x87, 0x02, 0x95, 0xae,
					   0xe4, 0xb2, 0x92, 0x03, 0xa2, 0xf7, 0xae, 0x9a,
					   0x94, 0x02, 0x02, 0x01, 0x8d, 0x11, 0x00, 0x00 };
	struct build build = { .used = 0 };
	const struct holter_event *event;
	struct holter_reader *reader;

	build_chunk_begin(&build);
	build_metadata(&build, types);
	build_bytes(&build, bytes, sizeof(bytes));
	build_chunk_end(&build);
	reader = open_build(&build);
	event = next(reader);
	ck_assert_int_eq(get_int(event, "startTime"), 108017555221);
	ck_assert_int_eq(get_int(event, "duration"), 74143480738);
	ck_assert_int_eq(holter_event_start_ns(event), 1700000000000000000 + 108017555221 - 1000);
	ck_assert_int_eq(holter_event_duration_ns(event), 74143480738);
	ck_assert_uint_eq(get(event, "eventThread").key, 2);
	ck_assert_uint_eq(get(event, "stackTrace").key, 1);
	ck_assert_uint_eq(get(event, "loadedClass").key, 2189);
	ck_assert_int_eq(get(event, "loadedClass").kind, HOLTER_KIND_NULL);
	ck_assert_ptr_null(holter_event_stack(event));
	ck_assert_uint_eq(holter_event_size(event), 24);
	finish(&build, reader);
}
END_TEST

static void check_stack_of_malloc_sample(const struct holter_event *event)
{
	const struct holter_stack *stack;
	struct holter_value value;

	stack = holter_event_stack(event);
	ck_assert_uint_eq(stack->frame_count, 3);
	ck_assert_int_eq(stack->frames[0].line, -1);
	ck_assert_int_eq(stack->frames[1].line, 42);
	ck_assert_str_eq(stack->frames[0].type, "N");
	ck_assert_str_eq(stack->frames[1].type, "C");
	ck_assert_str_eq(stack->frames[0].method->class_name, "libc.so.6");
	ck_assert_int_eq(stack->frames[0].method->modifiers, 0x100);
	ck_assert_str_eq(stack->frames[1].method->name, ""); /* method 2 is not there */
	ck_assert_ptr_eq(holter_event_stack(event), stack);
	value = get(event, "stackTrace");
	ck_assert_ptr_eq(holter_value_stack(&value), stack);
	ck_assert_str_eq(get_text(event, "stackTrace.frames[0].method.type.name"), "libc.so.6");
	ck_assert_uint_eq(get(event, "stackTrace.frames").as.count, 3);
	ck_assert_int_eq(get(event, "stackTrace.frames[3]").kind, HOLTER_KIND_NULL);
	ck_assert_int_eq(get(event, "stackTrace.frames[1].method.name").kind, HOLTER_KIND_NULL);
}

START_TEST(vector_of_malloc_sample)
{
	static const char *const types[] = {
		BUILD_STACK_TYPES,
		"native.MallocSample 1001 jdk.jfr.Event - startTime:11:t eventThread:22:p "
		"stackTrace:31:p address:11:u size:11:b weight:11:b",
		NULL,
	};
	static const uint8_t event_bytes[] = { 0x16, 0xe9, 0x07, 0x90, 0xb2, 0x98, 0xd0, 0x12,
					       0x65, 0x01, 0xef, 0xfd, 0xb6, 0xf5, 0xdd, 0xaa,
					       0x15, 0x80, 0x20, 0x80, 0x80, 0x20 };
	/* pools of Thread, StackTrace, Method, Class, Symbol, FrameType */
	static const uint8_t pools[] = {
		22, 1, 0x65, 3,	   4,	 0x6d, 0x61, 0x69, 0x6e, 0x92, 0x21, 0,	  0,   0,
		31, 1, 0x01, 0,	   3,	 0x03, 0xff, 0xff, 0xff, 0xff, 0x0f, 0,	  1,   0x02,
		42, 0, 2,    0x01, 0xff, 0xff, 0xff, 0xff, 0x0f, 0,    1,    28,  1,   0x03,
		2,  3, 4,    0x80, 2,	 0,    21,   1,	   0x02, 0,    6,    0,	  0,   0,
		27, 1, 0x06, 3,	   9,	 'l',  'i',  'b',  'c',	 '.',  's',  'o', '.', '6',
		29, 2, 0x01, 3,	   1,	 'N',  0x02, 3,	   1,	 'C'
	};
	struct build build = { .used = 0 };
	const struct holter_event *event;
	struct holter_reader *reader;

	build_chunk_begin(&build);
	build_metadata(&build, types);
	build_bytes(&build, event_bytes, sizeof(event_bytes));
	build_checkpoint_begin(&build, 6);
	build_bytes(&build, pools, sizeof(pools));
	build_event_end(&build);
	build_chunk_end(&build);
	reader = open_build(&build);
	event = next(reader);
	ck_assert_int_eq(get_int(event, "startTime"), 5000010000);
	ck_assert_int_eq(get_int(event, "address"), 0x5555deadbeef);
	ck_assert_int_eq(get(event, "address").kind, HOLTER_KIND_UINT);
	ck_assert_int_eq(get_int(event, "size"), 4096);
	ck_assert_int_eq(get_int(event, "weight"), 524288);
	ck_assert_int_eq(holter_field_unit(get(event, "weight").field), HOLTER_UNIT_BYTES);
	ck_assert_str_eq(get_text(event, "eventThread.osName"), "main");
	ck_assert_int_eq(get_int(event, "eventThread.osThreadId"), 4242);
	ck_assert_int_eq(get(event, "eventThread.javaName").kind, HOLTER_KIND_NULL);
	ck_assert_int_eq(holter_event_thread(event)->os_id, 4242);
	check_stack_of_malloc_sample(event);
	finish(&build, reader);
}
END_TEST

START_TEST(vector_of_extremes)
{
	static const char *const types[] = {
		"shop.Extreme 2009 jdk.jfr.Event - startTime:11:t duration:11:s eventThread:11 "
		"stackTrace:11 bmin:8 bmax:8 smin:9 smax:9 cmax:5 imin:10 imax:10 lmin:11 lmax:11 "
		"fnan:6 finf:6 fmin:6 dnan:7 dinf:7 dmin:7 tmin:11:m smin2:11:s umax:11:u",
		NULL,
	};
	static const char hex[] =
		"71d90fc2c9bbd402000100807f808002ffff01ffff038080808008ffffffff07808080808080808080"
		"ffffffffffffffff7f7fc00000ff800000000000017ff80000000000007ff0000000000000"
		"8000000000000001808080808080808080808080808080808080ffffffffffffffffff";
	struct build build = { .used = 0 };
	const struct holter_event *event;
	struct holter_reader *reader;
	struct holter_value value;
	int64_t ns;

	build_chunk_begin(&build);
	build_metadata(&build, types);
	for (const char *at = hex; *at; at += 2) {
		char byte[3] = { at[0], at[1], 0 };

		build_byte(&build, (uint8_t)strtoul(byte, NULL, 16));
	}
	build_chunk_end(&build);
	reader = open_build(&build);
	event = next(reader);
	ck_assert_uint_eq(holter_event_size(event), 113);
	ck_assert_int_eq(get_int(event, "bmin"), INT8_MIN);
	ck_assert_int_eq(get_int(event, "bmax"), INT8_MAX);
	ck_assert_int_eq(get_int(event, "smin"), INT16_MIN);
	ck_assert_int_eq(get_int(event, "smax"), INT16_MAX);
	ck_assert_int_eq(get(event, "cmax").kind, HOLTER_KIND_CHAR);
	ck_assert_uint_eq(get(event, "cmax").as.number, 0xffff);
	ck_assert_int_eq(get_int(event, "imin"), INT32_MIN);
	ck_assert_int_eq(get_int(event, "imax"), INT32_MAX);
	ck_assert(get_int(event, "lmin") == INT64_MIN);
	ck_assert(get_int(event, "lmax") == INT64_MAX);
	ck_assert(isnan(get(event, "fnan").as.real));
	ck_assert(isinf(get(event, "finf").as.real) && get(event, "finf").as.real < 0);
	ck_assert(get(event, "fmin").as.real == 0x1p-149);
	ck_assert(isnan(get(event, "dnan").as.real));
	ck_assert(isinf(get(event, "dinf").as.real));
	ck_assert(get(event, "dmin").as.real == -0x1p-1074);
	value = get(event, "tmin");
	ck_assert_int_eq(holter_value_ns(&value, &ns), 0);
	ck_assert(ns == INT64_MIN);
	value = get(event, "umax");
	ck_assert_uint_eq(value.as.number, UINT64_MAX);
	ck_assert_int_eq(holter_value_ns(&value, &ns), HOLTER_E_UNIT);
	value = get(event, "dmin");
	ck_assert_int_eq(holter_value_ns(&value, &ns), HOLTER_E_WRONG_KIND);
	finish(&build, reader);
}
END_TEST

static const struct {
	const char *bytes;
	size_t size;
	const char *text;
} text_cases[] = {
	{ "\0", 1, NULL },
	{ "\1", 1, "" },
	{ "\2\7", 2, "seven" },
	{ "\2\x08", 2, NULL }, /* no such constant */
	{ "\3\3abc", 5, "abc" },
	{ "\3\0", 2, "" },
	{ "\3\4\xf0\x9f\x98\x80", 6, "\xf0\x9f\x98\x80" },
	{ "\3\3\xff\xfe\x41", 5, "\xef\xbf\xbd\xef\xbf\xbd\x41" },
	{ "\3\4\xed\xa0\x80x", 6, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx" }, /* surrogate */
	{ "\3\2\xc0\x80", 4, "\xef\xbf\xbd\xef\xbf\xbd" },		     /* overlong */
	{ "\3\3\xe2\x82x", 5, "\xef\xbf\xbdx" },			     /* cut off */
	{ "\4\3"
	  "a\xe9\x01\x62",
	  6,
	  "a\xc3\xa9"
	  "b" },
	{ "\4\2\xbd\xb0\x03\x80\xbc\x03", 8, "\xf0\x9f\x98\x80" },
	{ "\4\2\xbd\xb0\x03"
	  "a",
	  6,
	  "\xef\xbf\xbd"
	  "a" }, /* half a pair */
	{ "\5\2\xe9"
	  "a",
	  4,
	  "\xc3\xa9"
	  "a" },
};

START_TEST(texts_in_every_encoding)
{
	static const char *const types[] = { "demo.T 100 jdk.jfr.Event - startTime:11:t text:20",
					     NULL };
	struct build build = { .used = 0 };
	struct holter_reader *reader;

	build_chunk_begin(&build);
	build_metadata(&build, types);
	for (size_t i = 0; i < sizeof(text_cases) / sizeof(text_cases[0]); i++) {
		build_event_begin(&build, 100);
		build_int(&build, 2000);
		build_bytes(&build, text_cases[i].bytes, text_cases[i].size);
		build_event_end(&build);
	}
	build_checkpoint_begin(&build, 1);
	build_bytes(&build, "\x14\1\7\3\5seven", 10);
	build_event_end(&build);
	build_chunk_end(&build);
	reader = open_build(&build);
	for (size_t i = 0; i < sizeof(text_cases) / sizeof(text_cases[0]); i++) {
		struct holter_value value = get(next(reader), "text");

		if (!text_cases[i].text) {
			ck_assert_int_eq(value.kind, HOLTER_KIND_NULL);
			continue;
		}
		ck_assert_int_eq(value.kind, HOLTER_KIND_STRING);
		ck_assert_msg(strcmp(value.as.text.data, text_cases[i].text) == 0, "text %zu: %s",
			      i, value.as.text.data);
		ck_assert_uint_eq(value.as.text.length, strlen(text_cases[i].text));
	}
	finish(&build, reader);
}
END_TEST

START_TEST(a_wrong_encoding_costs_its_event_only)
{
	static const char *const types[] = { "demo.T 100 jdk.jfr.Event - startTime:11:t text:20",
					     NULL };
	struct build build = { .used = 0 };
	struct holter_reader *reader;

	build_chunk_begin(&build);
	build_metadata(&build, types);
	build_bytes(&build, "\5\x64\1\6\1", 5);
	build_bytes(&build, "\5\x64\2\1\0", 5); /* one byte too many: skipped */
	build_chunk_end(&build);
	reader = open_build(&build);
	ck_assert_int_eq(get_int(next(reader), "startTime"), 2);
	ck_assert_int_eq(holter_reader_problem(reader, 0)->code, HOLTER_E_CORRUPT);
	ck_assert_uint_eq(holter_reader_problem(reader, 0)->bytes_lost, 5);
	ck_assert_ptr_null(holter_reader_problem(reader, 1));
	finish(&build, reader);
}
END_TEST

/* A chunk with one event of a Symbol, and checkpoints as the callback makes them. */
static struct holter_reader *open_with_checkpoints(struct build *build,
						   void (*make)(struct build *build))
{
	static const char *const types[] = {
		BUILD_STACK_TYPES,
		"demo.T 100 jdk.jfr.Event - startTime:11:t symbol:27:p class:21:p",
		NULL,
	};

	build_chunk_begin(build);
	build_metadata(build, types);
	build_bytes(build, "\5\x64\1\7\1", 5);
	make(build);
	build_chunk_end(build);
	return open_build(build);
}

static void make_symbol(struct build *build, const char *text)
{
	build_checkpoint_begin(build, 1);
	build_bytes(build, "\x1b\1\7", 3);
	build_text(build, text);
	build_event_end(build);
}

static void make_chain(struct build *build)
{
	make_symbol(build, "old");
	make_symbol(build, "new");
}

/* The older of two leads on to the newer one. */
static void make_loop(struct build *build)
{
	size_t older = build->used;

	make_symbol(build, "old");
	make_symbol(build, "new");
	/* Behind four bytes of size, the type, two of ticks and the duration. */
	build->bytes[older + 8] = (uint8_t)(build->chunk + build->checkpoint - older);
}

static void make_circle(struct build *build)
{
	build_checkpoint_begin(build, 2);
	/* Class 1 has class loader 1, whose type is class 1. */
	build_bytes(build, "\x15\1\1\1\0\0\0\0", 8);
	build_bytes(build, "\x18\1\1\1\0", 5);
	build_event_end(build);
}

static void make_unknown_pool(struct build *build)
{
	make_symbol(build, "kept");
	build_checkpoint_begin(build, 2);
	build_bytes(build, "\x63\1\7\1", 4);
	build_bytes(build, "\x1b\1\7\1", 4);
	build_event_end(build);
}

START_TEST(newest_constant_counts)
{
	struct build build = { .used = 0 };
	struct holter_reader *reader = open_with_checkpoints(&build, make_chain);

	ck_assert_str_eq(get_text(next(reader), "symbol"), "new");
	ck_assert_uint_eq(holter_reader_chunk(reader)->duplicate_count, 1);
	ck_assert_uint_eq(holter_reader_chunk(reader)->checkpoint_count, 2);
	finish(&build, reader);
}
END_TEST

START_TEST(a_loop_of_checkpoints_ends)
{
	struct build build = { .used = 0 };
	struct holter_reader *reader = open_with_checkpoints(&build, make_loop);

	ck_assert_str_eq(get_text(next(reader), "symbol"), "new");
	ck_assert_uint_le(holter_reader_chunk(reader)->checkpoint_count, 10);
	ck_assert_ptr_nonnull(holter_reader_problem(reader, 0));
	finish(&build, reader);
}
END_TEST

static int deepest(const struct holter_value *value, int depth)
{
	struct holter_value member;
	struct holter_walk walk;
	int deep = depth;

	if (depth == 100)
		return depth;
	holter_walk_begin(&walk, value);
	while (holter_walk_next(&walk, &member) > 0) {
		int below = deepest(&member, depth + 1);

		deep = below > deep ? below : deep;
	}
	return deep;
}

START_TEST(circles_of_constants_can_be_walked)
{
	struct build build = { .used = 0 };
	struct holter_reader *reader = open_with_checkpoints(&build, make_circle);
	const struct holter_event *event = next(reader);
	struct holter_value value = holter_event_value(event);

	ck_assert_int_eq(deepest(&value, 0), 100);
	ck_assert_uint_eq(get(event, "class.classLoader.type.classLoader.type").key, 1);
	finish(&build, reader);
}
END_TEST

START_TEST(a_pool_of_an_unknown_type_costs_its_checkpoint)
{
	struct build build = { .used = 0 };
	struct holter_reader *reader = open_with_checkpoints(&build, make_unknown_pool);

	ck_assert_str_eq(get_text(next(reader), "symbol"), "kept");
	ck_assert_int_eq(holter_reader_problem(reader, 0)->severity, HOLTER_DAMAGE);
	finish(&build, reader);
}
END_TEST

START_TEST(types_that_contain_themselves)
{
	static const char *const types[] = {
		"demo.A 50 - - b:51",
		"demo.B 51 - - a:50",
		"demo.S 52 - simple self:52:p",
		"demo.N 53 - simple inner:54",
		"demo.M 54 - simple text:20",
		"demo.Bad 100 jdk.jfr.Event - startTime:11:t a:50",
		"demo.Good 101 jdk.jfr.Event - startTime:11:t s:52:p n:53 list:54:a",
		"demo.Lost 102 jdk.jfr.Event - startTime:11:t x:99",
		NULL,
	};
	struct build build = { .used = 0 };
	const struct holter_event *event;
	struct holter_reader *reader;

	build_chunk_begin(&build);
	build_metadata(&build, types);
	build_bytes(&build, "\4\x64\1\1", 4);
	build_bytes(&build, "\4\x66\1\1", 4);
	build_bytes(&build, "\x0e\x65\1\1\3\1x\2\3\1y\3\1z", 14);
	build_checkpoint_begin(&build, 1);
	build_bytes(&build, "\x34\2\1\2\2\1", 6); /* S 1 -> S 2 -> S 1 */
	build_event_end(&build);
	build_chunk_end(&build);
	reader = open_build(&build);
	event = next(reader);
	ck_assert_str_eq(holter_type_name(holter_event_type(event)), "demo.Good");
	ck_assert_int_eq(get(event, "s").kind, HOLTER_KIND_NULL);
	ck_assert_str_eq(get_text(event, "n"), "x");
	ck_assert_str_eq(get_text(event, "list[1]"), "z");
	ck_assert_int_eq(get(event, "list").kind, HOLTER_KIND_ARRAY);
	struct holter_totals totals;
	holter_reader_totals(reader, &totals);
	ck_assert_uint_eq(totals.bad_event_count, 2);
	finish(&build, reader);
}
END_TEST

START_TEST(old_names_are_mapped)
{
	static const char *const types[] = {
		"com.oracle.jfr.types.StackTrace 31 - - truncated:4",
		"com.oracle.jdk.CPULoad 100 com.oracle.jfr.Event - startTime:11:t",
		NULL,
	};
	struct build build = { .used = 0 };
	struct holter_reader *reader;

	build_chunk_begin(&build);
	build_metadata(&build, types);
	build_bytes(&build, "\3\x64\1", 3);
	build_chunk_end(&build);
	build.bytes[5] = 1;
	build.bytes[7] = 0;
	reader = open_build(&build);
	ck_assert_str_eq(holter_type_name(holter_event_type(next(reader))), "jdk.CPULoad");
	ck_assert_ptr_nonnull(holter_reader_find_type(reader, "jdk.types.StackTrace"));
	finish(&build, reader);
}
END_TEST

START_TEST(paths_that_are_wrong)
{
	static const char *const wrong[] = { "",    ".",    "a.",  ".a", "a..b", "a[",
					     "a[]", "a[x]", "a[1", "a]", "[1]",	 "a[1]b" };
	struct holter_reader *reader;
	struct holter_path *path;
	struct holter_value value;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_msg(holter_path_create(wrong[i], &path) == HOLTER_E_SYNTAX, "%s",
			      wrong[i]);
	ck_assert_int_eq(holter_reader_open("tests/golden/mini.jfr", NULL, &reader, NULL), 0);
	const struct holter_event *event = next(reader);

	ck_assert_int_eq(holter_event_get(event, "m", &value), HOLTER_E_NO_FIELD);
	ck_assert_int_eq(holter_event_get(event, "n.x", &value), HOLTER_E_NO_FIELD);
	ck_assert_int_eq(holter_event_get(event, "n[0]", &value), HOLTER_E_NO_FIELD);
	ck_assert_int_eq(holter_event_field(event, 3, &value), HOLTER_E_NO_FIELD);
	holter_reader_close(reader);
}
END_TEST

START_TEST(one_path_for_many_readers)
{
	struct holter_path *path;
	uint64_t found = 0;

	ck_assert_int_eq(holter_path_create("stackTrace.frames[0].method.name", &path), 0);
	for (int round = 0; round < 3; round++) {
		const char *file = round == 1 ? "tests/golden/mini.jfr"
				   : round    ? "tests/golden/native-proto.jfr.lz4"
					      : "tests/golden/native-proto.jfr";
		const struct holter_event *event;
		struct holter_reader *reader;
		struct holter_value value;

		ck_assert_int_eq(holter_reader_open(file, NULL, &reader, NULL), 0);
		while (holter_reader_next(reader, &event) > 0)
			found += holter_path_get(path, event, &value) == 0 &&
				 value.kind == HOLTER_KIND_STRING;
		holter_reader_close(reader);
	}
	ck_assert_uint_gt(found, 4);
	ck_assert_uint_eq(found % 2, 0);
	holter_path_destroy(path);
}
END_TEST

START_TEST(rewind_chunks_and_events_again)
{
	const struct holter_event *event;
	struct holter_reader *reader;
	uint64_t offsets[64];
	size_t count = 0;

	ck_assert_int_eq(
		holter_reader_open("tests/golden/native-proto.jfr.lz4", NULL, &reader, NULL), 0);
	ck_assert_int_eq(holter_reader_container(reader), HOLTER_LZ4);
	ck_assert_ptr_null(holter_reader_chunk(reader));
	ck_assert_int_eq(holter_reader_next_chunk(reader), 1);
	ck_assert_int_eq(holter_reader_next_chunk(reader), 1); /* the first is skipped */
	ck_assert_uint_eq(holter_reader_chunk(reader)->number, 1);
	while (holter_reader_next_in_chunk(reader, &event) > 0)
		offsets[count++] = holter_event_offset(event);
	while (count--) {
		ck_assert_int_eq(holter_reader_event_at(reader, offsets[count], &event), 0);
		ck_assert_uint_eq(holter_event_offset(event), offsets[count]);
	}
	ck_assert_int_eq(holter_reader_event_at(reader, 5, &event), HOLTER_E_ARGUMENT);
	ck_assert_int_eq(holter_reader_event_at(reader, UINT64_MAX, &event), HOLTER_E_ARGUMENT);
	ck_assert_int_eq(holter_reader_next_chunk(reader), 0);
	ck_assert_int_eq(holter_reader_rewind(reader), 0);
	struct walked walked = { .code = 0 };
	walk_reader(&walked, reader);
	ck_assert_uint_eq(walked.events, 20);
	holter_reader_close(reader);
}
END_TEST

START_TEST(a_pipe_is_read_as_a_file)
{
	size_t size;
	uint8_t *bytes = read_golden("native-proto.jfr", &size);
	struct walked walked = { .code = 0 };
	struct holter_reader *reader;
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq((int)write(ends[1], bytes, size), (int)size); /* fits a pipe */
	close(ends[1]);
	ck_assert_int_eq(holter_reader_open_fd(ends[0], NULL, &reader, NULL), 0);
	walk_reader(&walked, reader);
	ck_assert_uint_eq(walked.events, 20);
	ck_assert_uint_eq(walked.damage, 0);
	ck_assert_int_eq(holter_reader_rewind(reader), HOLTER_E_ARGUMENT);
	holter_reader_close(reader);
	ck_assert_int_eq(fcntl(ends[0], F_GETFD), 0); /* still the caller's */
	close(ends[0]);
	free(bytes);
}
END_TEST

#define LARGE_CHUNKS 100u
#define LARGE_EVENTS 40u
#define LARGE_TEXT 8192u

/* Chunks full of noise, which no compression makes small. */
static void build_noise(struct build *build)
{
	static const char *const types[] = { "demo.T 100 jdk.jfr.Event - startTime:11:t text:20",
					     NULL };
	uint32_t random = 1;

	for (unsigned chunk = 0; chunk < LARGE_CHUNKS; chunk++) {
		build_chunk_begin(build);
		build_metadata(build, types);
		for (unsigned i = 0; i < LARGE_EVENTS; i++) {
			build_event_begin(build, 100);
			build_int(build, 2000 + i);
			build_byte(build, 5);
			build_int(build, LARGE_TEXT);
			for (unsigned k = 0; k < LARGE_TEXT; k++) {
				random = random * 1664525 + 1013904223;
				build_byte(build, (uint8_t)(random >> 24));
			}
			build_event_end(build);
		}
		build_chunk_end(build);
	}
}

static void write_large(const char *path, bool is_lz4)
{
	struct build build = { .used = 0 };
	FILE *file = fopen(path, "wb");
	uint8_t *packed;
	size_t room;

	build_noise(&build);
	room = LZ4F_compressFrameBound(build.used, NULL);
	packed = malloc(room);
	if (is_lz4)
		fwrite(packed, 1, LZ4F_compressFrame(packed, room, build.bytes, build.used, NULL),
		       file);
	else
		fwrite(build.bytes, 1, build.used, file);
	fclose(file);
	free(packed);
	free(build.bytes);
}

/* Larger than what is given back at once while reading, and read twice. */
START_TEST(large_files_are_read_in_pieces)
{
	char path[] = "/tmp/holter-large-XXXXXX";
	struct holter_totals totals;
	struct holter_reader *reader;
	uint64_t values = 0;

	/* A hole above the file's map, into which the buffer of decoded bytes grows: the two must
	 * not be taken for each other. */
	void *hole = mmap(NULL, 4u << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	close(mkstemp(path));
	write_large(path, _i == 1);
	ck_assert_int_eq(holter_reader_open(path, NULL, &reader, NULL), 0);
	munmap(hole, 4u << 20);
	unlink(path);
	for (int round = 0; round < 2; round++) {
		struct walked walked = { .code = 0 };

		walk_reader(&walked, reader);
		ck_assert_uint_eq(walked.events, LARGE_CHUNKS * LARGE_EVENTS);
		ck_assert_uint_eq(walked.damage, 0);
		ck_assert(!round || walked.values == values);
		values = walked.values;
		holter_reader_totals(reader, &totals);
		ck_assert_uint_eq(totals.chunk_count, LARGE_CHUNKS);
		ck_assert_int_eq(holter_reader_rewind(reader), 0);
	}
	holter_reader_close(reader);
}
END_TEST

START_TEST(counts_without_decoding)
{
	const struct holter_type_count *counts;
	struct holter_reader *reader;
	uint64_t events = 0;
	uint64_t bytes = 0;

	ck_assert_int_eq(holter_reader_open("tests/golden/native-proto.jfr", NULL, &reader, NULL),
			 0);
	ck_assert_int_eq(holter_reader_scan(reader), 0);
	for (size_t i = holter_reader_counts(reader, &counts); i--;) {
		events += counts[i].count;
		bytes += counts[i].bytes;
	}
	ck_assert_uint_eq(bytes, 13744 - 2 * 68);
	ck_assert_uint_ge(events, 20 + 2 + 2);
	holter_reader_close(reader);
}
END_TEST

int main(void)
{
	Suite *all = suite_create("reader format");
	TCase *tcase = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, mini);
	tcase_add_test(tcase, vector_of_jep_328);
	tcase_add_test(tcase, vector_of_malloc_sample);
	tcase_add_test(tcase, vector_of_extremes);
	tcase_add_test(tcase, texts_in_every_encoding);
	tcase_add_test(tcase, a_wrong_encoding_costs_its_event_only);
	tcase_add_test(tcase, newest_constant_counts);
	tcase_add_test(tcase, a_loop_of_checkpoints_ends);
	tcase_add_test(tcase, circles_of_constants_can_be_walked);
	tcase_add_test(tcase, a_pool_of_an_unknown_type_costs_its_checkpoint);
	tcase_add_test(tcase, types_that_contain_themselves);
	tcase_add_test(tcase, old_names_are_mapped);
	tcase_add_test(tcase, paths_that_are_wrong);
	tcase_add_test(tcase, one_path_for_many_readers);
	tcase_add_test(tcase, rewind_chunks_and_events_again);
	tcase_add_test(tcase, a_pipe_is_read_as_a_file);
	tcase_add_loop_test(tcase, large_files_are_read_in_pieces, 0, 2);
	tcase_add_test(tcase, counts_without_decoding);
	suite_add_tcase(all, tcase);
	runner = srunner_create(all);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
