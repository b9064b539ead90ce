/*
 * What /proc tells: processes, threads, the machine, network interfaces.
 *
 * In: pids; text of the files. Out: numbers. Parsing is pure and apart from reading, so that tests
 * feed it any kernel's text. No malloc, no stdio; every descriptor is closed before a function
 * returns, but for a folder that is being listed. Never here: rates (engine/metric.c keeps the last
 * values).
 */
#ifndef HOLTER_SYS_PROCFS_H
#define HOLTER_SYS_PROCFS_H

#include <stdint.h>

#include "recorder/base/util.h"

#define REC_PROC_PATH 80u

/* From /proc/PID/stat or /proc/PID/task/TID/stat. */
struct rec_proc_stat {
	char state; /* R S D Z X ... */
	uint32_t ppid;
	uint32_t threads;
	uint64_t user_ticks, system_ticks; /* of USER_HZ: 100 a second */
	uint64_t start_time;		   /* boot ticks */
	uint64_t rss_pages;
	char name[16];
};

/* From /proc/stat. */
struct rec_proc_machine {
	uint64_t total_ticks; /* over all processors */
	uint64_t idle_ticks;  /* waiting for I/O included */
	uint64_t switches;
	uint32_t processors;
};

/* One line of /proc/net/dev. */
struct rec_proc_interface {
	char name[16];
	uint64_t read_bytes, written_bytes;
};

/**
 * rec_proc_stat_parse() - reads one line of stat.
 *
 * Return: true; false when it is not such a line. Context: any; async-signal-safe.
 */
bool rec_proc_stat_parse(const char *text, struct rec_proc_stat *stat);

/* Reads and parses it; @tid 0: of the process. Return: as before. Context: any thread. */
bool rec_proc_stat_read(uint32_t pid, uint32_t tid, struct rec_proc_stat *stat);

/**
 * rec_proc_alive() - does this very process live? A zombie does not, unless other threads run on.
 * @start_time: 0 = any.
 *
 * Return: true or false. Context: any thread; async-signal-safe.
 */
bool rec_proc_alive(uint32_t pid, uint64_t start_time);

/**
 * rec_proc_machine_parse() - reads /proc/stat. Its first lines suffice; `switches` is 0 when its
 * line is not there.
 *
 * Return: true; false when it is not such a text. Context: any; async-signal-safe.
 */
bool rec_proc_machine_parse(const char *text, struct rec_proc_machine *machine);

/**
 * rec_proc_number() - the number behind `name` at the start of a line ("MemTotal:", "VmRSS:").
 *
 * Return: true; false when there is no such line. Context: any; async-signal-safe.
 */
bool rec_proc_number(const char *text, const char *name, uint64_t *value);

/**
 * rec_proc_interface_next() - the next interface of /proc/PID/net/dev.
 * @at: where to go on; the text at first.
 *
 * Return: where to go on next; NULL when there are no more. Context: any; async-signal-safe.
 */
const char *rec_proc_interface_next(const char *at, struct rec_proc_interface *interface);

/**
 * rec_proc_open_files_limit() - the soft limit of "Max open files" in /proc/PID/limits.
 *
 * Return: it; UINT64_MAX for unlimited; 0 when it is not there. Context: any; async-signal-safe.
 */
uint64_t rec_proc_open_files_limit(const char *text);

/* Writes "/proc/PID/FILE", or "/proc/PID/task/TID/FILE". Return: nothing. Context: any. */
void rec_proc_path(char path[REC_PROC_PATH], uint32_t pid, uint32_t tid, const char *file);

/* Reads a file of a process whole. Return: bytes or -errno. Context: any thread. */
long rec_proc_read(uint32_t pid, uint32_t tid, const char *file, char *buffer, size_t size);

/* A folder of numbers that is being listed: /proc/PID/task, /proc/PID/fd, /proc. */
struct rec_proc_list {
	int fd;
	uint32_t used, have;
	uint64_t buffer[256]; /* of struct linux_dirent64 */
};

/**
 * rec_proc_list_open() / rec_proc_list_next() / rec_proc_list_close() - lists the numeric names.
 *
 * Return: open: false when the folder cannot be read; next: false at the end. Context: one thread.
 */
bool rec_proc_list_open(struct rec_proc_list *list, const char *path);
bool rec_proc_list_next(struct rec_proc_list *list, uint32_t *number);
void rec_proc_list_close(struct rec_proc_list *list);

#endif
