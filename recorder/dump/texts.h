/*
 * A pool of texts, each once, encoded as JFR strings: constants of String and Symbol, and the
 * string table of the metadata.
 *
 * In: bytes of any kind. Out: a key, and the encoded pool. Never here: who refers to it.
 */
#ifndef HOLTER_DUMP_TEXTS_H
#define HOLTER_DUMP_TEXTS_H

#include "recorder/dump/vec.h"

struct rec_texts {
	struct rec_vec bytes;	/* encoded: [key] encoding, length, UTF-8 */
	struct rec_vec entries; /* struct text_entry of texts.c */
	struct rec_vec table;	/* hash table of entry numbers + 1 */
	struct rec_vec scratch;
	uint32_t mask;
	uint32_t count;
	uint32_t is_plain; /* 1: without keys, numbered from 0 (metadata) */
};

/**
 * rec_texts_add() - the key of a text; enters it if it is new. What is not UTF-8 becomes U+FFFD.
 * @texts: zeroed at first, but for is_plain.
 * @bytes: NULL counts as empty.
 *
 * Return: keys from 1 (from 0 when is_plain); UINT32_MAX without memory.
 * Context: one thread per pool.
 */
uint32_t rec_texts_add(struct rec_texts *texts, const void *bytes, uint64_t count);

/**
 * rec_texts_free() - gives the memory back.
 *
 * Return: nothing. Context: as rec_texts_add().
 */
void rec_texts_free(struct rec_texts *texts);

#endif
