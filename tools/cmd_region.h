/*
 * Finding regions by what people type: a pid, the name of a program, a region file.
 *
 * In: an operand of a recording command. Out: a mapped region, or one line that says what is wrong
 * and what to do. Never here: what is done with the region.
 */
#ifndef HOLTER_TOOLS_CMD_REGION_H
#define HOLTER_TOOLS_CMD_REGION_H

#include "recorder/region/region.h"

#define CLI_SHM "/dev/shm"

/**
 * cli_region_open() - opens the region an operand means; prints a message where that fails.
 * @who: "4711", "redis-server" or "/dev/shm/holter-...".
 * @writable: 1: settings will be changed.
 * @pid: out: the process that was named; the first of the family when a file was.
 *
 * Return: 0, CLI_FAILED, CLI_USAGE. Context: main thread.
 */
int cli_region_open(const char *who, int writable, struct rec_region *region, uint32_t *pid);

/**
 * cli_region_each() - calls a function for every region file of /dev/shm, in the order of their
 * names.
 * @visit: `error` is 0 and the region is mapped read-only for the call, or why it could not be.
 *
 * Return: how many there were. Context: main thread.
 */
typedef void (*cli_region_visit)(const char *path, int error, struct rec_region *region,
				 void *context);
int cli_region_each(cli_region_visit visit, void *context);

/* What holter knows about a family at one look. */
struct cli_family {
	uint32_t living;     /* processes, without the leader */
	uint32_t processes;  /* ever, without the leader */
	uint32_t first_pid;  /* a living one; the root process when none lives */
	uint32_t leader_pid; /* 0: none */
	int leader_alive;
	uint64_t events_lost;
};
void cli_region_family(const struct rec_region *region, struct cli_family *family);

/* Copies a name of a region, which need not be ended. Return: the buffer. Context: any. */
const char *cli_region_name(const char name[16], char buffer[17]);

/* Says what an error of rec_region_open() means for a file. Return: CLI_FAILED. Context: main
 * thread. */
int cli_region_error(const char *path, int error);

/* CLOCK_MONOTONIC in nanoseconds. Return: see before. Context: any. */
uint64_t cli_monotonic_ns(void);

/* Locks a region's file against other commands that change settings; -1 without a file. The lock
 * ends with the descriptor. Return: the descriptor. Context: main thread; blocks.
 */
int cli_region_lock(const struct rec_region *region);

#endif
