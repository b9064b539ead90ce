/*
 * What the parts of the shim tell each other about the life of the process.
 *
 * In: hooks that see a process begin or end. Out: preload.c (start-up, end), leader_start.c (a
 * leader when one is needed), hook_signal.c (the trigger and fatal signals).
 */
#ifndef HOLTER_PRELOAD_PRELOAD_H
#define HOLTER_PRELOAD_PRELOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/format/schema.h"

/**
 * pre_process_ending() - the process is about to end for good: marks it as leaving by its own will
 * and, where dumponexit asks for it, has the dump made before it returns.
 * @how: EV_NAME_exit only says that exit() was called: the rest follows in our destructor.
 * @status: exit status.
 *
 * Return: nothing. Context: any thread; waits up to ten seconds for the dump, else does not block;
 * nothing in a vfork child.
 */
void pre_process_ending(enum ev_name how, int status);

/**
 * pre_leader_prepare() - finds the `holter` command beside the shim; once, in the constructor.
 * pre_leader_alive() - is somebody holding the lease?
 * pre_leader_would_return() - do orphans come back to this process (pid 1, subreaper)? Then its
 *	wait() would meet the leader, so none is started from it.
 * pre_leader_start() - starts a leader process, whatever the state of the program: all its memory
 *is shared while it does (clone with CLONE_VM|CLONE_VFORK), nothing of the program's is changed, no
 *	SIGCHLD comes, wait(-1) does not see it. At most one try in ten seconds.
 *
 * Return: pre_leader_start(): true when a leader lives now.
 * Context: any thread, signal handlers; 200 us when it starts one; uses a stack of its own.
 */
void pre_leader_prepare(void);
bool pre_leader_alive(void);
bool pre_leader_would_return(void);
bool pre_leader_start(void);

/**
 * pre_signal_begin() - installs the handlers of the trigger signal and of the fatal ones where the
 * program left the default.
 * @trigger: signal number, 0 = none.
 *
 * Return: nothing. Context: constructor.
 */
void pre_signal_begin(int trigger);

#endif
