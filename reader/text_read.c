/*
 * Decodes texts. In: bytes of an event, a constant or the metadata. Out: valid UTF-8.
 *
 * What is invalid becomes U+FFFD, one for each maximal wrong part as the Unicode standard (3.9) and
 * Java have it: a text never makes an event unreadable, only its length can.
 */
#include "reader/text_read.h"

#include "reader/cursor.h"
#include "recorder/format/holter_error.h"

#define REPLACEMENT 0xfffdu

static uint8_t *put_utf8(uint8_t *to, uint32_t point)
{
	if (point < 0x80) {
		*to++ = (uint8_t)point;
	} else if (point < 0x800) {
		*to++ = (uint8_t)(0xc0 | point >> 6);
		*to++ = (uint8_t)(0x80 | (point & 0x3f));
	} else if (point < 0x10000) {
		*to++ = (uint8_t)(0xe0 | point >> 12);
		*to++ = (uint8_t)(0x80 | (point >> 6 & 0x3f));
		*to++ = (uint8_t)(0x80 | (point & 0x3f));
	} else {
		*to++ = (uint8_t)(0xf0 | point >> 18);
		*to++ = (uint8_t)(0x80 | (point >> 12 & 0x3f));
		*to++ = (uint8_t)(0x80 | (point >> 6 & 0x3f));
		*to++ = (uint8_t)(0x80 | (point & 0x3f));
	}
	return to;
}

static size_t ascii_prefix(const uint8_t *at, size_t size)
{
	size_t i = 0;
	uint64_t word;

	for (; size - i >= 8; i += 8) {
		memcpy(&word, at + i, 8);
		if (word & 0x8080808080808080ull)
			break;
	}
	while (i < size && at[i] < 0x80)
		i++;
	return i;
}

/* Reads one code point that does not start with an ASCII byte; always moves on. */
static const uint8_t *get_utf8(const uint8_t *at, const uint8_t *end, uint32_t *point)
{
	uint8_t first = *at++;
	uint8_t low = 0x80; /* bounds of the second byte: no overlong forms, no surrogates */
	uint8_t high = 0xbf;
	int more;

	*point = REPLACEMENT;
	if (first >= 0xc2 && first <= 0xdf) {
		more = 1;
	} else if (first >= 0xe0 && first <= 0xef) {
		more = 2;
		low = first == 0xe0 ? 0xa0 : 0x80;
		high = first == 0xed ? 0x9f : 0xbf;
	} else if (first >= 0xf0 && first <= 0xf4) {
		more = 3;
		low = first == 0xf0 ? 0x90 : 0x80;
		high = first == 0xf4 ? 0x8f : 0xbf;
	} else {
		return at;
	}
	uint32_t value = first & (0x3fu >> more);
	for (; more; more--, at++) {
		if (at >= end || *at < low || *at > high)
			return at;
		value = value << 6 | (*at & 0x3f);
		low = 0x80;
		high = 0xbf;
	}
	*point = value;
	return at;
}

static int from_utf8(const uint8_t *at, size_t size, struct rdr_arena *arena,
		     struct holter_text *text)
{
	const uint8_t *end = at + size;
	size_t plain = ascii_prefix(at, size);
	/* A wrong byte grows to the three of U+FFFD. */
	uint8_t *data = rdr_arena_alloc(arena, plain + (size - plain) * 3 + 1);
	uint8_t *to = data;
	uint32_t point;

	if (!data)
		return HOLTER_E_NOMEM;
	memcpy(to, at, plain);
	to += plain;
	for (at += plain; at < end;) {
		if (*at < 0x80) {
			*to++ = *at++;
			continue;
		}
		at = get_utf8(at, end, &point);
		to = put_utf8(to, point);
	}
	*to = 0;
	*text = (struct holter_text){ (const char *)data, (size_t)(to - data) };
	return 0;
}

static int from_latin1(const uint8_t *at, size_t size, struct rdr_arena *arena,
		       struct holter_text *text)
{
	size_t plain = ascii_prefix(at, size);
	uint8_t *data = rdr_arena_alloc(arena, plain + (size - plain) * 2 + 1);
	uint8_t *to = data;

	if (!data)
		return HOLTER_E_NOMEM;
	memcpy(to, at, plain);
	to += plain;
	for (size_t i = plain; i < size; i++)
		to = put_utf8(to, at[i]);
	*to = 0;
	*text = (struct holter_text){ (const char *)data, (size_t)(to - data) };
	return 0;
}

/* `cursor` stands behind the count of units, which is bounded by the bytes left. */
static int from_utf16(struct rdr_cursor *cursor, uint64_t count, struct rdr_arena *arena,
		      struct holter_text *text)
{
	uint8_t *data = rdr_arena_alloc(arena, count * 3 + 1);
	uint8_t *to = data;
	uint32_t high = 0; /* a high surrogate that waits for its partner */

	if (!data)
		return HOLTER_E_NOMEM;
	for (uint64_t i = 0; i < count; i++) {
		uint32_t unit = (uint32_t)rdr_get_varint(cursor) & 0xffff;

		if (high && unit >= 0xdc00 && unit <= 0xdfff) {
			to = put_utf8(to, 0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00));
			high = 0;
			continue;
		}
		if (high)
			to = put_utf8(to, REPLACEMENT);
		high = unit >= 0xd800 && unit <= 0xdbff ? unit : 0;
		if (!high)
			to = put_utf8(to, unit >= 0xdc00 && unit <= 0xdfff ? REPLACEMENT : unit);
	}
	if (high)
		to = put_utf8(to, REPLACEMENT);
	*to = 0;
	*text = (struct holter_text){ (const char *)data, (size_t)(to - data) };
	return cursor->is_bad ? HOLTER_E_CORRUPT : 0;
}

const uint8_t *rdr_text_skip(const uint8_t *at, const uint8_t *end)
{
	uint64_t count;

	if (at >= end)
		return NULL;
	switch (*at++) {
	case RDR_TEXT_NULL:
	case RDR_TEXT_EMPTY:
		return at;
	case RDR_TEXT_CONSTANT:
		return rdr_skip_varint(at, end);
	case RDR_TEXT_UTF8:
	case RDR_TEXT_LATIN1:
		at = rdr_varint(at, end, &count);
		return at && count <= (uint64_t)(end - at) ? at + count : NULL;
	case RDR_TEXT_UTF16:
		at = rdr_varint(at, end, &count);
		if (!at || count > (uint64_t)(end - at))
			return NULL;
		while (at && count--)
			at = rdr_skip_varint(at, end);
		return at;
	default:
		return NULL;
	}
}

int rdr_text_read(const uint8_t *at, const uint8_t *end, struct rdr_arena *arena,
		  struct rdr_text_read *result)
{
	struct rdr_cursor cursor = { at, end, false };
	struct holter_text text = { NULL, 0 };
	uint8_t encoding = rdr_get_byte(&cursor);
	uint64_t count = 0;
	int code = 0;

	if (encoding == RDR_TEXT_CONSTANT)
		result->key = rdr_get_varint(&cursor);
	if (encoding >= RDR_TEXT_UTF8)
		count = rdr_get_count(&cursor, 1);
	if (cursor.is_bad || encoding > RDR_TEXT_LATIN1)
		return HOLTER_E_CORRUPT;
	if (encoding == RDR_TEXT_EMPTY)
		text.data = "";
	else if (encoding == RDR_TEXT_UTF8)
		code = from_utf8(cursor.at, count, arena, &text);
	else if (encoding == RDR_TEXT_LATIN1)
		code = from_latin1(cursor.at, count, arena, &text);
	else if (encoding == RDR_TEXT_UTF16)
		code = from_utf16(&cursor, count, arena, &text);
	if (code)
		return code;
	if (encoding == RDR_TEXT_UTF8 || encoding == RDR_TEXT_LATIN1)
		cursor.at += count;
	result->encoding = encoding;
	result->text = text;
	result->next = cursor.at;
	return 0;
}
