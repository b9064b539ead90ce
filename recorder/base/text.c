/*
 * Text without stdio: the builder, numbers with units, distance between words (text.h).
 *
 * In: bytes. Out: values or text in the caller's buffer. Never here: allocation, system calls,
 * locale.
 */
#include "recorder/base/text.h"

#define WORD_MAX 63u

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit span_units[] = {
	{ "d", 86400000000000ull },
	{ "h", 3600000000000ull },
	{ "m", 60000000000ull },
	{ "s", 1000000000ull },
	{ "ms", 1000000ull },
	{ "us", 1000ull },
	{ "ns", 1ull },
};

static const struct unit size_units[] = {
	{ "G", 1ull << 30 },   { "M", 1ull << 20 },
	{ "k", 1ull << 10 },   { "GiB", 1ull << 30 },
	{ "MiB", 1ull << 20 }, { "KiB", 1ull << 10 },
	{ "GB", 1ull << 30 },  { "MB", 1ull << 20 },
	{ "kB", 1ull << 10 },  { "B", 1 },
};

struct text text_init(char *buffer, size_t size)
{
	struct text text = { buffer, size, 0, false };

	buffer[0] = 0;
	return text;
}

static void put_char(struct text *text, char c)
{
	if (text->used + 1 >= text->size) {
		text->is_cut = true;
		return;
	}
	text->buffer[text->used++] = c;
	text->buffer[text->used] = 0;
}

void text_put(struct text *text, const char *string)
{
	while (*string)
		put_char(text, *string++);
}

void text_put_bytes(struct text *text, const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		put_char(text, (unsigned char)bytes[i] < 32 || bytes[i] == 127 ? '?' : bytes[i]);
}

/* Digits of a number at the end of `digits`. */
static const char *digits_of(char digits[21], uint64_t value, unsigned base)
{
	char *at = digits + 20;

	*at = 0;
	do {
		*--at = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	return at;
}

void text_put_u64(struct text *text, uint64_t value)
{
	char digits[21];

	text_put(text, digits_of(digits, value, 10));
}

void text_put_hex(struct text *text, uint64_t value)
{
	char digits[21];

	text_put(text, digits_of(digits, value, 16));
}

char *text_copy(char *at, char *end, const char *string)
{
	if (at >= end)
		return at;
	while (*string && at + 1 < end)
		*at++ = *string++;
	*at = 0;
	return at;
}

char *text_u64(char *at, char *end, uint64_t value)
{
	char digits[21];

	return text_copy(at, end, digits_of(digits, value, 10));
}

char *text_hex(char *at, char *end, uint64_t value)
{
	char digits[21];

	return text_copy(at, end, digits_of(digits, value, 16));
}

void text_put_fixed(struct text *text, uint64_t value, unsigned digits)
{
	uint64_t scale = 1;

	for (unsigned i = 0; i < digits; i++)
		scale *= 10;
	text_put_u64(text, value / scale);
	if (digits)
		put_char(text, '.');
	for (value %= scale; digits--; value %= scale) {
		scale /= 10;
		put_char(text, (char)('0' + value / scale));
	}
}

static void put_in_unit(struct text *text, uint64_t value, const struct unit *units, size_t count)
{
	for (size_t i = 0; i < count && value; i++) {
		if (value % units[i].factor)
			continue;
		text_put_u64(text, value / units[i].factor);
		text_put(text, units[i].name);
		return;
	}
	text_put_u64(text, value);
}

void text_put_span(struct text *text, uint64_t nanoseconds)
{
	put_in_unit(text, nanoseconds, span_units, ARRAY_LEN(span_units));
	if (!nanoseconds)
		text_put(text, "ns");
}

void text_put_size(struct text *text, uint64_t bytes)
{
	put_in_unit(text, bytes, size_units, 3);
}

int text_parse_u64(const char *at, size_t count, uint64_t *value)
{
	uint64_t result = 0;

	if (!count)
		return -1;
	for (size_t i = 0; i < count; i++) {
		unsigned digit = (unsigned)(at[i] - '0');

		if (digit > 9 || result > (UINT64_MAX - digit) / 10)
			return -1;
		result = result * 10 + digit;
	}
	*value = result;
	return 0;
}

/* The factor of the unit that stands at [at, at + count); 0 when there is none of that name. */
static uint64_t find_unit(const char *at, size_t count, const struct unit *units, size_t unit_count,
			  bool any_case)
{
	for (size_t i = 0; i < unit_count; i++)
		if (any_case ? text_equal_case(at, count, units[i].name)
			     : text_equal(at, count, units[i].name))
			return units[i].factor;
	return 0;
}

/* Whole part, fraction in 10^-9, and where the unit begins. */
static int parse_number(const char *at, size_t count, uint64_t *whole, uint64_t *nano, size_t *unit)
{
	size_t i = 0;
	uint64_t scale = 1000000000;

	while (i < count && at[i] >= '0' && at[i] <= '9')
		i++;
	if (!i)
		return -1;
	if (text_parse_u64(at, i, whole))
		return -3;
	*nano = 0;
	if (i < count && at[i] == '.') {
		size_t dot = i++;

		for (; i < count && at[i] >= '0' && at[i] <= '9'; i++) {
			scale /= 10;
			*nano += (uint64_t)(at[i] - '0') * scale;
		}
		if (i == dot + 1)
			return -1;
	}
	while (i < count && at[i] == ' ')
		i++;
	*unit = i;
	return 0;
}

static int scale_number(uint64_t whole, uint64_t nano, uint64_t factor, uint64_t *value)
{
	uint64_t result, part;

	if (__builtin_mul_overflow(whole, factor, &result))
		return -3;
	part = (uint64_t)((unsigned __int128)nano * factor / 1000000000u);
	if (__builtin_add_overflow(result, part, &result))
		return -3;
	*value = result;
	return 0;
}

int text_parse_span(const char *at, size_t count, uint64_t *nanoseconds)
{
	uint64_t whole, nano, factor;
	size_t unit;
	int error = parse_number(at, count, &whole, &nano, &unit);

	if (error)
		return error;
	if (unit == count) {
		if (whole || nano)
			return -2;
		*nanoseconds = 0;
		return 0;
	}
	factor = find_unit(at + unit, count - unit, span_units, ARRAY_LEN(span_units), false);
	return factor ? scale_number(whole, nano, factor, nanoseconds) : -2;
}

int text_parse_size(const char *at, size_t count, uint64_t *bytes)
{
	uint64_t whole, nano, factor = 1;
	size_t unit;
	int error = parse_number(at, count, &whole, &nano, &unit);

	if (error)
		return error;
	if (unit < count)
		factor =
			find_unit(at + unit, count - unit, size_units, ARRAY_LEN(size_units), true);
	return factor ? scale_number(whole, nano, factor, bytes) : -2;
}

int text_parse_bool(const char *at, size_t count)
{
	static const char *const words[] = { "no", "yes", "false", "true", "off", "on", "0", "1" };

	for (unsigned i = 0; i < ARRAY_LEN(words); i++)
		if (text_equal_case(at, count, words[i]))
			return (int)(i & 1);
	return -1;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

bool text_equal(const char *at, size_t count, const char *string)
{
	return strlen(string) == count && memcmp(at, string, count) == 0;
}

bool text_equal_case(const char *at, size_t count, const char *string)
{
	if (strlen(string) != count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (lower(at[i]) != lower(string[i]))
			return false;
	return true;
}

/* Cost of cell (i, j) from its neighbours: `before` is row i - 1, `older` row i - 2. */
static uint8_t cell(const char *a, const char *b, size_t i, size_t j, const uint8_t *row,
		    const uint8_t *before, const uint8_t *older)
{
	bool equal = lower(a[i - 1]) == lower(b[j - 1]);
	uint8_t best = (uint8_t)(before[j - 1] + !equal);

	if (before[j] + 1 < best)
		best = (uint8_t)(before[j] + 1);
	if (row[j - 1] + 1 < best)
		best = (uint8_t)(row[j - 1] + 1);
	if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
	    lower(a[i - 2]) == lower(b[j - 1]) && older[j - 2] + 1 < best)
		best = (uint8_t)(older[j - 2] + 1);
	return best;
}

uint32_t text_distance(const char *a, size_t a_count, const char *b, size_t b_count)
{
	uint8_t rows[3][WORD_MAX + 1];

	if (a_count > WORD_MAX || b_count > WORD_MAX)
		return UINT32_MAX;
	for (size_t j = 0; j <= b_count; j++)
		rows[0][j] = (uint8_t)j;
	for (size_t i = 1; i <= a_count; i++) {
		uint8_t *row = rows[i % 3];

		row[0] = (uint8_t)i;
		for (size_t j = 1; j <= b_count; j++)
			row[j] = cell(a, b, i, j, row, rows[(i + 2) % 3], rows[(i + 1) % 3]);
	}
	return rows[a_count % 3][b_count];
}

bool text_is_near(const char *word, size_t count, const char *candidate, uint32_t *distance)
{
	size_t length = strlen(candidate);
	uint32_t changes = text_distance(word, count, candidate, length);

	*distance = changes;
	if (changes == UINT32_MAX || !count)
		return false;
	if (count >= 3 && count < length && text_distance(word, count, candidate, count) == 0) {
		*distance = 1;
		return true;
	}
	return changes <= (count < length ? count : length) / 3 + (count < 4);
}
