/*
 * Notices the end of processes at once: a thread of the leader process that polls pidfds.
 *
 * In: pids of a family. Out: the leader's futex is woken when one ends. Never here: what follows.
 */
#ifndef HOLTER_TOOLS_DEATH_WATCH_H
#define HOLTER_TOOLS_DEATH_WATCH_H

#include <stdint.h>

struct rec_region;
struct cli_watch;

/**
 * cli_watch_start() - begins with nobody to watch.
 *
 * Return: the watch, for ever; NULL where there are no pidfds (Linux before 5.3): poll then.
 * Context: the leader process.
 */
struct cli_watch *cli_watch_start(struct rec_region *region);

/* Watches one more process; wakes at once when it has ended. For rec_engine_options.watch. */
void cli_watch_add(void *watch, uint32_t pid);

#endif
