/*
 * Error codes of every Holter library, each with its text, in one table (public, installed).
 *
 * Functions return 0 or one of these negative codes; holter_error_text() gives the text.
 */
#ifndef HOLTER_ERROR_H
#define HOLTER_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/* name, code, text for people */
#define HOLTER_ERROR_LIST(X)                                                                       \
	X(OK, 0, "no error")                                                                       \
	X(NOMEM, -1, "out of memory")                                                              \
	X(OPEN, -2, "cannot be opened")                                                            \
	X(READ, -3, "cannot be read")                                                              \
	X(WRITE, -4, "cannot be written")                                                          \
	X(NOT_JFR, -5, "not a JFR file")                                                           \
	X(VERSION, -6, "unsupported version of the format")                                        \
	X(TRUNCATED, -7, "truncated")                                                              \
	X(CORRUPT, -8, "damaged")                                                                  \
	X(LZ4, -9, "damaged LZ4 frame")                                                            \
	X(LIMIT, -10, "exceeds a limit of this program")                                           \
	X(NO_FIELD, -11, "no such field")                                                          \
	X(NO_TYPE, -12, "no such event type")                                                      \
	X(WRONG_KIND, -13, "field is of another kind")                                             \
	X(ARGUMENT, -14, "wrong argument")                                                         \
	X(REGION, -15, "not a region of this version of Holter")                                   \
	X(PERMISSION, -16, "permission denied")                                                    \
	X(NO_PROCESS, -17, "no such process")                                                      \
	X(NOT_RECORDED, -18, "the process is not recorded by Holter")                              \
	X(SYNTAX, -19, "syntax error")                                                             \
	X(UNKNOWN_KEY, -20, "unknown key")                                                         \
	X(UNKNOWN_EVENT, -21, "unknown event")                                                     \
	X(UNIT, -22, "wrong unit")                                                                 \
	X(FIXED, -23, "cannot be changed while the program runs")                                  \
	X(BUSY, -24, "busy")                                                                       \
	X(TIMEOUT, -25, "timed out")                                                               \
	X(NOSPACE, -26, "no space left")                                                           \
	X(SYSTEM, -27, "system call failed")

#define HOLTER_ERROR_ENUM(name, code, text) HOLTER_E_##name = code,
enum holter_error { HOLTER_ERROR_LIST(HOLTER_ERROR_ENUM) HOLTER_E_LAST = -28 };
#undef HOLTER_ERROR_ENUM

/**
 * holter_error_text() - text of an error code.
 * @code: what a Holter function returned.
 *
 * Return: a constant text; "unknown error" for anything else.
 * Context: any thread; async-signal-safe.
 */
static inline const char *holter_error_text(int code)
{
	switch (code) {
#define HOLTER_ERROR_CASE(name, number, text)                                                      \
	case number:                                                                               \
		return text;
		HOLTER_ERROR_LIST(HOLTER_ERROR_CASE)
#undef HOLTER_ERROR_CASE
	default:
		return "unknown error";
	}
}

#ifdef __cplusplus
}
#endif
#endif
