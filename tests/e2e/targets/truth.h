/*
 * How a target says what a correct recording of it must contain.
 *
 * In: what the target counted. Out: lines on stdout for tests/e2e/judge.py, which describes them:
 *
 *   expect TYPE count=N field=value ...        so many events have these values
 *   expect-stack TYPE [field=value ...] f1 f2  one of them has these functions, innermost first
 *   expect-made TYPE made=N                    recorded + reported as lost = made
 *   allow-loss                                 losses are part of the test
 *
 * A case that is not dumped at its exit calls truth_ready() when there is something to dump. Lines
 * that begin otherwise must be the same with and without the recorder. Never here: anything
 * recorded that a target would have to count; stdout is written once, at the end, by one write().
 */
#ifndef HOLTER_TESTS_TRUTH_H
#define HOLTER_TESTS_TRUTH_H

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char truth_text[65536];
static size_t truth_length;

/* Adds to the truth; kept in memory, so that telling it makes no event. */
static inline __attribute__((format(printf, 1, 2), unused)) void truth(const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(truth_text + truth_length, sizeof(truth_text) - truth_length - 1, format,
			   arguments);
	va_end(arguments);
	if (length < 0 || truth_length + (size_t)length >= sizeof(truth_text) - 1)
		abort();
	truth_length += (size_t)length;
	truth_text[truth_length++] = '\n';
}

/* Writes what was told so far to stdout. */
static inline __attribute__((unused)) void truth_flush(void)
{
	size_t done = 0;

	while (done < truth_length) {
		ssize_t n = write(1, truth_text + done, truth_length - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(99);
		done += (size_t)n;
	}
	truth_length = 0;
}

/* Everything to be dumped has happened: tells the runner and waits until it has the dump. */
static inline __attribute__((unused)) void truth_ready(void)
{
	char byte;
	ssize_t n;

	truth("ready");
	truth_flush();
	do {
		n = read(0, &byte, 1);
	} while (n > 0 || (n < 0 && errno == EINTR));
}

/* The test itself went wrong. */
static inline __attribute__((noreturn, unused)) void truth_fail(const char *what)
{
	dprintf(2, "target: %s: %s\n", what, strerror(errno));
	_exit(98);
}

/* Ends the target unless a condition holds that must hold in any case. */
#define TRUTH_CHECK(condition)                                                                     \
	do {                                                                                       \
		if (!(condition))                                                                  \
			truth_fail(#condition);                                                    \
	} while (0)

#endif
