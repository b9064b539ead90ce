/*
 * Reads recordings in every way the reader offers, for tests that only want to know that nothing
 * breaks, and finds the files that tests read.
 */
#ifndef HOLTER_TESTS_READER_WALK_H
#define HOLTER_TESTS_READER_WALK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/holter_reader.h"

#define WALK_DEPTH 6
#define WALK_MEMBERS 40

struct walked {
	int code; /* of opening, else of the last holter_reader_next() */
	uint64_t events;
	uint64_t values;
	uint64_t frames;
	uint64_t damage;
	uint64_t notes;
	uint64_t lost_bytes;
	struct holter_problem first; /* why it was not opened, or the first problem */
};

/* Touches every byte of a text, so that sanitizers see where it lies. */
static inline void walk_text(struct walked *walked, const char *text)
{
	walked->values += text && strlen(text);
}

static inline void walk_value(struct walked *walked, const struct holter_value *value, int depth)
{
	struct holter_value member;
	struct holter_walk walk;
	int64_t ns;

	walked->values++;
	holter_value_ns(value, &ns);
	if (value->kind == HOLTER_KIND_STRING)
		walked->values += value->as.text.data[value->as.text.length] == 0;
	if (value->kind != HOLTER_KIND_STRUCT && value->kind != HOLTER_KIND_ARRAY)
		return;
	if (depth >= WALK_DEPTH)
		return;
	holter_walk_begin(&walk, value);
	for (int i = 0; i < WALK_MEMBERS && holter_walk_next(&walk, &member) > 0; i++)
		walk_value(walked, &member, depth + 1);
}

static inline void walk_event(struct walked *walked, const struct holter_event *event,
			      struct holter_path *path)
{
	struct holter_value value = holter_event_value(event);
	const struct holter_stack *stack = holter_event_stack(event);
	const struct holter_thread *thread = holter_event_thread(event);

	walked->events++;
	walked->values += (uint64_t)(holter_event_start_ns(event) ^ holter_event_end_ns(event) ^
				     holter_event_duration_ns(event)) &
			  1;
	walk_value(walked, &value, 0);
	for (uint32_t i = 0; stack && i < stack->frame_count; i++) {
		walked->frames++;
		walk_text(walked, stack->frames[i].method->name);
		walk_text(walked, stack->frames[i].method->class_name);
		walk_text(walked, stack->frames[i].type);
	}
	if (thread) {
		walk_text(walked, thread->os_name);
		walk_text(walked, thread->group);
	}
	if (path)
		holter_path_get(path, event, &value);
}

static inline void walk_reader(struct walked *walked, struct holter_reader *reader)
{
	const struct holter_event *event;
	const struct holter_type_count *counts;
	struct holter_totals totals;
	struct holter_path *path = NULL;

	holter_path_create("stackTrace.frames[1].method.type.name", &path);
	while ((walked->code = holter_reader_next(reader, &event)) > 0)
		walk_event(walked, event, path);
	holter_path_destroy(path);
	holter_reader_totals(reader, &totals);
	walked->damage = totals.damage_count;
	walked->notes = totals.note_count;
	walked->lost_bytes = totals.lost_bytes;
	if (holter_reader_problem(reader, 0))
		walked->first = *holter_reader_problem(reader, 0);
	for (size_t i = holter_reader_counts(reader, &counts); i--;)
		walk_text(walked, counts[i].name);
}

/* Reads a copy of exactly this size, so that AddressSanitizer sees every read beyond it. */
static inline struct walked walk_bytes(const uint8_t *bytes, size_t size)
{
	struct walked walked = { .code = 0 };
	struct holter_reader *reader;
	uint8_t *copy = malloc(size ? size : 1);

	memcpy(copy, bytes, size);
	walked.code = holter_reader_open_memory(copy, size, NULL, &reader, &walked.first);
	if (!walked.code) {
		walk_reader(&walked, reader);
		holter_reader_close(reader);
	}
	free(copy);
	return walked;
}

/* Reads a file into memory; NULL when it is not there. */
static inline uint8_t *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes;
	long length;

	if (!file)
		return NULL;
	fseek(file, 0, SEEK_END);
	length = ftell(file);
	rewind(file);
	bytes = malloc((size_t)length + 1);
	*size = fread(bytes, 1, (size_t)length, file);
	fclose(file);
	return bytes;
}

/* A file of tests/golden; tests run in the root of the tree. */
static inline uint8_t *read_golden(const char *name, size_t *size)
{
	char path[256];
	uint8_t *bytes;

	snprintf(path, sizeof(path), "tests/golden/%s", name);
	bytes = read_file(path, size);
	if (!bytes) {
		fprintf(stderr, "%s: not there; tests run in the root of the tree\n", path);
		exit(1);
	}
	return bytes;
}

/* A path below the shared data, which is not part of the tree. */
static inline const char *shared_path(char *path, size_t size, const char *name)
{
	const char *shared = getenv("HOLTER_SHARED");

	snprintf(path, size, "%s/data/jfr/%s", shared ? shared : "../shared", name);
	return path;
}

#endif
