/*
 * The path of the running program, as it was started.
 *
 * In: the auxiliary vector, /proc/self/exe. Out: a path for people and for symbols. Never here:
 * hooks.
 */
#ifndef HOLTER_PRELOAD_EXECUTABLE_H
#define HOLTER_PRELOAD_EXECUTABLE_H

#include <stddef.h>

/**
 * pre_executable() - /usr/bin/redis-server rather than /usr/bin/redis-check-rdb, to which it is a
 * link.
 * @path: out, ended by NUL; @size: of it.
 *
 * Return: length; 0 where it cannot be had. Context: any thread; system calls; no allocation.
 */
size_t pre_executable(char *path, size_t size);

#endif
