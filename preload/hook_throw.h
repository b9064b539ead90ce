/*
 * What dlclose must tell the throw hook.
 *
 * In: nothing. Out: no function of an unloaded library is called.
 */
#ifndef HOLTER_PRELOAD_HOOK_THROW_H
#define HOLTER_PRELOAD_HOOK_THROW_H

/**
 * pre_throw_forget() - forgets which real __cxa_throw serves which library.
 *
 * Return: nothing. Context: after libraries were unloaded, any thread.
 */
void pre_throw_forget(void);

#endif
