/*
 * Prints what the reader makes of a recording as JSON, one value a line where it matters, in the
 * layout of `jfr print --json`, for reader_conformance.py to compare with the truth.
 *
 * Usage: reader_dump events|counts|chunks FILE
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/holter_reader.h"

#define DEPTH_MAX 64
#define FRAMES_MAX 64 /* --stack-depth of the truth */

static void print_text(const char *text, size_t length)
{
	putchar('"');
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)text[i];

		if (byte == '"' || byte == '\\')
			printf("\\%c", byte);
		else if (byte < 0x20 || byte == 0x7f)
			printf("\\u%04x", byte);
		else
			putchar(byte);
	}
	putchar('"');
}

static void print_value(const struct holter_value *value, int depth);

static void print_members(const struct holter_value *value, int depth)
{
	bool is_struct = value->kind == HOLTER_KIND_STRUCT;
	struct holter_value member;
	struct holter_walk walk;
	bool is_first = true;
	int code;

	putchar(is_struct ? '{' : '[');
	holter_walk_begin(&walk, value);
	while ((code = holter_walk_next(&walk, &member)) > 0) {
		const char *name = member.field ? holter_field_name(member.field) : "";

		if (!is_struct && walk.index > FRAMES_MAX && value->field &&
		    strcmp(holter_field_name(value->field), "frames") == 0)
			break;
		if (!is_first)
			putchar(',');
		is_first = false;
		if (is_struct) {
			print_text(name, strlen(name));
			putchar(':');
		}
		print_value(&member, depth + 1);
	}
	putchar(is_struct ? '}' : ']');
	if (code < 0)
		fprintf(stderr, "walk: %s\n", holter_error_text(code));
}

/* Numbers with a unit of time as {"$ns": n}, so that the comparer knows. */
static void print_number(const struct holter_value *value)
{
	int64_t ns;

	if (holter_value_ns(value, &ns) == 0)
		printf("{\"$ns\":%" PRId64 "}", ns);
	else if (value->kind == HOLTER_KIND_INT)
		printf("%" PRId64, value->as.integer);
	else
		printf("{\"$unsigned\":%" PRIu64 "}", value->as.number);
}

static void print_value(const struct holter_value *value, int depth)
{
	if (depth > DEPTH_MAX) {
		printf("\"too deep\"");
		return;
	}
	switch (value->kind) {
	case HOLTER_KIND_NULL:
		printf("null");
		break;
	case HOLTER_KIND_BOOL:
		printf(value->as.boolean ? "true" : "false");
		break;
	case HOLTER_KIND_INT:
	case HOLTER_KIND_UINT:
		print_number(value);
		break;
	case HOLTER_KIND_CHAR:
		printf("{\"$char\":%" PRIu64 "}", value->as.number);
		break;
	case HOLTER_KIND_FLOAT:
	case HOLTER_KIND_DOUBLE:
		if (isfinite(value->as.real))
			printf("{\"$%s\":%.17g}",
			       value->kind == HOLTER_KIND_FLOAT ? "float" : "double",
			       value->as.real);
		else
			printf("null");
		break;
	case HOLTER_KIND_STRING:
		print_text(value->as.text.data, value->as.text.length);
		break;
	case HOLTER_KIND_STRUCT:
	case HOLTER_KIND_ARRAY:
		print_members(value, depth);
		break;
	}
}

static int dump_events(struct holter_reader *reader)
{
	const struct holter_event *event;
	int code;

	while ((code = holter_reader_next(reader, &event)) > 0) {
		struct holter_value value = holter_event_value(event);

		printf("{\"type\":");
		print_text(holter_type_name(value.type), strlen(holter_type_name(value.type)));
		printf(",\"chunk\":%u,\"end\":%" PRId64 ",\"values\":",
		       holter_reader_chunk(reader)->number, holter_event_end_ns(event));
		print_value(&value, 0);
		puts("}");
	}
	return code;
}

static int dump_counts(struct holter_reader *reader)
{
	const struct holter_type_count *counts;
	struct holter_totals totals;
	int code = holter_reader_scan(reader);
	size_t count = holter_reader_counts(reader, &counts);

	holter_reader_totals(reader, &totals);
	printf("{\"version\":\"%u.%u\",\"chunks\":%u,\"start\":%" PRId64 ",\"counts\":{",
	       totals.major, totals.minor, totals.chunk_count, totals.start_ns);
	for (size_t i = 0; i < count; i++) {
		printf("%s", i ? "," : "");
		print_text(counts[i].name, strlen(counts[i].name));
		printf(":[%" PRIu64 ",%" PRIu64 "]", counts[i].count, counts[i].bytes);
	}
	puts("}}");
	return code;
}

static int dump_chunks(struct holter_reader *reader)
{
	const struct holter_event *event;
	const struct holter_chunk *chunk;
	int code;

	while ((code = holter_reader_next_chunk(reader)) > 0) {
		size_t event_types = 0;

		while (holter_reader_next_in_chunk(reader, &event) > 0)
			;
		for (size_t i = 0; i < holter_reader_type_count(reader); i++)
			event_types += holter_type_is_event(holter_reader_type(reader, i));
		chunk = holter_reader_chunk(reader);
		printf("{\"offset\":%" PRIu64 ",\"version\":\"%u.%u\",\"chunkSize\":%" PRIu64
		       ",\"checkpointOffset\":%" PRIu64 ",\"metadataOffset\":%" PRIu64
		       ",\"startNanos\":%" PRId64 ",\"durationNanos\":%" PRId64
		       ",\"startTicks\":%" PRId64 ",\"ticksPerSecond\":%" PRId64
		       ",\"state\":%u,\"flags\":%u,\"id\":%" PRIu64 ",\"types\":%zu"
		       ",\"eventTypes\":%zu,\"checkpoints\":%u,\"constants\":%" PRIu64
		       ",\"duplicates\":%" PRIu64 ",\"events\":%" PRIu64 "}\n",
		       chunk->offset, chunk->major, chunk->minor, chunk->size,
		       chunk->checkpoint_offset, chunk->metadata_offset, chunk->start_ns,
		       chunk->duration_ns, chunk->start_ticks, chunk->ticks_per_second,
		       chunk->state, chunk->flags, chunk->metadata_id,
		       holter_reader_type_count(reader), event_types, chunk->checkpoint_count,
		       chunk->constant_count, chunk->duplicate_count, chunk->event_count);
	}
	return code;
}

int main(int argc, char **argv)
{
	struct holter_problem why;
	struct holter_reader *reader;
	int code;

	if (argc != 3)
		return 2;
	code = holter_reader_open(argv[2], NULL, &reader, &why);
	if (code) {
		fprintf(stderr, "%s: %s (%d)\n", argv[2], why.text, code);
		return 1;
	}
	if (strcmp(argv[1], "events") == 0)
		code = dump_events(reader);
	else if (strcmp(argv[1], "counts") == 0)
		code = dump_counts(reader);
	else
		code = dump_chunks(reader);
	for (size_t i = 0; holter_reader_problem(reader, i); i++) {
		const struct holter_problem *problem = holter_reader_problem(reader, i);

		fprintf(stderr, "%s: offset %" PRIu64 ": %s [%s] lost %" PRIu64 "\n", argv[2],
			problem->offset, problem->text, holter_error_text(problem->code),
			problem->bytes_lost);
	}
	holter_reader_close(reader);
	return code ? 1 : 0;
}
