/*
 * The file a dump becomes: temporary name beside the final one, sync, rename; or nothing at all.
 *
 * In: bytes from the stream (dump_stream.c) and the names wished for. Out: a finished file, or an
 * error in words. Mirrors reader/source. Never here: what the bytes mean.
 */
#ifndef HOLTER_DUMP_SINK_H
#define HOLTER_DUMP_SINK_H

#include "recorder/format/holter_error.h"
#include "recorder/base/util.h"

#define REC_SINK_PATH 4096u

struct rec_sink {
	int fd;			  /* -1: not open */
	int code;		  /* the first error, HOLTER_E_*; later calls do nothing */
	uint64_t bytes;		  /* written so far */
	char path[REC_SINK_PATH]; /* final name */
	char temporary[REC_SINK_PATH];
	char error[512]; /* one line for people, when `code` is set */
};

/* What the file shall be called. */
struct rec_sink_name {
	const char *path;      /* as the user said; NULL: made from the rest */
	const char *directory; /* of an unnamed file; not NULL then */
	const char *program;
	uint32_t pid;
	uint64_t epoch_seconds;
	int is_compressed; /* .jfr.lz4 instead of .jfr */
	int force;	   /* `path` may be overwritten */
};

/**
 * rec_sink_open() - creates the temporary file, O_EXCL|O_NOFOLLOW, mode 0600; makes missing
 * folders.
 * @sink: the caller's memory.
 *
 * An unnamed file goes to /tmp where its folder cannot be made or written.
 *
 * Return: 0; HOLTER_E_WRITE, HOLTER_E_PERMISSION, HOLTER_E_NOSPACE with sink->error: nothing made.
 * Context: one thread; blocks; no allocation.
 */
int rec_sink_open(struct rec_sink *sink, const struct rec_sink_name *name);

/**
 * rec_sink_write() - appends bytes. rec_sink_patch() - replaces bytes written before.
 *
 * Return: 0, or the first error of this sink. Context: as rec_sink_open().
 */
int rec_sink_write(struct rec_sink *sink, const void *bytes, uint64_t count);
int rec_sink_patch(struct rec_sink *sink, uint64_t offset, const void *bytes, uint64_t count);

/**
 * rec_sink_commit() - syncs the file and gives it its final name, which is in sink->path
 * afterwards: an unnamed one gets a number where the name exists already.
 *
 * Return: 0, or an error: the file is gone then. Context: as rec_sink_open().
 */
int rec_sink_commit(struct rec_sink *sink, const struct rec_sink_name *name);

/**
 * rec_sink_abort() - removes the temporary file; nothing after a commit.
 *
 * Return: nothing. Context: as rec_sink_open().
 */
void rec_sink_abort(struct rec_sink *sink);

#endif
