/*
 * Digits of floating-point numbers by the rules of JDK 17 (java_number.h).
 *
 * A number is a fraction B / S with error margin M, all whole; digits come by long division until
 * what is left is within the margin (Steele and White). Where a JDK works in machine words it ends
 * one comparison later than where it works in big integers: `is_word`.
 */
#include "tools/java_number.h"

#include <math.h>
#include <stdint.h>

#include "recorder/base/util.h"

#define DIGITS_MAX 32
#define WORDS 96 /* 2^1074 * 5^1 and 5^340 * 2^53 fit, with room for * 10 */
#define DOUBLE_FRACTION_BITS 52
#define FLOAT_FRACTION_BITS 23

struct big {
	uint32_t words[WORDS];
	int count;
};

/* value = 0.DIGITS * 10^exponent */
struct digits {
	char at[DIGITS_MAX];
	int count;
	int exponent;
};

/* value = fraction * 2^(exponent - 52), 2^52 <= fraction < 2^53 */
struct parts {
	uint64_t fraction;
	int exponent;
	int significant_bits;
};

static void big_set(struct big *big, uint64_t value)
{
	big->words[0] = (uint32_t)value;
	big->words[1] = (uint32_t)(value >> 32);
	big->count = value >> 32 ? 2 : value ? 1 : 0;
}

static void big_multiply(struct big *big, uint32_t factor)
{
	uint64_t carry = 0;

	for (int i = 0; i < big->count; i++) {
		carry += (uint64_t)big->words[i] * factor;
		big->words[i] = (uint32_t)carry;
		carry >>= 32;
	}
	if (carry && big->count < WORDS)
		big->words[big->count++] = (uint32_t)carry;
}

static void big_scale(struct big *big, int fives, int twos)
{
	for (; fives >= 13; fives -= 13)
		big_multiply(big, 1220703125u);
	for (; fives > 0; fives--)
		big_multiply(big, 5);
	for (; twos >= 31; twos -= 31)
		big_multiply(big, 1u << 31);
	if (twos > 0)
		big_multiply(big, 1u << twos);
}

static int big_compare(const struct big *a, const struct big *b)
{
	if (a->count != b->count)
		return a->count < b->count ? -1 : 1;
	for (int i = a->count - 1; i >= 0; i--)
		if (a->words[i] != b->words[i])
			return a->words[i] < b->words[i] ? -1 : 1;
	return 0;
}

static void big_add(struct big *sum, const struct big *a, const struct big *b)
{
	int count = a->count > b->count ? a->count : b->count;
	uint64_t carry = 0;

	for (int i = 0; i < count; i++) {
		carry += (i < a->count ? a->words[i] : 0);
		carry += (i < b->count ? b->words[i] : 0);
		sum->words[i] = (uint32_t)carry;
		carry >>= 32;
	}
	if (carry && count < WORDS)
		sum->words[count++] = (uint32_t)carry;
	sum->count = count;
}

static void big_subtract(struct big *from, const struct big *what)
{
	int64_t borrow = 0;

	for (int i = 0; i < from->count; i++) {
		borrow += from->words[i];
		borrow -= i < what->count ? what->words[i] : 0;
		from->words[i] = (uint32_t)borrow;
		borrow >>= 32;
	}
	while (from->count && !from->words[from->count - 1])
		from->count--;
}

/* b / s, which is below 10; b becomes what is left, times ten. */
static char big_digit(struct big *b, const struct big *s)
{
	char digit = '0';

	while (big_compare(b, s) >= 0) {
		big_subtract(b, s);
		digit++;
	}
	big_multiply(b, 10);
	return digit;
}

static int bits_of_power_of_5(int power)
{
	return power < 27 ? (power ? (int)((double)power * 2.321928094887362) + 1 : 0) : power * 3;
}

static int estimate_exponent(const struct parts *parts)
{
	double mantissa = (double)parts->fraction / (double)(1ull << DOUBLE_FRACTION_BITS);

	return (int)floor((mantissa - 1.5) * 0.289529654 + 0.176091259 +
			  (double)parts->exponent * 0.301029995663981);
}

static void round_up(struct digits *digits)
{
	int i = digits->count - 1;

	while (i > 0 && digits->at[i] == '9')
		digits->at[i--] = '0';
	if (digits->at[i] == '9') {
		digits->at[0] = '1';
		digits->exponent++;
		return;
	}
	digits->at[i]++;
}

/* Whole numbers that fit a long; digits beyond the precision are rounded away. */
static void whole_digits(const struct parts *parts, struct digits *digits)
{
	uint64_t value = parts->exponent >= DOUBLE_FRACTION_BITS
				 ? parts->fraction << (parts->exponent - DOUBLE_FRACTION_BITS)
				 : parts->fraction >> (DOUBLE_FRACTION_BITS - parts->exponent);
	int over = parts->exponent - parts->significant_bits - 1;
	int drop = over > 1 ? (int)((double)over * 0.30102999566398120) : 0;
	char buffer[DIGITS_MAX];
	int count = 0;
	uint64_t power = 1;

	for (int i = 0; i < drop; i++)
		power *= 10;
	value = value / power + (drop && value % power >= power / 2);
	digits->exponent = drop;
	for (; value % 10 == 0 && value; value /= 10)
		digits->exponent++;
	for (; value; value /= 10)
		buffer[count++] = (char)('0' + value % 10);
	digits->count = count;
	digits->exponent += count;
	for (int i = 0; i < count; i++)
		digits->at[i] = buffer[count - 1 - i];
}

/* What the division works on. */
struct division {
	struct big b, s, m, tens;
	int exponent;
	bool is_word;
	bool low, high; /* what is left is within the margin below, above */
};

static void judge(struct division *d)
{
	struct big sum;
	int order;

	big_add(&sum, &d->b, &d->m);
	order = big_compare(&sum, &d->tens);
	d->low = big_compare(&d->b, &d->m) < 0;
	d->high = d->is_word ? order > 0 : order >= 0;
}

static void prepare(struct division *d, const struct parts *parts)
{
	int tail = __builtin_ctzll(parts->fraction);
	int fraction_bits = DOUBLE_FRACTION_BITS + 1 - tail;
	int tiny = fraction_bits - parts->exponent - 1;
	int exponent = estimate_exponent(parts);
	int b5 = exponent < 0 ? -exponent : 0;
	int s5 = exponent > 0 ? exponent : 0;
	int b2, s2, m2, common;

	tiny = tiny > 0 ? tiny : 0;
	b2 = b5 + tiny + parts->exponent;
	s2 = s5 + tiny;
	m2 = b2 - parts->significant_bits;
	b2 -= fraction_bits - 1;
	common = b2 < s2 ? b2 : s2;
	b2 -= common;
	s2 -= common;
	m2 -= common;
	if (fraction_bits == 1)
		m2--; /* below a power of two numbers lie half as far apart */
	if (m2 < 0) {
		b2 -= m2;
		s2 -= m2;
		m2 = 0;
	}
	d->exponent = exponent;
	d->is_word = fraction_bits + b2 + bits_of_power_of_5(b5) < 64 &&
		     s2 + 1 + bits_of_power_of_5(s5 + 1) < 64;
	big_set(&d->b, parts->fraction >> tail);
	big_scale(&d->b, b5, b2);
	big_set(&d->s, 1);
	big_scale(&d->s, s5, s2);
	big_set(&d->m, 1);
	big_scale(&d->m, b5, m2);
	d->tens = d->s;
	big_multiply(&d->tens, 10);
}

static void divided_digits(const struct parts *parts, bool is_compatible, struct digits *digits)
{
	struct division d;
	char digit;
	int order;

	prepare(&d, parts);
	digits->count = 0;
	digit = big_digit(&d.b, &d.s);
	big_multiply(&d.m, 10);
	judge(&d);
	if (digit == '0' && !d.high)
		d.exponent--;
	else
		digits->at[digits->count++] = digit;
	/* At least one digit behind the point of "1.0E10". */
	if (!is_compatible || d.exponent < -3 || d.exponent >= 8)
		d.high = d.low = false;
	while (!d.low && !d.high && digits->count < DIGITS_MAX) {
		digits->at[digits->count++] = big_digit(&d.b, &d.s);
		big_multiply(&d.m, 10);
		judge(&d);
	}
	digits->exponent = d.exponent + 1;
	if (!d.high)
		return;
	big_multiply(&d.b, 2);
	order = big_compare(&d.b, &d.tens);
	if (!d.low || order > 0 || (order == 0 && (digits->at[digits->count - 1] & 1)))
		round_up(digits);
}

static void make_digits(const struct parts *parts, bool is_compatible, struct digits *digits)
{
	int tail = __builtin_ctzll(parts->fraction);

	if (parts->exponent >= DOUBLE_FRACTION_BITS - tail && parts->exponent <= 62)
		whole_digits(parts, digits);
	else
		divided_digits(parts, is_compatible, digits);
}

/* Normalizes; `bits` without sign, as many fraction bits as said. */
static struct parts take_apart(uint64_t bits, int fraction_bits, int bias)
{
	struct parts parts;
	uint64_t fraction = bits & ((1ull << fraction_bits) - 1);
	int exponent = (int)(bits >> fraction_bits);

	parts.significant_bits = fraction_bits + 1;
	if (exponent == 0) {
		int length = 64 - __builtin_clzll(fraction);

		parts.significant_bits = length;
		exponent = 1 - (fraction_bits + 1 - length);
		fraction <<= fraction_bits + 1 - length;
	} else {
		fraction |= 1ull << fraction_bits;
	}
	parts.exponent = exponent - bias;
	parts.fraction = fraction << (DOUBLE_FRACTION_BITS - fraction_bits);
	return parts;
}

static struct parts parts_of_double(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return take_apart(bits & INT64_MAX, DOUBLE_FRACTION_BITS, 1023);
}

static struct parts parts_of_float(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return take_apart(bits & INT32_MAX, FLOAT_FRACTION_BITS, 127);
}

static char *put_digits(char *at, const struct digits *digits, int from, int to)
{
	for (int i = from; i < to; i++)
		*at++ = i < digits->count && i >= 0 ? digits->at[i] : '0';
	return at;
}

static char *put_exponent(char *at, int exponent)
{
	*at++ = 'E';
	if (exponent < 0) {
		*at++ = '-';
		exponent = -exponent;
	}
	if (exponent >= 100)
		*at++ = (char)('0' + exponent / 100);
	if (exponent >= 10)
		*at++ = (char)('0' + exponent / 10 % 10);
	*at++ = (char)('0' + exponent % 10);
	return at;
}

static char *put_plain(char *at, const struct digits *digits)
{
	int point = digits->exponent;
	int count = digits->count;

	if (point > 0 && point < 8) {
		at = put_digits(at, digits, 0, point);
		*at++ = '.';
		return put_digits(at, digits, point, count > point ? count : point + 1);
	}
	if (point <= 0 && point > -3) {
		*at++ = '0';
		*at++ = '.';
		for (int i = point; i < 0; i++)
			*at++ = '0';
		return put_digits(at, digits, 0, count);
	}
	*at++ = digits->at[0];
	*at++ = '.';
	at = put_digits(at, digits, 1, count > 1 ? count : 2);
	return put_exponent(at, point - 1);
}

/* NaN, infinities; NULL when it is a number, with its sign written. */
static const char *special(double value)
{
	if (isnan(value))
		return "NaN";
	if (isinf(value))
		return value < 0 ? "-Infinity" : "Infinity";
	return NULL;
}

static size_t put_text(char *buffer, const char *text)
{
	size_t length = strlen(text);

	memcpy(buffer, text, length + 1);
	return length;
}

static size_t put_number(char *buffer, double value, const struct parts *parts)
{
	struct digits digits;
	char *at = buffer;

	if (signbit(value))
		*at++ = '-';
	make_digits(parts, true, &digits);
	at = put_plain(at, &digits);
	*at = 0;
	return (size_t)(at - buffer);
}

size_t cli_java_double(char *buffer, double value)
{
	struct parts parts;

	if (special(value))
		return put_text(buffer, special(value));
	if (value == 0)
		return put_text(buffer, signbit(value) ? "-0.0" : "0.0");
	parts = parts_of_double(value);
	return put_number(buffer, value, &parts);
}

size_t cli_java_float(char *buffer, float value)
{
	struct parts parts;

	if (special((double)value))
		return put_text(buffer, special((double)value));
	if (value == 0)
		return put_text(buffer, signbit(value) ? "-0.0" : "0.0");
	parts = parts_of_float(value);
	return put_number(buffer, (double)value, &parts);
}

/* Rounds to `keep` digits, halves up. */
static void round_to(struct digits *digits, int keep)
{
	char next;

	if (keep >= digits->count)
		return;
	next = keep < 0 ? '0' : digits->at[keep];
	digits->count = keep > 0 ? keep : 0;
	if (next < '5')
		return;
	if (digits->count == 0) {
		digits->at[0] = '1';
		digits->count = 1;
		digits->exponent++;
		return;
	}
	round_up(digits);
}

size_t cli_java_fixed(char *buffer, double value, unsigned decimals)
{
	struct digits digits = { .count = 0 };
	struct parts parts;
	char *at = buffer;

	if (special(value))
		return put_text(buffer, special(value));
	if (signbit(value))
		*at++ = '-';
	if (value != 0) {
		parts = parts_of_double(value);
		make_digits(&parts, false, &digits);
		round_to(&digits, digits.exponent + (int)decimals);
	}
	if (digits.exponent > 0)
		at = put_digits(at, &digits, 0, digits.exponent);
	else
		*at++ = '0';
	if (decimals) {
		*at++ = '.';
		at = put_digits(at, &digits, digits.exponent, digits.exponent + (int)decimals);
	}
	*at = 0;
	return (size_t)(at - buffer);
}
