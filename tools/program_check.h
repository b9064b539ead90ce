/*
 * Can a program be recorded? What LD_PRELOAD cannot reach is found before anything is started.
 *
 * In: a name as typed. Out: the file that will be executed, or one line why not. Never here:
 * starting it.
 */
#ifndef HOLTER_TOOLS_PROGRAM_CHECK_H
#define HOLTER_TOOLS_PROGRAM_CHECK_H

#include <stddef.h>

#define CLI_PATH 4096

/**
 * cli_program_find() - looks a program up as execvp() does.
 * @path: out, CLI_PATH bytes.
 *
 * Return: 0; CLI_FAILED after a message. Context: main thread.
 */
int cli_program_find(const char *name, char path[CLI_PATH]);

/**
 * cli_program_check() - is it a dynamically linked x86-64 program of glibc, or a script for one,
 * that gains no rights when executed?
 * @why: out, one line for people when it is not.
 *
 * Return: 0 it can be recorded; CLI_FAILED. Context: main thread.
 */
int cli_program_check(const char *path, char *why, size_t size);

#endif
