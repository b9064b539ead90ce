/*
 * What preload.c needs of the process hooks: the events of an end that no hook saw.
 *
 * In: how the process ends. Out: ProcessExit and Shutdown, once per process.
 */
#ifndef HOLTER_PRELOAD_HOOK_PROCESS_H
#define HOLTER_PRELOAD_HOOK_PROCESS_H

#include "recorder/format/schema.h"

/**
 * pre_process_exit_events() - emits ProcessExit and, in the first process of the family, Shutdown,
 * where they are enabled; the first call in a process counts.
 * @how: EV_NAME_exit, EV_NAME_returned, ...
 * @status: exit status.
 *
 * Return: nothing. Context: any thread; async-signal-safe; nothing in a vfork child.
 */
void pre_process_exit_events(enum ev_name how, int status);

#endif
