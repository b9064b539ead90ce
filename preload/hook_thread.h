/*
 * End of a thread, for the one place that sees it (preload.c's key destructor).
 */
#ifndef HOLTER_PRELOAD_HOOK_THREAD_H
#define HOLTER_PRELOAD_HOOK_THREAD_H

/**
 * pre_thread_ending() - emits ThreadEnd for the calling thread, if that is wanted.
 *
 * Return: nothing. Context: the thread itself, last round of its key destructors, before
 * rec_thread_detach(); however the thread ends: return, pthread_exit or cancellation.
 */
void pre_thread_ending(void);

#endif
