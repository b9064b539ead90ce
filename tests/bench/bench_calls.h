/*
 * What benchmarks of single calls share: a recorder loaded beside libc into one process, so that
 * all ways to call a function are measured interleaved in one run.
 *
 * In: libholter.so and, where it was built, noop_shim.so, in the folder of the program's parent.
 * Out: handles for dlsym, the region with its settings.
 */
#ifndef HOLTER_BENCH_CALLS_H
#define HOLTER_BENCH_CALLS_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "recorder/region/region.h"

static struct rec_region bench_region;
static struct rec_settings bench_full; /* as configured: everything on */

static inline double bench_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Loads a library of the build folder without interposition; NULL when it is not there. */
static inline void *bench_library(const char *name)
{
	char path[4200];
	ssize_t length = readlink("/proc/self/exe", path, 4096);

	path[length > 0 ? length : 0] = 0;
	for (int i = 0; i < 2; i++)
		if (strrchr(path, '/'))
			*strrchr(path, '/') = 0;
	snprintf(path + strlen(path), sizeof(path) - strlen(path), "/%s", name);
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* Loads the recorder and opens its region. */
static inline void *bench_recorder(void)
{
	char path[REC_PATH_MAX];
	uint64_t start_time = 0;
	uint32_t ppid = 0;
	void *library;

	setenv("HOLTER", "settings=everything,leader=none,memory=4M,signal=none", 1);
	library = bench_library("libholter.so");
	rec_region_start_time((uint32_t)getpid(), &start_time, &ppid);
	if (!library || rec_region_find((uint32_t)getpid(), start_time, 0, path) != 0 ||
	    rec_region_open(&bench_region, path, 1) != 0) {
		fprintf(stderr, "no recorder: %s\n", library ? "no region" : dlerror());
		exit(1);
	}
	bench_full = *bench_region.settings;
	return library;
}

#endif
