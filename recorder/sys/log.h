/*
 * The recorder's log: one line per call, appended to the configured file and nowhere else.
 *
 * In: a path and a line. Out: "2026-11-30T10:15:00Z holter[PID]: line". The file is opened for each
 * line (no descriptor is kept), never through a symbolic link, and only when it is new or begins
 * with such a line: its name comes from a region that the recorded program can write.
 */
#ifndef HOLTER_SYS_LOG_H
#define HOLTER_SYS_LOG_H

#include <stdint.h>

#define REC_LOG_LINE 1024u

/**
 * rec_log_line() - appends one line.
 * @path: of the log; "" or NULL: nothing is done.
 * @epoch_ns: the time to write.
 * @line: control characters become '?'; cut at REC_LOG_LINE bytes.
 *
 * Return: 0; HOLTER_E_OPEN, HOLTER_E_PERMISSION (not a log of ours), HOLTER_E_WRITE.
 * Context: any thread; no allocation; never leaves a descriptor; never uses descriptors 0 to 2.
 */
int rec_log_line(const char *path, uint64_t epoch_ns, const char *line);

/**
 * rec_log_time() - "2026-11-30T10:15:00Z" of nanoseconds since the epoch.
 * @buffer: 21 bytes.
 *
 * Return: nothing. Context: any; async-signal-safe.
 */
void rec_log_time(char buffer[21], uint64_t epoch_ns);

#endif
