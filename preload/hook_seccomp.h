/*
 * The program installs a seccomp filter: what the shim then refrains from.
 *
 * In: prctl (hook_thread.c) and syscall (hook_seccomp.c) called by the program. Out: no system call
 * of ours from then on (raw.h), and the mark in holter.Coverage. Never here: the filter itself.
 */
#ifndef HOLTER_PRELOAD_HOOK_SECCOMP_H
#define HOLTER_PRELOAD_HOOK_SECCOMP_H

#include <stdbool.h>

/**
 * pre_seccomp_begin() - before the call that installs a filter: refuses our system calls.
 *
 * Return: whether they were refused already. Context: any thread.
 */
bool pre_seccomp_begin(void);

/**
 * pre_seccomp_end() - behind it.
 * @before: of pre_seccomp_begin(). @is_done: it succeeded.
 *
 * Return: nothing. Context: the same thread; no system call.
 */
void pre_seccomp_end(bool before, bool is_done);

/**
 * pre_seccomp_strict() - before a call that also forbids reading the TSC, by which all clocks are
 * read: this process records nothing any more.
 *
 * Return: nothing. Context: any thread.
 */
void pre_seccomp_strict(void);

#endif
