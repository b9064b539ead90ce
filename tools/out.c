/*
 * Buffered output (out.h).
 *
 * In: bytes. Out: write(2). Never here: messages; whoever owns the output names the file.
 */
#include "tools/out.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/cmd.h"

#define FIRST_BYTES (128u << 10)
#define DIGITS_MAX 20

void cli_out_init(struct cli_out *out, int fd, uint64_t limit)
{
	*out = (struct cli_out){ .fd = fd, .limit = limit };
}

void cli_out_free(struct cli_out *out)
{
	free(out->data);
	out->data = NULL;
	out->used = out->size = 0;
}

char *cli_out_grow(struct cli_out *out, size_t count)
{
	size_t size = out->size ? out->size : FIRST_BYTES;

	while (size - out->used < count)
		size *= 2;
	out->data = cli_realloc(out->data, size);
	out->size = size;
	return out->data + out->used;
}

/* Writes all of [data, data + count); the errno of the failure, 0 for none. */
static int write_all(int fd, const char *data, size_t count)
{
	while (count) {
		ssize_t done = write(fd, data, count);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return errno;
		data += done;
		count -= (size_t)done;
	}
	return 0;
}

int cli_out_flush(struct cli_out *out)
{
	if (out->fd < 0)
		return out->error;
	if (!out->error && out->limit && out->used > out->limit - min_u64(out->limit, out->written))
		out->error = EFBIG;
	if (!out->error)
		out->error = out->sink ? out->sink(out->sink_context, out->data, out->used)
				       : write_all(out->fd, out->data, out->used);
	if (!out->error)
		out->written += out->used;
	out->used = 0;
	return out->error;
}

int cli_out_finish(struct cli_out *out, const char *name, int status)
{
	int error = cli_out_flush(out);

	cli_out_free(out);
	if (error == EFBIG && out->limit)
		return cli_failed("%s: more than the limit of %llu bytes (--limit)", name,
				  (unsigned long long)out->limit);
	if (error && error != EPIPE)
		return cli_failed("%s: %s", name, strerror(error));
	return error ? CLI_FAILED : status;
}

/* Writes digits from the end of a buffer; returns the first one. */
static char *digits_of(char *end, uint64_t value)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";

	while (value >= 100) {
		end -= 2;
		memcpy(end, pairs + 2 * (value % 100), 2);
		value /= 100;
	}
	if (value >= 10) {
		end -= 2;
		memcpy(end, pairs + 2 * value, 2);
		return end;
	}
	*--end = (char)('0' + value);
	return end;
}

void cli_out_u64(struct cli_out *out, uint64_t value)
{
	char buffer[DIGITS_MAX];
	char *at = digits_of(buffer + sizeof(buffer), value);

	cli_out_bytes(out, at, (size_t)(buffer + sizeof(buffer) - at));
}

void cli_out_i64(struct cli_out *out, int64_t value)
{
	if (value < 0)
		cli_out_char(out, '-');
	cli_out_u64(out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void cli_out_padded(struct cli_out *out, uint64_t value, unsigned digits)
{
	char buffer[DIGITS_MAX];
	char *end = buffer + sizeof(buffer);
	char *at = digits_of(end, value);

	while (at > buffer && (size_t)(end - at) < digits)
		*--at = '0';
	cli_out_bytes(out, at, (size_t)(end - at));
}

static void put_unit(struct cli_out *out, uint32_t unit)
{
	static const char hex[] = "0123456789abcdef";
	char escape[6] = {
		'\\',	       'u', hex[unit >> 12 & 15], hex[unit >> 8 & 15], hex[unit >> 4 & 15],
		hex[unit & 15]
	};

	cli_out_bytes(out, escape, sizeof(escape));
}

/* One code point beyond ASCII, as UTF-16 units; returns the bytes it takes. */
static size_t put_wide(struct cli_out *out, const unsigned char *at, size_t left)
{
	size_t length = *at >= 0xf0 ? 4 : *at >= 0xe0 ? 3 : *at >= 0xc2 ? 2 : 1;
	uint32_t point = length == 4 ? *at & 7u : length == 3 ? *at & 15u : *at & 31u;

	if (length == 1 || length > left || *at > 0xf4) {
		put_unit(out, 0xfffd);
		return 1;
	}
	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80) {
			put_unit(out, 0xfffd);
			return i;
		}
		point = point << 6 | (at[i] & 63u);
	}
	if (point > 0x10ffff) {
		put_unit(out, 0xfffd);
	} else if (point > 0xffff) {
		put_unit(out, 0xd800 + ((point - 0x10000) >> 10));
		put_unit(out, 0xdc00 + ((point - 0x10000) & 0x3ff));
	} else {
		put_unit(out, point);
	}
	return length;
}

static void put_control(struct cli_out *out, unsigned char c)
{
	static const char short_forms[][2] = { { '\b', 'b' },  { '\n', 'n' }, { '\t', 't' },
					       { '\f', 'f' },  { '\r', 'r' }, { '"', '"' },
					       { '\\', '\\' }, { '/', '/' } };

	for (size_t i = 0; i < ARRAY_LEN(short_forms); i++) {
		if (short_forms[i][0] != (char)c)
			continue;
		cli_out_char(out, '\\');
		cli_out_char(out, short_forms[i][1]);
		return;
	}
	put_unit(out, c);
}

static bool is_plain(unsigned char c)
{
	return c >= 32 && c < 0x80 && c != '"' && c != '\\' && c != '/';
}

void cli_out_json_body(struct cli_out *out, const char *text, size_t count)
{
	const unsigned char *at = (const unsigned char *)text;
	const unsigned char *end = at + count;

	while (at < end) {
		const unsigned char *run = at;

		while (at < end && is_plain(*at))
			at++;
		if (at > run)
			cli_out_bytes(out, (const char *)run, (size_t)(at - run));
		if (at >= end)
			return;
		if (*at >= 0x80) {
			at += put_wide(out, at, (size_t)(end - at));
			continue;
		}
		put_control(out, *at++);
	}
}

void cli_out_json(struct cli_out *out, const char *text, size_t count)
{
	cli_out_char(out, '"');
	cli_out_json_body(out, text, count);
	cli_out_char(out, '"');
}
