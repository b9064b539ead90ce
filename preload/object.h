/*
 * Which loaded object an address lies in, without looking through its symbols as dladdr does.
 *
 * In: an address. Out: the object's link map. Never here: locks, where glibc (2.35) can do without.
 */
#ifndef HOLTER_PRELOAD_OBJECT_H
#define HOLTER_PRELOAD_OBJECT_H

#include <link.h>

/**
 * pre_object_of() - the object that holds an address.
 *
 * Return: its link map, valid while it is loaded; NULL when no object holds it.
 * Context: any thread; takes the loader's lock before glibc 2.35.
 */
const struct link_map *pre_object_of(const void *address);

#endif
