/*
 * Text without libc's stdio: a bounded builder, numbers with units, distance between words.
 *
 * Used where printf must not be (start-up of a recorded program, the leader loop) and by the tools.
 * In: bytes with their length. Out: values, or NUL-ended text in the caller's buffer. Pure: no
 * allocation, no locale, no state.
 */
#ifndef HOLTER_BASE_TEXT_H
#define HOLTER_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "recorder/base/util.h"

/* A builder over the caller's buffer; always NUL-ended. What does not fit is left out and marked.
 */
struct text {
	char *buffer;
	size_t size;
	size_t used;
	bool is_cut;
};

/**
 * text_init() - begins an empty text.
 * @buffer, @size: the caller's, at least one byte.
 *
 * Return: the builder. Context: any; async-signal-safe, as everything here.
 */
struct text text_init(char *buffer, size_t size);

/**
 * text_copy() - writes a string at `at`, below `end`, and ends it by NUL; text_u64(), text_hex() -
 * the same for a number. For one or two pieces; longer texts take a struct text.
 *
 * Return: where the NUL stands, so that calls chain; `end` - 1 at most, what does not fit is cut.
 * Context: any; async-signal-safe.
 */
char *text_copy(char *at, char *end, const char *string);
char *text_u64(char *at, char *end, uint64_t value);
char *text_hex(char *at, char *end, uint64_t value);

/**
 * text_put() - appends a NUL-ended string. text_put_bytes() - appends bytes, control characters as
 * '?', so that a line stays a line. text_put_u64(), text_put_hex() - append a number.
 * text_put_fixed() - appends value / 10^digits with that many decimals.
 *
 * Return: nothing; `is_cut` tells that something did not fit.
 * Context: any; async-signal-safe.
 */
void text_put(struct text *text, const char *string);
void text_put_bytes(struct text *text, const char *bytes, size_t count);
void text_put_u64(struct text *text, uint64_t value);
void text_put_hex(struct text *text, uint64_t value);
void text_put_fixed(struct text *text, uint64_t value, unsigned digits);

/**
 * text_put_span() - appends nanoseconds as the largest unit that is exact: "10ms", "1500us", "0ns".
 * text_put_size() - appends bytes as the largest unit that is exact: "16M", "1000".
 *
 * Return: nothing. Context: any; async-signal-safe. text_parse_*() read both again.
 */
void text_put_span(struct text *text, uint64_t nanoseconds);
void text_put_size(struct text *text, uint64_t bytes);

/**
 * text_parse_u64() - a whole decimal number, nothing else.
 *
 * Return: 0; -1 when it is none or does not fit, *value untouched.
 * Context: any; async-signal-safe.
 */
int text_parse_u64(const char *at, size_t count, uint64_t *value);

/**
 * text_parse_span() - "10ms", "1.5 s", "250us", "2h": number, then ns us ms s m h or d. Only 0 may
 * stand without unit. text_parse_size() - "16M", "64k", "1G", "4096", "1.5MiB": powers of 1024.
 *
 * Return: 0; -1 not a number; -2 no unit or a wrong one; -3 too large. *value untouched then.
 * Context: any; async-signal-safe.
 */
int text_parse_span(const char *at, size_t count, uint64_t *nanoseconds);
int text_parse_size(const char *at, size_t count, uint64_t *bytes);

/**
 * text_parse_bool() - yes no true false on off 1 0, in any case.
 *
 * Return: 0 or 1; -1 when it is none of these. Context: any; async-signal-safe.
 */
int text_parse_bool(const char *at, size_t count);

/**
 * text_equal() - is it equal to a NUL-ended string? text_equal_case() ignores ASCII case.
 *
 * Return: true or false. Context: any; async-signal-safe.
 */
bool text_equal(const char *at, size_t count, const char *string);
bool text_equal_case(const char *at, size_t count, const char *string);

/**
 * text_distance() - how many single changes (insert, delete, replace, swap neighbours; case does
 * not count) lead from one word to another.
 *
 * Return: the number; UINT32_MAX for words longer than 63 bytes.
 * Context: any; async-signal-safe; 200 bytes of stack.
 */
uint32_t text_distance(const char *a, size_t a_count, const char *b, size_t b_count);

/**
 * text_is_near() - is a word near enough to be worth suggesting: at most a third of it differs, or
 * it is a beginning of the other.
 * @distance: out: smaller is nearer; may be compared among candidates.
 *
 * Return: true or false. Context: any; async-signal-safe.
 */
bool text_is_near(const char *word, size_t count, const char *candidate, uint32_t *distance);

#endif
