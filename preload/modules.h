/*
 * Which objects are loaded in this process, so that addresses can be named later.
 *
 * In: the dynamic linker's list. Out: entries of the region's module table: path, place, build-id.
 * Never here: symbols.
 */
#ifndef HOLTER_PRELOAD_MODULES_H
#define HOLTER_PRELOAD_MODULES_H

#include <stdbool.h>
#include <stdint.h>

/**
 * pre_modules_scan() - enters all objects that are loaded and not yet entered.
 *
 * Return: nothing; nothing to do costs a call of dl_iterate_phdr that ends at its first object.
 * Context: constructor, after dlopen, before the process ends; takes the dynamic linker's list
 * lock, so not from signal handlers.
 */
void pre_modules_scan(void);

/**
 * pre_modules_sweep() - marks those of this process that are no longer loaded; after dlclose.
 *
 * Return: true when something was unloaded since the last look.
 * Context: as pre_modules_scan().
 */
bool pre_modules_sweep(void);

/**
 * pre_module_learn() - enters the object that an address lies in, if it was not yet met.
 *
 * Return: nothing. Needs _dl_find_object (glibc 2.35); elsewhere objects are entered by scans
 * alone. Context: any thread, signal handlers; lock-free.
 */
void pre_module_learn(const void *pc);

/**
 * pre_module_path() - the path of the object behind a handle of dlopen.
 *
 * Return: id for rec_names_read(); 0 when the handle is none of a known object.
 * Context: any thread; the handle is compared, never followed.
 */
uint32_t pre_module_path(const void *handle);

#endif
