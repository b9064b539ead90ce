/*
 * Hides secrets in the environment and the arguments of a recorded program.
 *
 * In: names and values. Out: the same with what looks secret replaced by "***". Never here: a
 * promise that nothing slips through.
 */
#ifndef HOLTER_DUMP_MASK_H
#define HOLTER_DUMP_MASK_H

#include "recorder/base/util.h"

/**
 * rec_mask_is_secret() - does a variable's name say that its value is secret (PASS, SECRET, TOKEN,
 * KEY, CREDENTIAL, AUTH, ... in any case)?
 *
 * Return: true or false. Context: any; async-signal-safe.
 */
bool rec_mask_is_secret(const char *name, size_t length);

/**
 * rec_mask_urls() - replaces the password in scheme://user:password@host by ***, in place.
 * @text: `length` bytes; grows by at most 3 for each password, within `size`.
 *
 * Return: the new length. Context: any; async-signal-safe.
 */
size_t rec_mask_urls(char *text, size_t length, size_t size);

/**
 * rec_mask_arguments() - masks --password=x, --password x and URLs, and joins arguments that are
 * separated by NUL with blanks, in place.
 * @text: as for rec_mask_urls().
 *
 * Return: the new length. Context: any; async-signal-safe.
 */
size_t rec_mask_arguments(char *text, size_t length, size_t size);

#endif
