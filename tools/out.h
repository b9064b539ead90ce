/*
 * Text on its way to a file descriptor: one growing buffer, no printf per value.
 *
 * In: bytes from the renderers. Out: write(2) in blocks of 64 KiB, or the buffer itself for whoever
 * builds a text in memory (fd -1). The first error sticks and makes later calls cheap; one check at
 * the end. Never here: what the bytes mean.
 */
#ifndef HOLTER_TOOLS_OUT_H
#define HOLTER_TOOLS_OUT_H

#include "recorder/base/util.h"

#define CLI_OUT_BLOCK (64u << 10)

struct cli_out {
	char *data;
	size_t used;
	size_t size;
	int fd;		  /* -1: keep everything in memory */
	int error;	  /* errno of the first write that failed; EFBIG: over the limit */
	uint64_t written; /* handed to the descriptor so far */
	uint64_t limit;	  /* most bytes that may be written; 0 = any */
	/* Where the bytes go instead of the descriptor, when not NULL. Returns an errno or 0. */
	int (*sink)(void *context, const char *bytes, size_t count);
	void *sink_context;
};

/**
 * cli_out_init() - begins an output. cli_out_free() - gives its memory back, without writing.
 * @fd: stays the caller's.
 *
 * Return: nothing. Context: one thread, as everything here.
 */
void cli_out_init(struct cli_out *out, int fd, uint64_t limit);
void cli_out_free(struct cli_out *out);

/**
 * cli_out_grow() - makes room for `count` more bytes; ends the program when there is no memory.
 *
 * Return: where they go. Context: see above.
 */
char *cli_out_grow(struct cli_out *out, size_t count);

/**
 * cli_out_flush() - writes everything. cli_out_settle() - writes when a block is full; called where
 * the buffer is not looked at any more (between events).
 *
 * Return: 0, or the errno that stopped the output. Context: see above; blocks.
 */
int cli_out_flush(struct cli_out *out);

/**
 * cli_out_finish() - writes what is left and frees the output. That a pipe was closed is no news
 * and not told.
 * @name: of the output, for the message.
 * @status: exit status so far.
 *
 * Return: the exit status. Context: main thread; blocks.
 */
int cli_out_finish(struct cli_out *out, const char *name, int status);

static inline int cli_out_settle(struct cli_out *out)
{
	return likely(out->used < CLI_OUT_BLOCK) ? out->error : cli_out_flush(out);
}

/* Room for `count` bytes; the caller writes them and moves `used`. */
static inline char *cli_out_room(struct cli_out *out, size_t count)
{
	if (likely(out->size - out->used >= count))
		return out->data + out->used;
	return cli_out_grow(out, count);
}

static inline void cli_out_bytes(struct cli_out *out, const char *bytes, size_t count)
{
	if (!count)
		return; /* `bytes` may be NULL */
	memcpy(cli_out_room(out, count), bytes, count);
	out->used += count;
}

static inline void cli_out_text(struct cli_out *out, const char *text)
{
	cli_out_bytes(out, text, strlen(text));
}

static inline void cli_out_char(struct cli_out *out, char c)
{
	*cli_out_room(out, 1) = c;
	out->used++;
}

static inline void cli_out_spaces(struct cli_out *out, size_t count)
{
	memset(cli_out_room(out, count), ' ', count);
	out->used += count;
}

/* Decimal numbers; cli_out_padded() with leading zeros up to `digits`. */
void cli_out_u64(struct cli_out *out, uint64_t value);
void cli_out_i64(struct cli_out *out, int64_t value);
void cli_out_padded(struct cli_out *out, uint64_t value, unsigned digits);

/**
 * cli_out_json() - a string in quotes, escaped as `jfr print --json` does: everything beyond ASCII
 * as \uXXXX, "/" as "\/". cli_out_json_body() - the same without quotes.
 * @text: UTF-8; what is invalid becomes U+FFFD.
 *
 * Return: nothing. Context: see above.
 */
void cli_out_json(struct cli_out *out, const char *text, size_t count);
void cli_out_json_body(struct cli_out *out, const char *text, size_t count);

#endif
