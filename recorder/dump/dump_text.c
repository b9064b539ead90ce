/*
 * Times, network addresses and UTF-8 as text.
 *
 * In: values of records and tables. Out: bytes for constants and names. Never here: stdio, locale.
 */
#include "recorder/dump/dump_text.h"

static void padded(struct text *text, uint64_t value, unsigned digits)
{
	for (uint64_t limit = 10; digits > 1; digits--, limit *= 10)
		if (value < limit)
			text_put(text, "0");
	text_put_u64(text, value);
}

void rec_text_utc(struct text *text, uint64_t epoch_seconds)
{
	uint64_t days = epoch_seconds / 86400;
	uint64_t rest = epoch_seconds % 86400;
	/* Days to civil date: eras of 400 years that begin on the 1st of March. */
	uint64_t shifted = days + 719468;
	uint64_t era = shifted / 146097;
	uint64_t day_of_era = shifted % 146097;
	uint64_t year_of_era =
		(day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	uint64_t day_of_year =
		day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	uint64_t shifted_month = (5 * day_of_year + 2) / 153;
	uint64_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;

	padded(text, era * 400 + year_of_era + (month <= 2), 4);
	padded(text, month, 2);
	padded(text, day_of_year - (153 * shifted_month + 2) / 5 + 1, 2);
	text_put(text, "T");
	padded(text, rest / 3600, 2);
	padded(text, rest / 60 % 60, 2);
	padded(text, rest % 60, 2);
}

void rec_text_ipv4(struct text *text, const uint8_t *address)
{
	for (int i = 0; i < 4; i++) {
		if (i)
			text_put(text, ".");
		text_put_u64(text, address[i]);
	}
}

/* The longest run of at least two zero groups, the first of equals; length 0 when there is none. */
static void longest_zeros(const uint16_t *group, int *start, int *length)
{
	*start = -1;
	*length = 0;
	for (int i = 0; i < 8; i++) {
		int run = 0;

		while (i + run < 8 && group[i + run] == 0)
			run++;
		if (run > *length && run > 1) {
			*start = i;
			*length = run;
		}
		i += run;
	}
}

void rec_text_ipv6(struct text *text, const uint8_t *address)
{
	static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	uint16_t group[8];
	int start, length;

	if (memcmp(address, mapped, sizeof(mapped)) == 0) {
		rec_text_ipv4(text, address + 12);
		return;
	}
	for (int i = 0; i < 8; i++)
		group[i] = (uint16_t)(address[2 * i] << 8 | address[2 * i + 1]);
	longest_zeros(group, &start, &length);
	for (int i = 0; i < 8; i++) {
		if (i == start) {
			text_put(text, "::");
			i += length - 1;
			continue;
		}
		if (i && i != start + length)
			text_put(text, ":");
		text_put_hex(text, group[i]);
	}
}

/* Length of the valid sequence at `at`, 0 when there is none (table 3-7 of the Unicode standard).
 */
static unsigned sequence(const uint8_t *at, uint64_t left)
{
	uint8_t low = 0x80, high = 0xbf;
	unsigned length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;

	if (at[0] < 0x80)
		return 1;
	if (at[0] < 0xc2 || at[0] > 0xf4 || left < length)
		return 0;
	if (at[0] == 0xe0)
		low = 0xa0;
	else if (at[0] == 0xed)
		high = 0x9f;
	else if (at[0] == 0xf0)
		low = 0x90;
	else if (at[0] == 0xf4)
		high = 0x8f;
	if (at[1] < low || at[1] > high)
		return 0;
	for (unsigned i = 2; i < length; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

uint64_t rec_text_utf8(const void *bytes, uint64_t count, uint8_t *out)
{
	const uint8_t *at = bytes;
	const uint8_t *end = at + count;
	uint64_t written = 0;

	while (at < end) {
		unsigned length = sequence(at, (uint64_t)(end - at));

		if (out)
			memcpy(out + written, length ? at : (const uint8_t *)"\xef\xbf\xbd",
			       length ? length : 3);
		written += length ? length : 3;
		at += length ? length : 1;
	}
	return written;
}
