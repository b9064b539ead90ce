/*
 * Layout constants of a JFR 2.x file: what the writer (recorder/dump) and the reader agree on.
 *
 * In: the format (holter-format(5)). Out: numbers, and the ids of the types every file of ours
 * declares (types.def). Never here: code, or anything about regions.
 *
 * A chunk: header of 68 bytes, all big-endian, then events without gaps:
 *   0 magic 4 | 4 major 2 | 6 minor 2 | 8 size 8 | 16 checkpoint 8 | 24 metadata 8 |
 *   32 start nanos 8 | 40 duration nanos 8 | 48 start ticks 8 | 56 ticks per second 8 |
 *   64 state 1 | 65 pad 1 | 66 flags 2
 */
#ifndef HOLTER_FORMAT_JFR_H
#define HOLTER_FORMAT_JFR_H

#include <stdint.h>

#define JFR_MAGIC 0x464c5200u /* "FLR\0", big-endian */
#define JFR_MAJOR 2u
#define JFR_MINOR 1u

enum jfr_header {
	JFR_HEADER_MAGIC = 0,
	JFR_HEADER_MAJOR = 4,
	JFR_HEADER_MINOR = 6,
	JFR_HEADER_SIZE = 8,
	JFR_HEADER_CHECKPOINT = 16,
	JFR_HEADER_METADATA = 24,
	JFR_HEADER_START_NANOS = 32,
	JFR_HEADER_DURATION_NANOS = 40,
	JFR_HEADER_START_TICKS = 48,
	JFR_HEADER_TICKS_PER_SECOND = 56,
	JFR_HEADER_STATE = 64,
	JFR_HEADER_FLAGS = 66,
	JFR_HEADER_BYTES = 68
};

#define JFR_STATE_FINISHED 0u
#define JFR_STATE_REWRITING 255u
#define JFR_FLAG_COMPRESSED 1u /* integers are varints: always set */
#define JFR_FLAG_FINAL 2u      /* last chunk of its recording */

/* Types of events that no metadata describes. */
#define JFR_EVENT_METADATA 0u
#define JFR_EVENT_CHECKPOINT 1u

enum jfr_string {
	JFR_STRING_NULL = 0,
	JFR_STRING_EMPTY = 1,
	JFR_STRING_CONSTANT = 2, /* key into the pool of java.lang.String */
	JFR_STRING_UTF8 = 3,
	JFR_STRING_UTF16 = 4,
	JFR_STRING_LATIN1 = 5
};

enum jfr_checkpoint {
	JFR_CHECKPOINT_GENERIC = 0,
	JFR_CHECKPOINT_FLUSH = 1,
	JFR_CHECKPOINT_CHUNK_HEADER = 2,
	JFR_CHECKPOINT_STATICS = 4,
	JFR_CHECKPOINT_THREADS = 8
};

/* Ids of the types of types.def. */
enum jfr_type {
#define TF(...)
#define TYPE(symbol, id, ...) JFR_TYPE_##symbol = id,
#include "recorder/format/types.def"
};

/* Keys of the constants of jdk.types.FrameType in files of ours. */
enum jfr_frame_type {
	JFR_FRAME_NATIVE = 1,
	JFR_FRAME_CPLUSPLUS = 2,
	JFR_FRAME_KERNEL = 3,
	JFR_FRAME_INLINED = 4
};

/* Keys of jdk.types.ThreadState in files of ours; a STATE slot of a record holds them. */
enum jfr_thread_state {
	JFR_STATE_RUNNABLE = 1,
	JFR_STATE_SLEEPING = 2,
	JFR_STATE_PARKED = 3,
	JFR_STATE_BLOCKED = 4,
	JFR_STATE_IN_OBJECT_WAIT = 5
};

/* An LZ4 frame around the file (jfr-format 14). */
#define JFR_LZ4_MAGIC 0x184d2204u  /* little-endian */
#define JFR_LZ4_STORED 0x80000000u /* block size flag: not compressed */

#endif
