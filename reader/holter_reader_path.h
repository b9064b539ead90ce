/*
 * holter_reader_path.h - how to get at values: by path, or by walking all there are (public,
 * installed, part of holter_reader.h: include that).
 *
 * How long things last: see LIFETIME in holter_reader.h. Context of every function here: the
 * reader's thread; none blocks, and where one may allocate it says HOLTER_E_NOMEM.
 */
#ifndef HOLTER_READER_PATH_H
#define HOLTER_READER_PATH_H

#include "holter_reader_value.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- paths ---- */

/**
 * holter_path_create() - prepares a path: field names joined by dots, an element as [n].
 * @path: copied; such as "eventThread.osName".
 * @result: receives it; freed with holter_path_destroy(). Works on events of all types, chunks and
 *          readers: it is matched with a type once per chunk, then costs a few loads.
 *
 * Return: 0, HOLTER_E_SYNTAX, HOLTER_E_NOMEM.
 * Context: any thread.
 */
HOLTER_PUBLIC int holter_path_create(const char *path, struct holter_path **result);

/** holter_path_destroy() - frees a path, NULL too. Return: nothing. Context: its thread. */
HOLTER_PUBLIC void holter_path_destroy(struct holter_path *path);

/**
 * holter_path_get() - the value at a path. Null on the way makes a null value; so does an element
 * that the array does not have.
 * @path: of holter_path_create().
 * @event: the event.
 * @value: receives it.
 *
 * Return: 0, HOLTER_E_NO_FIELD when events of this type do not have it, HOLTER_E_NOMEM,
 * HOLTER_E_CORRUPT when the constant it lies in is damaged.
 * Context: the reader's thread.
 */
HOLTER_PUBLIC int holter_path_get(struct holter_path *path, const struct holter_event *event,
				  struct holter_value *value);

/* ---- walking ---- */

/* A place among the members of a struct or the elements of an array. Private inside. */
struct holter_walk {
	struct holter_value of;
	const uint8_t *at;
	uint64_t index;
	uint64_t count;
};

/**
 * holter_walk_begin() - prepares to walk a struct or an array.
 * @walk: the caller's, filled in.
 * @value: a struct or array; anything else has no members.
 *
 * Constants refer to each other, also in circles: whoever descends must bound the depth.
 *
 * Return: nothing.
 * Context: the reader's thread.
 */
HOLTER_PUBLIC void holter_walk_begin(struct holter_walk *walk, const struct holter_value *value);

/**
 * holter_walk_next() - the next member or element; value->field tells name and unit.
 * @walk: of holter_walk_begin().
 * @value: receives it.
 *
 * Return: 1 with a value, 0 at the end, HOLTER_E_CORRUPT or HOLTER_E_NOMEM.
 * Context: the reader's thread.
 */
HOLTER_PUBLIC int holter_walk_next(struct holter_walk *walk, struct holter_value *value);

/**
 * holter_value_member() - a member of a struct by name.
 * @value: a struct.
 * @name: of the field.
 * @member: receives it.
 *
 * Return: 0, HOLTER_E_NO_FIELD, HOLTER_E_WRONG_KIND, HOLTER_E_CORRUPT, HOLTER_E_NOMEM.
 * Context: the reader's thread.
 */
HOLTER_PUBLIC int holter_value_member(const struct holter_value *value, const char *name,
				      struct holter_value *member);

/**
 * holter_value_ns() - a number with a Timespan or Timestamp unit in nanoseconds (a time stamp:
 * since the epoch), saturated at the ends of int64_t.
 * @value: an integer.
 * @ns: receives it; INT64_MIN stays INT64_MIN, which means "not available".
 *
 * Return: 0, HOLTER_E_WRONG_KIND when it is no integer, HOLTER_E_UNIT when its unit is not of time.
 * Context: the reader's thread.
 */
HOLTER_PUBLIC int holter_value_ns(const struct holter_value *value, int64_t *ns);

/** holter_value_stack() - Return: stack of a StackTrace value, or NULL. Context: see above. */
HOLTER_PUBLIC const struct holter_stack *holter_value_stack(const struct holter_value *value);
/** holter_value_thread() - Return: thread of a Thread value, or NULL. Context: see above. */
HOLTER_PUBLIC const struct holter_thread *holter_value_thread(const struct holter_value *value);

#ifdef __cplusplus
}
#endif
#endif
