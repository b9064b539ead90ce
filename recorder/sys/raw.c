/*
 * The state of raw.h.
 *
 * In: the seccomp hooks of preload. Out: whether system calls of our own are refused. Never here:
 * anything else.
 */
#include "recorder/sys/raw.h"

bool raw_is_refused;
