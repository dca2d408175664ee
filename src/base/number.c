/* Numbers in text, whatever the locale. */
#include "base/number.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A decimal number taken apart: digits * 10^exponent. */
struct decimal {
	uint64_t digits;
	int64_t  exponent;
	size_t   n_significant;   /* without leading zeros            */
	int      negative;
};

static const double power_of_ten[] = {
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
	1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

static locale_t c_locale;

static void
make_c_locale(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static locale_t
get_c_locale(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_c_locale);
	return c_locale;
}

static int
scan_digit(struct decimal *d, char c)
{
	const unsigned digit = (unsigned)(c - '0');

	if (d->n_significant == 0 && digit == 0)
		return 0;
	if (d->n_significant < 19)
		d->digits = d->digits * 10 + digit;
	d->n_significant++;
	return d->n_significant > 19;
}

static const char *
scan_exponent(const char *s, const char *end, int64_t *out)
{
	int64_t value = 0;
	int     negative = 0;

	if (s < end && (*s == '+' || *s == '-'))
		negative = *s++ == '-';
	if (s == end)
		return NULL;
	for (; s < end; s++) {
		if (*s < '0' || *s > '9')
			return NULL;
		if (value < 1000000)
			value = value * 10 + (*s - '0');
	}
	*out = negative ? -value : value;
	return s;
}

/* [+-] digits [. digits] [e [+-] digits], at least one digit before e. */
static int
scan_decimal(const char *s, size_t n, struct decimal *d)
{
	const char *end = s + n;
	int64_t     exponent = 0;
	size_t      n_digits = 0;

	*d = (struct decimal){ 0 };
	if (s < end && (*s == '+' || *s == '-'))
		d->negative = *s++ == '-';
	for (; s < end && *s >= '0' && *s <= '9'; s++, n_digits++)
		d->exponent += scan_digit(d, *s);
	if (s < end && *s == '.')
		for (s++; s < end && *s >= '0' && *s <= '9'; s++, n_digits++)
			d->exponent += scan_digit(d, *s) - 1;
	if (n_digits == 0)
		return 0;
	if (s < end && (*s == 'e' || *s == 'E')) {
		s = scan_exponent(s + 1, end, &exponent);
		if (s == NULL)
			return 0;
	}
	d->exponent += exponent;
	return s == end;
}

/* Exact in one rounding (Clinger 1990): the digits and the power of ten are
 * both doubles without error. */
static int
fast_double(const struct decimal *d, double *out)
{
	double value = (double)d->digits;

	if (d->digits == 0) {
		*out = d->negative ? -0.0 : 0.0;
		return d->n_significant == 0;
	}
	if (d->n_significant > 19 || d->digits >> 53 != 0 || d->exponent < -22 || d->exponent > 22)
		return 0;
	if (d->exponent < 0)
		value /= power_of_ten[-d->exponent];
	else
		value *= power_of_ten[d->exponent];
	*out = d->negative ? -value : value;
	return 1;
}

/* By way of the double, which has already been rounded once: rounding again is
 * right unless the double lies halfway between two floats. */
static int
fast_float(const struct decimal *d, float *out)
{
	double   value;
	uint64_t bits;

	if (!fast_double(d, &value))
		return 0;
	memcpy(&bits, &value, sizeof(bits));
	if (d->digits != 0 && (fabs(value) < 0x1p-126 || fabs(value) > 0x1p127 ||
	    (bits & 0x1fffffff) == 0x10000000))
		return 0;
	*out = (float)value;
	return 1;
}

/* A terminated copy for the C library; text is already known to be a number.
 * Returns short_text or a block to free. */
static char *
copy_text(char short_text[128], const char *text, size_t n)
{
	char *copy = n < 128 ? short_text : malloc(n + 1);

	if (copy == NULL)
		return NULL;
	memcpy(copy, text, n);
	copy[n] = '\0';
	return copy;
}

int
number_double(const char *text, size_t n, double *out)
{
	struct decimal d;
	char           short_text[128], *copy;

	if (!scan_decimal(text, n, &d))
		return 0;
	if (fast_double(&d, out))
		return 1;
	copy = copy_text(short_text, text, n);
	if (copy == NULL)
		return 0;
	*out = strtod_l(copy, NULL, get_c_locale());
	if (copy != short_text)
		free(copy);
	return isfinite(*out);
}

int
number_float(const char *text, size_t n, float *out)
{
	struct decimal d;
	char           short_text[128], *copy;

	if (!scan_decimal(text, n, &d))
		return 0;
	if (fast_float(&d, out))
		return 1;
	copy = copy_text(short_text, text, n);
	if (copy == NULL)
		return 0;
	*out = strtof_l(copy, NULL, get_c_locale());
	if (copy != short_text)
		free(copy);
	return isfinite(*out);
}

int
number_u64(const char *text, size_t n, uint64_t *out)
{
	uint64_t value = 0;
	size_t   i = n > 1 && text[0] == '+';

	if (n == 0)
		return 0;
	for (; i < n; i++) {
		const unsigned digit = (unsigned)(text[i] - '0');

		if (digit > 9 || __builtin_mul_overflow(value, (uint64_t)10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			return 0;
	}
	*out = value;
	return 1;
}

int
number_i64(const char *text, size_t n, int64_t *out)
{
	const int negative = n > 0 && text[0] == '-';
	uint64_t  value;

	if (negative && (n < 2 || text[1] == '+'))
		return 0;
	if (!number_u64(text + negative, n - (size_t)negative, &value))
		return 0;
	if (value > (uint64_t)INT64_MAX + (uint64_t)negative)
		return 0;
	*out = negative ? (int64_t)(0 - value) : (int64_t)value;
	return 1;
}

static char *
print_special(char out[32], double value)
{
	if (isnan(value))
		snprintf(out, 32, "nan");
	else
		snprintf(out, 32, value < 0 ? "-inf" : "inf");
	return out;
}

/* %g in the C locale. */
static void
print_digits(char out[32], int n_digits, double value)
{
	const locale_t c = get_c_locale();
	const locale_t former = c != (locale_t)0 ? uselocale(c) : (locale_t)0;

	snprintf(out, 32, "%.*g", n_digits, value);
	if (former != (locale_t)0)
		uselocale(former);
}

/* m * 10^-k in the manner of %g with n_digits of precision, m > 0. */
static void
format_decimal(char out[32], int negative, uint64_t m, int k, int n_digits)
{
	char        digit[24];
	const char *at;
	int         n = 0, exponent;

	for (; m % 10 == 0; m /= 10)
		k--;
	for (; m > 0; m /= 10)
		digit[sizeof(digit) - 1 - (size_t)n++] = (char)('0' + m % 10);
	at = digit + sizeof(digit) - n;
	exponent = n - 1 - k;
	if (negative)
		*out++ = '-';
	if (exponent < -4 || exponent >= n_digits) {
		*out++ = *at;
		if (n > 1) {
			*out++ = '.';
			memcpy(out, at + 1, (size_t)n - 1);
			out += n - 1;
		}
		snprintf(
			out, 8, "e%c%02u", exponent < 0 ? '-' : '+', (unsigned)abs(exponent) % 100);
		return;
	}
	for (int place = exponent < 0 ? 0 : exponent; place >= 0 || exponent - place < n; place--) {
		const int i = exponent - place;

		if (place == -1)
			*out++ = '.';
		*out++ = i >= 0 && i < n ? at[i] : '0';
	}
	*out = '\0';
}

enum quick { QUICK_DONE, QUICK_MORE_DIGITS, QUICK_UNSURE };

/* Tries n_digits without the C library.  What it gives is checked by reading it
 * back exactly, so an error of the product only costs the slow way. */
static enum quick
print_quickly(char out[32], int n_digits, double value, int narrow)
{
	const double a = fabs(value);
	uint64_t     m, bits;
	double       back;
	int          k;

	if (!(a >= 1e-13 && a < 1e15))
		return QUICK_UNSURE;
	k = n_digits - 1 - (int)floor(log10(a));
	if (k < -22 || k > 22)
		return QUICK_UNSURE;
	m = (uint64_t)llrint(k >= 0 ? a * power_of_ten[k] : a / power_of_ten[-k]);
	if (m == 0 || m >> 53 != 0)
		return QUICK_UNSURE;
	back = k >= 0 ? (double)m / power_of_ten[k] : (double)m * power_of_ten[-k];
	memcpy(&bits, &back, sizeof(bits));
	if (narrow && (bits & 0x1fffffff) == 0x10000000)
		return QUICK_UNSURE;
	if (narrow ? (float)back != (float)a : back != a)
		return QUICK_MORE_DIGITS;
	format_decimal(out, value < 0, m, k, n_digits);
	return QUICK_DONE;
}

char *
number_print_float(char out[32], float value)
{
	enum quick quick = QUICK_MORE_DIGITS;

	if (!isfinite(value))
		return print_special(out, (double)value);
	for (int n_digits = 6; n_digits <= 9 && quick == QUICK_MORE_DIGITS; n_digits++)
		quick = print_quickly(out, n_digits, (double)value, 1);
	if (quick == QUICK_DONE)
		return out;
	/* Six digits survive unless the value is subnormal. */
	for (int n_digits = fabsf(value) < 0x1p-126f ? 1 : 6; n_digits <= 9; n_digits++) {
		float back;

		print_digits(out, n_digits, (double)value);
		if (number_float(out, strlen(out), &back) && back == value)
			break;
	}
	return out;
}

char *
number_print_double(char out[32], double value)
{
	if (!isfinite(value))
		return print_special(out, value);
	if (print_quickly(out, 15, value, 0) == QUICK_DONE)
		return out;
	for (int n_digits = fabs(value) < 0x1p-1022 ? 1 : 15; n_digits <= 17; n_digits++) {
		double back;

		print_digits(out, n_digits, value);
		if (number_double(out, strlen(out), &back) && back == value)
			break;
	}
	return out;
}
