/*
 * What the dump writes as text besides numbers: times, network addresses, cleaned UTF-8.
 *
 * In: values of records and tables. Out: text through the builder of base/text.h. Never here:
 * stdio, locale, allocation.
 */
#ifndef HOLTER_DUMP_TEXT_H
#define HOLTER_DUMP_TEXT_H

#include "recorder/base/text.h"

/**
 * rec_text_utc() - a time as YYYYMMDDTHHMMSS, UTC.
 * @epoch_seconds: since 1970.
 *
 * Return: nothing. Context: any; async-signal-safe.
 */
void rec_text_utc(struct text *text, uint64_t epoch_seconds);

/**
 * rec_text_ipv4() - 4 bytes as 192.0.2.1; rec_text_ipv6() - 16 bytes in the form of RFC 5952,
 * mapped IPv4 addresses as IPv4.
 *
 * Return: nothing. Context: any; async-signal-safe.
 */
void rec_text_ipv4(struct text *text, const uint8_t *address);
void rec_text_ipv6(struct text *text, const uint8_t *address);

/**
 * rec_text_utf8() - copies bytes, replacing what is not UTF-8 by U+FFFD.
 * @bytes, @count: any bytes, NUL included.
 * @out: at least 3 * count bytes; NULL to count only.
 *
 * Return: bytes written; equal to `count` for valid input, which is then copied as it is.
 * Context: any; async-signal-safe.
 */
uint64_t rec_text_utf8(const void *bytes, uint64_t count, uint8_t *out);

#endif
