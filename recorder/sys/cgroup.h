/*
 * Limits and use of the control group of a process, version 1 and 2.
 *
 * In: /proc/PID/cgroup and mountinfo, then the group's files. Out: one struct. Parsing is pure and
 * apart from reading. Limits are the lowest of the group and those it lies in. Never here: rates.
 */
#ifndef HOLTER_SYS_CGROUP_H
#define HOLTER_SYS_CGROUP_H

#include <stdint.h>

#include "recorder/base/util.h"

#define REC_CGROUP_PATH 512u
#define REC_CGROUP_UNLIMITED UINT64_MAX

/* Folder of a group and the mount it lies in, below which there is nothing to look at. */
struct rec_cgroup_folder {
	char path[REC_CGROUP_PATH]; /* "" = not found */
	uint32_t mount_length;	    /* of its beginning that is the mount point */
	uint32_t version;	    /* 1, 2 */
};

struct rec_cgroup_folders {
	struct rec_cgroup_folder cpu;
	struct rec_cgroup_folder memory;
};

struct rec_cgroup {
	uint64_t cpu_millis; /* processors x 1000; REC_CGROUP_UNLIMITED */
	uint64_t throttled_periods;
	uint64_t throttled_ns;
	uint64_t memory_limit; /* bytes; REC_CGROUP_UNLIMITED */
	uint64_t memory_used;  /* bytes; 0 unknown */
};

/**
 * rec_cgroup_locate() - finds the folders of a process.
 * @cgroup: text of /proc/PID/cgroup; @mountinfo: of /proc/PID/mountinfo.
 *
 * Return: true when at least one was found. Context: any; async-signal-safe; 1 KiB of stack.
 */
bool rec_cgroup_locate(const char *cgroup, const char *mountinfo,
		       struct rec_cgroup_folders *folders);

/**
 * rec_cgroup_cpu_max() - "max 100000" or "50000 100000" (version 2 cpu.max) as thousandths of a
 * processor. rec_cgroup_cpu_quota() - version 1: cfs_quota_us (-1 none) and cfs_period_us.
 * rec_cgroup_bytes() - a limit of memory: "max", or more than any machine has, is unlimited.
 *
 * Return: the limit, REC_CGROUP_UNLIMITED for none or for text that is none.
 * Context: any; async-signal-safe.
 */
uint64_t rec_cgroup_cpu_max(const char *text);
uint64_t rec_cgroup_cpu_quota(const char *quota, const char *period);
uint64_t rec_cgroup_bytes(const char *text);

/**
 * rec_cgroup_read() - limits and use now.
 *
 * Return: nothing; what cannot be read is unlimited, or 0. Context: any thread; reads a few files.
 */
void rec_cgroup_read(const struct rec_cgroup_folders *folders, struct rec_cgroup *group);

#endif
