/*
 * One dump made by a command; shared by `dump` and `recover`.
 */
#ifndef HOLTER_TOOLS_CMD_DUMP_H
#define HOLTER_TOOLS_CMD_DUMP_H

#include <stdint.h>

struct rec_region;

struct cli_dump {
	const char *path; /* NULL: the default name in the configured folder */
	const char *reason;
	uint64_t last_ns; /* 0: everything */
	int no_symbols;
};

/**
 * cli_write_dump() - writes a file and prints its name, or says what went wrong.
 *
 * Return: CLI_DONE or CLI_FAILED. Context: main thread.
 */
int cli_write_dump(struct rec_region *region, const struct cli_dump *wanted);

#endif
