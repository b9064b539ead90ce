/*
 * An output file of a command: written beside its place and moved there when it is whole.
 *
 * In: a name, or none for standard output. Out: a struct cli_out that ends in the file, through an
 * LZ4 frame where the name ends in .lz4. Never half a file under the name: what failed is removed.
 */
#ifndef HOLTER_TOOLS_OUT_FILE_H
#define HOLTER_TOOLS_OUT_FILE_H

#include "tools/out.h"

struct cli_out_file {
	struct cli_out out;
	const char *name; /* for messages */
	const char *path; /* NULL: standard output */
	char *temporary;  /* NULL: written in place */
	int fd;
	/* of the LZ4 frame */
	void *frame;
	char *packed;
	size_t packed_size;
	uint64_t packed_bytes;
	uint64_t limit;
};

/**
 * cli_out_file_open() - creates the file, mode 0600, under a temporary name.
 * @path: kept; NULL or "-" is standard output. What is no regular file is written in place.
 * @limit: most bytes of the file; 0 = any.
 *
 * Return: 0; CLI_FAILED after a message. Context: main thread; blocks.
 */
int cli_out_file_open(struct cli_out_file *file, const char *path, uint64_t limit);

/**
 * cli_out_file_close() - completes it: flush, fsync, rename. Removes it when writing failed.
 * @status: of the command so far. @is_kept: false removes the file.
 *
 * Return: the exit status. Context: main thread; blocks.
 */
int cli_out_file_close(struct cli_out_file *file, int status, bool is_kept);

/**
 * cli_is_recording_name() - does a name end in .jfr or .jfr.lz4?
 *
 * Return: true or false. Context: any.
 */
bool cli_is_recording_name(const char *path);

#endif
