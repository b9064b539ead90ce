/*
 * The folder in which region files lie, file by file; internal to region/.
 *
 * In: nothing but the folder. Out: the paths of what may be regions. Never here: trust in any of
 * them.
 */
#ifndef HOLTER_REGION_REGION_FOLDER_H
#define HOLTER_REGION_REGION_FOLDER_H

#include <sys/stat.h>

#include "recorder/region/region.h"

/**
 * rec_folder_each() - calls `visit` for every file whose name is that of a region.
 * @visit: gets a path of at most REC_PATH_MAX bytes; what it returns, if not 0, ends the search.
 *
 * Return: what `visit` returned last, 0 when no file did or the folder cannot be read.
 * Context: any thread; no allocation; async-signal-safe; at most 4,096 files are looked at.
 */
int rec_folder_each(int (*visit)(const char *path, void *context), void *context);

/**
 * rec_folder_pids() - the pids that ever stood in a region's process table.
 * @fd, @layout: from rec_folder_open().
 * @pids: out, REC_PROCESS_MAX numbers; those that left are 0.
 *
 * Return: how many of them are to be looked at; 0 also when they cannot be read.
 * Context: as above.
 */
uint32_t rec_folder_pids(int fd, const struct rec_layout *layout, uint32_t *pids);

/**
 * rec_folder_open() - opens what may be a region and checks it as far as that goes without mapping
 * it.
 * @layout, @status: out.
 *
 * Return: a descriptor, to be closed with raw_close(); negative when it is not a region.
 * Context: as above.
 */
int rec_folder_open(const char *path, struct rec_layout *layout, struct stat *status);

#endif
