/*
 * The event of a program that is started: by exec, posix_spawn, system, popen.
 *
 * In: arguments of the calls. Out: ProcessStart with the working folder and the command line. Never
 * here: the calls themselves (hook_exec.c, hook_spawn.c).
 */
#ifndef HOLTER_PRELOAD_PROGRAM_START_H
#define HOLTER_PRELOAD_PROGRAM_START_H

#include "preload/call_failed.h"

/**
 * pre_program_start() - emits ProcessStart if it is enabled.
 * @start, @end: ticks of the call; equal when the event comes before it.
 * @pid: of the new program, 0 = not known.
 * @argv: its arguments, NULL-ended; the first may be NULL.
 *
 * Return: nothing. Context: any thread; async-signal-safe; nothing in a vfork child.
 */
void pre_program_start(uint64_t start, uint64_t end, uint32_t pid, char *const argv[]);

/**
 * pre_program_exists() - is there something that could be executed?
 * @file: a path, or a name to be looked for in PATH when `is_searched` and without '/'.
 *
 * Return: false when exec would find nothing.
 * Context: any thread; raw system calls; async-signal-safe.
 */
bool pre_program_exists(const char *file, bool is_searched);

#endif
