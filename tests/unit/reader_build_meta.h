/*
 * The metadata of recordings made by reader_build.h, from lines of text.
 */
#ifndef HOLTER_TESTS_READER_BUILD_META_H
#define HOLTER_TESTS_READER_BUILD_META_H

#include <stdarg.h>
#include <stdbool.h>

#include "tests/unit/reader_build.h"

/*
 * Metadata from lines of text, one a type, as
 *
 *   "name id super simple|- field:class[:flags] ..."
 *
 * with - for no super type; flags: a array, p constant pool, u Unsigned, and one of t Timestamp
 * TICKS, s Timespan TICKS, m Timespan MILLISECONDS, b DataAmount BYTES. Annotation types have
 * numbers 900 up.
 */
struct build_strings {
	char *texts[4096];
	uint32_t count;
};

static inline uint32_t build_string(struct build_strings *strings, const char *text)
{
	for (uint32_t i = 0; i < strings->count; i++)
		if (strcmp(strings->texts[i], text) == 0)
			return i;
	strings->texts[strings->count] = strdup(text);
	return strings->count++;
}

static inline void build_element(struct build *build, struct build_strings *strings,
				 const char *name, unsigned attribute_count, ...)
{
	va_list list;

	build_int(build, build_string(strings, name));
	build_int(build, attribute_count);
	va_start(list, attribute_count);
	for (unsigned i = 0; i < attribute_count * 2; i++)
		build_int(build, build_string(strings, va_arg(list, const char *)));
	va_end(list);
}

static inline void build_annotation(struct build *build, struct build_strings *strings, char flag)
{
	if (flag == 'u')
		build_element(build, strings, "annotation", 1, "class", "900");
	else if (flag == 't')
		build_element(build, strings, "annotation", 2, "class", "901", "value", "TICKS");
	else if (flag == 's')
		build_element(build, strings, "annotation", 2, "class", "902", "value", "TICKS");
	else if (flag == 'm')
		build_element(build, strings, "annotation", 2, "class", "902", "value",
			      "MILLISECONDS");
	else if (flag == 'b')
		build_element(build, strings, "annotation", 2, "class", "903", "value", "BYTES");
	else
		return;
	build_int(build, 0);
}

static inline void build_field(struct build *build, struct build_strings *strings, char *text)
{
	char *class = strchr(text, ':');
	char *flags;
	bool is_array;
	bool is_pooled;
	unsigned annotations = 0;

	*class ++ = 0;
	flags = strchr(class, ':');
	if (flags)
		*flags++ = 0;
	flags = flags ? flags : text + strlen(text);
	is_array = strchr(flags, 'a') != NULL;
	is_pooled = strchr(flags, 'p') != NULL;
	for (char *flag = flags; *flag; flag++)
		annotations += strchr("utsmb", *flag) != NULL;
	if (is_array && is_pooled)
		build_element(build, strings, "field", 4, "name", text, "class", class, "dimension",
			      "1", "constantPool", "true");
	else if (is_array || is_pooled)
		build_element(build, strings, "field", 3, "name", text, "class", class,
			      is_array ? "dimension" : "constantPool", is_array ? "1" : "true");
	else
		build_element(build, strings, "field", 2, "name", text, "class", class);
	build_int(build, annotations);
	for (char *flag = flags; *flag; flag++)
		build_annotation(build, strings, *flag);
}

static inline void build_type(struct build *build, struct build_strings *strings, const char *line)
{
	char *copy = strdup(line);
	char *save;
	char *name = strtok_r(copy, " ", &save);
	char *id = strtok_r(NULL, " ", &save);
	char *super = strtok_r(NULL, " ", &save);
	char *simple = strtok_r(NULL, " ", &save);
	char *fields[64];
	unsigned field_count = 0;

	for (char *field = strtok_r(NULL, " ", &save); field; field = strtok_r(NULL, " ", &save))
		fields[field_count++] = field;
	if (strcmp(simple, "simple") == 0)
		build_element(build, strings, "class", 3, "name", name, "id", id, "simpleType",
			      "true");
	else if (strcmp(super, "-") != 0)
		build_element(build, strings, "class", 3, "name", name, "id", id, "superType",
			      super);
	else
		build_element(build, strings, "class", 2, "name", name, "id", id);
	build_int(build, field_count);
	for (unsigned i = 0; i < field_count; i++)
		build_field(build, strings, fields[i]);
	free(copy);
}

static inline void build_metadata(struct build *build, const char *const *lines)
{
	static const char *const own[] = {
		"jdk.jfr.Unsigned 900 java.lang.annotation.Annotation -",
		"jdk.jfr.Timestamp 901 java.lang.annotation.Annotation -",
		"jdk.jfr.Timespan 902 java.lang.annotation.Annotation -",
		"jdk.jfr.DataAmount 903 java.lang.annotation.Annotation -",
		"boolean 4 - -",
		"char 5 - -",
		"float 6 - -",
		"double 7 - -",
		"byte 8 - -",
		"short 9 - -",
		"int 10 - -",
		"long 11 - -",
		"java.lang.String 20 - -",
	};
	struct build_strings *strings = calloc(1, sizeof(*strings));
	struct build tree = { .used = 0 };
	unsigned count = sizeof(own) / sizeof(own[0]);

	for (const char *const *line = lines; *line; line++)
		count++;
	build_element(&tree, strings, "root", 0);
	build_int(&tree, 2);
	build_element(&tree, strings, "metadata", 0);
	build_int(&tree, count);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		build_type(&tree, strings, own[i]);
	for (const char *const *line = lines; *line; line++)
		build_type(&tree, strings, *line);
	build_element(&tree, strings, "region", 0);
	build_int(&tree, 0);
	build->metadata = build->used - build->chunk;
	build_event_begin(build, 0);
	build_int(build, 1000);
	build_int(build, 0);
	build_int(build, 1);
	build_int(build, strings->count);
	for (uint32_t i = 0; i < strings->count; i++) {
		build_text(build, strings->texts[i]);
		free(strings->texts[i]);
	}
	build_bytes(build, tree.bytes, tree.used);
	build_event_end(build);
	free(tree.bytes);
	free(strings);
}

/* The types of threads, stacks and what they need (jfr-format 6). */
#define BUILD_STACK_TYPES                                                                          \
	"java.lang.Class 21 - - classLoader:24:p name:27:p package:26:p modifiers:10 hidden:4",    \
		"java.lang.Thread 22 - - osName:20 osThreadId:11 javaName:20 javaThreadId:11 "     \
		"group:23:p",                                                                      \
		"jdk.types.ThreadGroup 23 - - parent:23:p name:20",                                \
		"jdk.types.ClassLoader 24 - - type:21:p name:27:p",                                \
		"jdk.types.Package 26 - - name:27:p", "jdk.types.Symbol 27 - simple string:20",    \
		"jdk.types.Method 28 - - type:21:p name:27:p descriptor:27:p modifiers:10 "        \
		"hidden:4",                                                                        \
		"jdk.types.FrameType 29 - simple description:20",                                  \
		"jdk.types.StackFrame 30 - - method:28:p lineNumber:10 bytecodeIndex:10 "          \
		"type:29:p",                                                                       \
		"jdk.types.StackTrace 31 - - truncated:4 frames:30:a"

#endif
