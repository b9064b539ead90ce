/*
 * Return addresses -> frames: module, symbol, and the constants Method, Class and Symbol for them.
 *
 * In: addresses with the context they were taken in; a symbolizer or none. Out: encoded frames,
 * each address resolved once. Never here: which events a stack belongs to.
 *
 * A stack holds return addresses, so what is looked up, and named where it has no symbol, is the
 * address minus 1: inside the call.
 */
#ifndef HOLTER_DUMP_FRAMES_H
#define HOLTER_DUMP_FRAMES_H

#include "recorder/dump/dump.h"
#include "recorder/dump/map.h"
#include "recorder/dump/module_list.h"
#include "recorder/dump/texts.h"

#define REC_FRAME_INLINED 16 /* frames of one address at most */

struct rec_pool {
	struct rec_vec bytes; /* key, value, key, value, ... */
	uint32_t count;
};

struct rec_frames {
	const struct rec_region *region;
	const struct rec_symbolizer *symbolizer;
	struct rec_module_list modules;
	struct rec_texts symbols;
	struct rec_pool classes, methods;
	struct rec_map class_by_symbol, method_by_parts, class_by_module;
	struct rec_map by_address; /* address and context -> number of `spans` */
	struct rec_map by_place;   /* module file and address in it -> the same */
	struct rec_vec spans;	   /* struct rec_frame_span */
	struct rec_vec bytes;	   /* encoded frames */
	struct rec_vec results;	   /* of the symbolizer */
};

/* The encoded frames of one address. */
struct rec_frame_span {
	uint64_t offset;
	uint32_t bytes;
	uint32_t count;
};

/**
 * rec_frames_init() - copies the module table.
 * @frames: zeroed.
 *
 * Return: 0, HOLTER_E_NOMEM. Context: one thread.
 */
int rec_frames_init(struct rec_frames *frames, const struct rec_region *region,
		    const struct rec_symbolizer *symbolizer);

/**
 * rec_frames_of() - the frames of one return address, innermost first.
 * @context, @ticks: when and where (module_list.h).
 * @span: out: in frames->bytes.
 *
 * Return: 0, HOLTER_E_NOMEM. Context: one thread; calls the symbolizer.
 */
int rec_frames_of(struct rec_frames *frames, uint32_t context, uint64_t ticks, uint64_t address,
		  struct rec_frame_span *span);

/**
 * rec_frames_class() - key of the java.lang.Class of a name.
 *
 * Return: the key; 0 without memory. Context: one thread.
 */
uint32_t rec_frames_class(struct rec_frames *frames, const char *name, uint64_t length);

/**
 * rec_frames_free() - gives the memory back.
 *
 * Return: nothing. Context: one thread.
 */
void rec_frames_free(struct rec_frames *frames);

#endif
