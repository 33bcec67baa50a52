/* SPDX-License-Identifier: Apache-2.0 */
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define DAY_MS (24LL * 3600 * 1000)

/*
 * Units of durations, with their lengths in milliseconds, in the order in which
 * a text must have them.
 */
static const struct {
	const char *unit;
	int64_t ms;
} durations[] = {
	{ "y", 365LL * DAY_MS },
	{ "w", 7LL * DAY_MS },
	{ "d", DAY_MS },
	{ "h", 3600000 },
	{ "m", 60000 },
	{ "s", 1000 },
	{ "ms", 1 },
};

/* Return the number of decimal digits at the start of s. */
static size_t units_count_digits(struct str s)
{
	size_t n = 0;

	while (n < s.len && s.ptr[n] >= '0' && s.ptr[n] <= '9')
		n++;
	return n;
}

/* Return the number of lower-case letters at the start of s. */
static size_t units_count_letters(struct str s)
{
	size_t n = 0;

	while (n < s.len && s.ptr[n] >= 'a' && s.ptr[n] <= 'z')
		n++;
	return n;
}

/*
 * Remove the first n bytes of *s, which has at least n bytes, and return them.
 */
static struct str units_take(struct str *s, size_t n)
{
	struct str head = { .ptr = s->ptr, .len = n };

	s->ptr += n;
	s->len -= n;
	return head;
}

/*
 * Parse one "<number><unit>" at the start of *s and add its duration to *total.
 * The unit is searched from index *next of `durations` on, and *next is set to
 * the unit's index plus 1, so that units appear in order and at most once.
 */
static bool duration_part(struct str *s, size_t *next, int64_t *total)
{
	struct str number = units_take(s, units_count_digits(*s));
	struct str unit = units_take(s, units_count_letters(*s));
	int64_t n;

	if (!str_to_i64(number, &n))
		return false;
	while (*next < ARRAY_SIZE(durations) &&
	       !str_is(unit, durations[*next].unit))
		(*next)++;
	if (*next == ARRAY_SIZE(durations))
		return false;
	return !__builtin_mul_overflow(n, durations[(*next)++].ms, &n) &&
	       !__builtin_add_overflow(*total, n, total);
}

/* Refuse a text that is no duration. A number alone is usually in seconds. */
static int duration_refuse(struct str s, struct err *err)
{
	int64_t seconds;

	if (str_to_i64(s, &seconds) && seconds >= 0)
		return err_set(
			err, ERR_INVALID,
			"invalid duration \"%.*s\": add a unit, such as %.*ss",
			STR_ARG(s), STR_ARG(s));
	return err_set(
		err, ERR_INVALID,
		"invalid duration \"%.*s\": use whole numbers with units, the largest unit first, such as 15s, 1m30s, 1h or 90d",
		STR_ARG(s));
}

int duration_parse(struct str s, int64_t *ms, struct err *err)
{
	struct str rest = s;
	int64_t total = 0;
	size_t next = 0;

	if (str_is(s, "0")) {
		*ms = 0;
		return 0;
	}
	do {
		if (!duration_part(&rest, &next, &total))
			return duration_refuse(s, err);
	} while (rest.len);
	*ms = total;
	return 0;
}

void duration_format(int64_t ms, char out[32])
{
	int64_t left = ms;
	size_t n = 0;

	if (!ms)
		snprintf(out, 32, "0s");
	for (size_t i = 0; i < ARRAY_SIZE(durations) && left; i++) {
		int64_t count = left / durations[i].ms;

		/*
		 * Years and weeks are used only if the remaining time is a
		 * whole number of them, so that 90d stays 90d.
		 */
		if (!count || (i < 2 && left % durations[i].ms))
			continue;
		n += (size_t)snprintf(out + n, 32 - n, "%lld%s",
				      (long long)count, durations[i].unit);
		left %= durations[i].ms;
		if (n >= 31)
			return;
	}
}

/* Units of sizes, with their values in bytes. */
static const struct {
	const char *unit;
	double bytes;
} sizes[] = {
	{ "", 1 },         { "B", 1 },        { "KB", 0x1p10 },
	{ "MB", 0x1p20 },  { "GB", 0x1p30 },  { "TB", 0x1p40 },
	{ "PB", 0x1p50 },  { "EB", 0x1p60 },  { "KiB", 0x1p10 },
	{ "MiB", 0x1p20 }, { "GiB", 0x1p30 }, { "TiB", 0x1p40 },
	{ "PiB", 0x1p50 }, { "EiB", 0x1p60 },
};

/* Units are accepted in upper and lower case: "10gb" can only mean 10GB. */
static bool is_unit(struct str s, const char *unit)
{
	return s.len == strlen(unit) && !strncasecmp(s.ptr, unit, s.len);
}

/* The number is parsed as a double, for fractions such as 1.5GB. */
int size_parse(struct str s, int64_t *bytes, struct err *err)
{
	struct str unit = s;
	char number[32];
	size_t n = 0;
	double v;

	while (n < s.len &&
	       ((s.ptr[n] >= '0' && s.ptr[n] <= '9') || s.ptr[n] == '.'))
		n++;
	units_take(&unit, n);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		char *end;

		if (!n || n >= sizeof(number) || !is_unit(unit, sizes[i].unit))
			continue;
		memcpy(number, s.ptr, n);
		number[n] = 0;
		v = strtod(number, &end) * sizes[i].bytes;
		/*
		 * The number has a second point, or the size exceeds int64_t.
		 */
		if (*end || v >= 0x1p63)
			break;
		*bytes = (int64_t)v;
		return 0;
	}
	return err_set(
		err, ERR_INVALID,
		"invalid size \"%.*s\": use a number with a unit, such as 512MB or 20GB",
		STR_ARG(s));
}

/* Parse two decimal digits at p as a number between `low` and `high`. */
static bool two_digits(const char *p, int low, int high, int *out)
{
	if (p[0] < '0' || p[0] > '9' || p[1] < '0' || p[1] > '9')
		return false;
	*out = (p[0] - '0') * 10 + (p[1] - '0');
	return *out >= low && *out <= high;
}

/*
 * Parse an optional fraction of a second (".678") at the start of *s into
 * milliseconds; digits after the third are ignored. A point without digits is
 * an error.
 */
static bool units_read_fraction(struct str *s, int64_t *ms)
{
	int64_t unit = 100;
	size_t n;

	*ms = 0;
	if (!s->len || s->ptr[0] != '.')
		return true;
	units_take(s, 1);
	n = units_count_digits(*s);
	for (size_t i = 0; i < n; i++, unit /= 10)
		*ms += (s->ptr[i] - '0') * unit;
	units_take(s, n);
	return n;
}

/*
 * Parse the whole text as a time zone ("Z", "+02:00", "-0700") and store its
 * offset in milliseconds.
 */
static bool units_read_offset(struct str s, int64_t *ms)
{
	int hours;
	int minutes;
	size_t colon = s.len == 6;

	*ms = 0;
	if (str_is(s, "Z") || str_is(s, "z"))
		return true;
	if (s.len < 5 || s.len > 6 || (s.ptr[0] != '+' && s.ptr[0] != '-') ||
	    (colon && s.ptr[3] != ':') ||
	    !two_digits(s.ptr + 1, 0, 23, &hours) ||
	    !two_digits(s.ptr + 3 + colon, 0, 59, &minutes))
		return false;
	*ms = (hours * 60 + minutes) * 60000LL * (s.ptr[0] == '-' ? -1 : 1);
	return true;
}

/*
 * Parse a date and time of RFC 3339. Lower-case letters and a space instead of
 * the "T" are accepted, as the RFC permits. The length is checked first, so
 * that the characters at fixed positions can be read.
 */
static bool units_parse_rfc3339(struct str s, int64_t *ms)
{
	struct tm tm = { 0 };
	const char *p = s.ptr;
	int64_t part;
	int64_t zone;
	int century;
	int year;
	int day;

	if (s.len < 20 || p[4] != '-' || p[7] != '-' ||
	    (p[10] != 'T' && p[10] != 't' && p[10] != ' ') || p[13] != ':' ||
	    p[16] != ':' || !two_digits(p, 0, 99, &century) ||
	    !two_digits(p + 2, 0, 99, &year) ||
	    !two_digits(p + 5, 1, 12, &tm.tm_mon) ||
	    !two_digits(p + 8, 1, 31, &tm.tm_mday) ||
	    !two_digits(p + 11, 0, 23, &tm.tm_hour) ||
	    !two_digits(p + 14, 0, 59, &tm.tm_min) ||
	    !two_digits(p + 17, 0, 60, &tm.tm_sec))
		return false;
	tm.tm_year = century * 100 + year - 1900;
	tm.tm_mon--;
	units_take(&s, 19);
	if (!units_read_fraction(&s, &part) || !units_read_offset(s, &zone))
		return false;
	day = tm.tm_mday;
	*ms = (int64_t)timegm(&tm) * 1000 + part - zone;
	/* timegm() turns 30 February into a day of March: refuse it. */
	return tm.tm_mday == day;
}

/*
 * Parse "2026-11-22 10:51", "2026-11-22" or "10:51:30" (today), all in UTC, by
 * completing the text to RFC 3339: with the date of now_ms if the text has no
 * date, and with zeros for the missing hours, minutes or seconds.
 */
static bool short_time(struct str s, int64_t now_ms, int64_t *ms)
{
	char text[64];
	bool dated = s.len >= 10 && s.ptr[4] == '-';
	struct str clock = s;

	time_format(now_ms, text);
	if (dated) {
		memcpy(text, s.ptr, 10);
		units_take(&clock, 10);
		if (clock.len && *clock.ptr != ' ' && *clock.ptr != 'T')
			return false;
		units_take(&clock, clock.len > 0);
	}
	if (clock.len != 8 && clock.len != 5 && !(dated && s.len == 10))
		return false;
	snprintf(text + 10, sizeof(text) - 10, "T%.*s%sZ", STR_ARG(clock),
		 &"00:00:00"[clock.len]);
	return units_parse_rfc3339(str_of(text), ms);
}

int time_parse(struct str s, int64_t now_ms, int64_t *ms, struct err *err)
{
	struct str rest = s;
	bool relative = s.len > 1 && (*s.ptr == '-' || *s.ptr == '+');
	int64_t back = 0;

	if (str_is(s, "now")) {
		*ms = now_ms;
		return 0;
	}
	/* "now-1h" and "-1h" mean the same, as do "now+1h" and "+1h". */
	if (relative || str_starts(s, str_of("now-")) ||
	    str_starts(s, str_of("now+"))) {
		bool minus = s.ptr[relative ? 0 : 3] == '-';

		units_take(&rest, relative ? 1 : 4);
		if (duration_parse(rest, &back, err))
			return ERR_INVALID;
		if (minus ? __builtin_sub_overflow(now_ms, back, ms) :
			    __builtin_add_overflow(now_ms, back, ms))
			*ms = minus ? INT64_MIN : INT64_MAX;
		return 0;
	}
	if (units_parse_rfc3339(s, ms) || short_time(s, now_ms, ms))
		return 0;
	return err_set(
		err, ERR_INVALID,
		"invalid time \"%.*s\": use now-1h, 2026-11-22 10:51 (UTC), an RFC 3339 time, or a Unix time in milliseconds (in the API parameters \"start\" and \"end\": in seconds)",
		STR_ARG(s));
}

/*
 * Before 1970 the remainder of the division by 1000 is negative; the time is
 * then rounded down to a full second and 1000 is added to the remainder.
 */
void time_format(int64_t ms, char out[40])
{
	int part = (int)(ms % 1000);
	time_t s = (time_t)(ms / 1000 - (part < 0));
	struct tm tm;
	size_t n;

	gmtime_r(&s, &tm);
	n = strftime(out, 40, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out + n, 40 - n, ".%03dZ", part < 0 ? part + 1000 : part);
}
