/*
 * Spans, times and amounts in the words of the `jfr` command (jfr_text.h).
 *
 * In: numbers. Out: text. Never here: locale, time zone data; JFR files carry an offset of their
 * own.
 */
#include "tools/jfr_text.h"

#include <math.h>

#include "tools/java_number.h"

#define NANOS 1000000000
#define DAY_S 86400

struct cli_span cli_span_of(int64_t value, int64_t per_second)
{
	int64_t seconds = value / per_second;
	int64_t rest = value % per_second;

	if (rest < 0) {
		rest += per_second;
		seconds--;
	}
	return (struct cli_span){ seconds, (int32_t)(rest * (NANOS / per_second)) };
}

static unsigned count_digits(uint64_t value)
{
	unsigned count = 1;

	for (; value >= 10; value /= 10)
		count++;
	return count;
}

static uint64_t round_to(uint64_t value, uint64_t unit)
{
	return (value + unit / 2) / unit * unit;
}

static uint64_t power_of_10(unsigned power)
{
	uint64_t value = 1;

	while (power--)
		value *= 10;
	return value;
}

/* Rounds to three digits, or to the smaller of the two units that are shown. */
static void round_span(uint64_t *seconds, uint64_t *nanos)
{
	if (*seconds == 0 && *nanos < 1000)
		return;
	if (*seconds == 0) {
		*nanos = round_to(*nanos, power_of_10(count_digits(*nanos) - 3));
	} else if (*seconds < 60) {
		*nanos = round_to(*nanos / 1000000, power_of_10(count_digits(*seconds))) * 1000000;
	} else if (*seconds < 3600) {
		*seconds += *nanos >= NANOS / 2;
		*nanos = 0;
	} else if (*seconds < DAY_S) {
		*seconds = (*seconds + 30) / 60 * 60;
		*nanos = 0;
	} else {
		*seconds = (*seconds + 1800) / 3600 * 3600;
		*nanos = 0;
	}
	if (*nanos >= NANOS) {
		*seconds += 1;
		*nanos -= NANOS;
	}
}

/* value / 10^scale with `decimals` of them. */
static void put_scaled(struct cli_out *out, uint64_t value, unsigned scale, unsigned decimals)
{
	uint64_t unit = power_of_10(scale);

	cli_out_u64(out, value / unit);
	if (!decimals)
		return;
	cli_out_char(out, '.');
	cli_out_padded(out, value % unit / power_of_10(scale - decimals), decimals);
}

static void put_two(struct cli_out *out, uint64_t first, const char *unit, uint64_t second,
		    const char *small_unit)
{
	cli_out_u64(out, first);
	cli_out_text(out, unit);
	cli_out_u64(out, second);
	cli_out_text(out, small_unit);
}

static void put_positive(struct cli_out *out, uint64_t seconds, uint64_t nanos)
{
	if (seconds == 0) {
		put_scaled(out, nanos, 6, nanos < 1000 ? 6 : 9 - count_digits(nanos));
		cli_out_text(out, " ms");
	} else if (seconds < 60) {
		put_scaled(out, seconds * 1000 + nanos / 1000000, 3, 3 - count_digits(seconds));
		cli_out_text(out, " s");
	} else if (seconds < 3600) {
		put_two(out, seconds / 60, " m ", seconds % 60, " s");
	} else if (seconds < DAY_S) {
		put_two(out, seconds / 3600, " h ", seconds / 60 % 60, " m");
	} else {
		put_two(out, seconds / DAY_S, " d ", seconds / 3600 % 24, " h");
	}
}

void cli_text_span(struct cli_out *out, struct cli_span span)
{
	bool is_negative = span.seconds < 0;
	uint64_t seconds = (uint64_t)span.seconds;
	uint64_t nanos = (uint64_t)span.nanos;

	if (is_negative) {
		seconds = -seconds - (nanos != 0);
		nanos = nanos ? NANOS - nanos : 0;
	}
	round_span(&seconds, &nanos);
	if (!seconds && !nanos) {
		cli_out_text(out, "0 s");
		return;
	}
	if (is_negative)
		cli_out_char(out, '-');
	put_positive(out, seconds, nanos);
}

/* Decimals of a second without trailing zeros. */
static void put_fraction(struct cli_out *out, uint32_t nanos)
{
	unsigned digits = 9;

	for (; nanos % 10 == 0; nanos /= 10)
		digits--;
	cli_out_char(out, '.');
	cli_out_padded(out, nanos, digits);
}

void cli_iso_span(struct cli_out *out, struct cli_span span)
{
	bool is_below = span.seconds < 0 && span.nanos > 0;
	int64_t whole = span.seconds + is_below;
	int64_t hours = whole / 3600;
	int64_t minutes = whole % 3600 / 60;
	int64_t seconds = whole % 60;

	cli_out_text(out, "PT");
	if (hours) {
		cli_out_i64(out, hours);
		cli_out_char(out, 'H');
	}
	if (minutes) {
		cli_out_i64(out, minutes);
		cli_out_char(out, 'M');
	}
	if (!seconds && !span.nanos && (hours || minutes))
		return;
	if (is_below && !seconds)
		cli_out_char(out, '-');
	cli_out_i64(out, seconds);
	if (span.nanos)
		put_fraction(out, (uint32_t)(is_below ? NANOS - span.nanos : span.nanos));
	cli_out_char(out, 'S');
}

/* Seconds of the day and the day, in a zone. */
static int64_t split_day(struct cli_span moment, int32_t offset_s, int64_t *day)
{
	int64_t seconds;
	int64_t rest;

	if (__builtin_add_overflow(moment.seconds, offset_s, &seconds))
		seconds = moment.seconds;
	rest = seconds % DAY_S;
	*day = seconds / DAY_S;
	if (rest < 0) {
		rest += DAY_S;
		*day -= 1;
	}
	return rest;
}

static void put_clock(struct cli_out *out, int64_t second, bool has_seconds)
{
	cli_out_padded(out, (uint64_t)second / 3600, 2);
	cli_out_char(out, ':');
	cli_out_padded(out, (uint64_t)second / 60 % 60, 2);
	if (!has_seconds)
		return;
	cli_out_char(out, ':');
	cli_out_padded(out, (uint64_t)second % 60, 2);
}

void cli_text_time(struct cli_out *out, struct cli_span moment, int32_t offset_s)
{
	int64_t day;

	put_clock(out, split_day(moment, offset_s, &day), true);
	cli_out_char(out, '.');
	cli_out_padded(out, (uint64_t)moment.nanos / 1000000, 3);
}

/* Proleptic Gregorian date of a day since 1970-01-01, by eras of 400 years from March. */
static void put_date(struct cli_out *out, int64_t day)
{
	int64_t shifted = day + 719468;
	int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
	int64_t of_era = shifted - era * 146097;
	int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int64_t month = (5 * of_year + 2) / 153;
	int64_t year = year_of_era + era * 400 + (month >= 10);

	if (year > 9999)
		cli_out_char(out, '+');
	if (year < 0)
		cli_out_char(out, '-');
	cli_out_padded(out, (uint64_t)(year < 0 ? -year : year), 4);
	cli_out_char(out, '-');
	cli_out_padded(out, (uint64_t)(month < 10 ? month + 3 : month - 9), 2);
	cli_out_char(out, '-');
	cli_out_padded(out, (uint64_t)(of_year - (153 * month + 2) / 5 + 1), 2);
}

static void put_zone(struct cli_out *out, int32_t offset_s)
{
	uint32_t size = (uint32_t)(offset_s < 0 ? -offset_s : offset_s);

	if (!size) {
		cli_out_char(out, 'Z');
		return;
	}
	cli_out_char(out, offset_s < 0 ? '-' : '+');
	put_clock(out, size, size % 60 != 0);
}

void cli_iso_time(struct cli_out *out, struct cli_span moment, int32_t offset_s)
{
	int64_t day;
	int64_t second = split_day(moment, offset_s, &day);
	uint32_t nanos = (uint32_t)moment.nanos;

	put_date(out, day);
	cli_out_char(out, 'T');
	put_clock(out, second, second % 60 || nanos);
	if (nanos) {
		unsigned digits = nanos % 1000000 == 0 ? 3 : nanos % 1000 == 0 ? 6 : 9;

		cli_out_char(out, '.');
		cli_out_padded(out, nanos / power_of_10(9 - digits), digits);
	}
	put_zone(out, offset_s);
}

void cli_text_date(struct cli_out *out, struct cli_span moment)
{
	int64_t day;
	int64_t second = split_day(moment, 0, &day);

	put_date(out, day);
	cli_out_char(out, ' ');
	put_clock(out, second, true);
}

void cli_text_amount(struct cli_out *out, int64_t amount, bool is_bits, bool is_per_second)
{
	static const char *const units[2][2] = { { "B", "B/s" }, { "bit", "bps" } };
	char number[CLI_FIXED_BYTES];
	int power;

	if (amount == INT64_MIN) {
		cli_out_text(out, "N/A");
		return;
	}
	if (amount < 1024 && amount > -1024) {
		cli_out_i64(out, amount);
		if (is_per_second)
			cli_out_text(out, is_bits ? " bps" : " byte/s");
		else
			cli_out_text(out, is_bits ? " bit" : " byte");
		if (!is_per_second && amount != 1 && amount != -1)
			cli_out_char(out, 's');
		return;
	}
	power = (int)(log(fabs((double)amount)) / log(1024));
	cli_java_fixed(number, (double)amount / pow(1024, power), 1);
	cli_out_text(out, number);
	cli_out_char(out, ' ');
	cli_out_char(out, "kMGTPE"[power - 1]);
	cli_out_text(out, units[is_bits][is_per_second]);
}

void cli_text_percent(struct cli_out *out, double value)
{
	char number[CLI_FIXED_BYTES];

	cli_java_fixed(number, value * 100, 2);
	cli_out_text(out, number);
	cli_out_char(out, '%');
}

void cli_text_address(struct cli_out *out, uint64_t address)
{
	char buffer[2 + 16];
	char *end = buffer + sizeof(buffer);
	char *at = end;

	do {
		*--at = "0123456789ABCDEF"[address & 15];
		address >>= 4;
	} while (address || end - at < 8);
	*--at = 'x';
	*--at = '0';
	cli_out_bytes(out, at, (size_t)(end - at));
}
