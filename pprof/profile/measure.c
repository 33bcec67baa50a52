/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/profile/measure.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>

/*
 * A unit: the name that is printed, the spellings that are accepted (in lower
 * case, singular), and its size in the family's base unit.
 */
struct unit {
	const char *name;
	const char *aliases[4];
	double factor;
};

/* Units that convert into each other. */
struct family {
	struct unit units[9];
	size_t count;
	const char *fallback; /* unit to use if no other unit fits */
	double fallback_factor;
};

/*
 * Names, aliases and factors are those of google/pprof's internal/measurement;
 * the base units, with factor 1, are "B" for bytes, "ns" for times and "GCU".
 */
static const struct family families[] = {
	{
		.units = { { "B", { "b", "byte" }, 1 },
			   { "kB", { "kb", "kbyte", "kilobyte" }, 0x1p10 },
			   { "MB", { "mb", "mbyte", "megabyte" }, 0x1p20 },
			   { "GB", { "gb", "gbyte", "gigabyte" }, 0x1p30 },
			   { "TB", { "tb", "tbyte", "terabyte" }, 0x1p40 },
			   { "PB", { "pb", "pbyte", "petabyte" }, 0x1p50 } },
		.count = 6,
		.fallback = "B",
		.fallback_factor = 1,
	},
	{
		.units = { { "ns", { "ns", "nanosecond" }, 1 },
			   { "us", { "\u03bcs", "us", "microsecond" }, 1e3 },
			   { "ms", { "ms", "millisecond" }, 1e6 },
			   { "s", { "s", "sec", "second" }, 1e9 },
			   { "hrs", { "hour", "hr" }, 3600e9 } },
		.count = 5,
		.fallback = "s",
		.fallback_factor = 1e9,
	},
	{
		.units = { { "n*GCU", { "nanogcu" }, 1e-9 },
			   { "u*GCU", { "microgcu" }, 1e-6 },
			   { "m*GCU", { "milligcu" }, 1e-3 },
			   { "GCU", { "gcu" }, 1 },
			   { "k*GCU", { "kilogcu" }, 1e3 },
			   { "M*GCU", { "megagcu" }, 1e6 },
			   { "G*GCU", { "gigagcu" }, 1e9 },
			   { "T*GCU", { "teragcu" }, 1e12 },
			   { "P*GCU", { "petagcu" }, 1e15 } },
		.count = 9,
		.fallback = "GCU",
		.fallback_factor = 1,
	},
};

/*
 * Return the unit of the family with the spelling `name`, in any case and with
 * or without a plural s, or NULL. A name that does not fit into the buffer is
 * no unit: all spellings are shorter.
 */
static const struct unit *find_unit(const struct family *f, struct str name)
{
	char low[16];

	if (name.len >= sizeof(low))
		return NULL;
	for (size_t i = 0; i < name.len; i++)
		low[i] = (char)tolower((unsigned char)name.ptr[i]);
	if (name.len > 2 && low[name.len - 1] == 's')
		name.len--;
	name.ptr = low;
	for (size_t i = 0; i < f->count; i++) {
		const struct unit *u = &f->units[i];

		for (size_t k = 0; k < 4 && u->aliases[k]; k++) {
			if (str_is(name, u->aliases[k]))
				return u;
		}
	}
	return NULL;
}

/*
 * Return whether the text asks for a unit that suits the value, instead of
 * naming a unit.
 */
static bool is_auto(struct str unit)
{
	return str_is(unit, "minimum") || str_is(unit, "auto");
}

/*
 * Return the largest unit in which v, given in the family's base unit, is at
 * least 1, or NULL if v is too small for all of them.
 */
static const struct unit *measure_fitting(const struct family *f, double v)
{
	const struct unit *best = NULL;

	for (size_t i = 0; i < f->count; i++) {
		if (v / f->units[i].factor >= 1)
			best = &f->units[i];
	}
	return best;
}

/*
 * Convert v from the family's base unit to unit `to`. If `to` is a unit of
 * another family, the fallback unit is used instead, as in pprof.
 */
static double measure_convert(const struct family *f, double v, struct str to,
			      struct str *unit)
{
	const struct unit *u = is_auto(to) ? measure_fitting(f, v) :
					     find_unit(f, to);

	*unit = str_of(u ? u->name : f->fallback);
	return v / (u ? u->factor : f->fallback_factor);
}

/*
 * Return whether values are printed without this unit, because it adds nothing
 * to the number ("count", for instance).
 */
static bool is_dull(struct str unit)
{
	return str_is(unit, "count") || str_is(unit, "sample") ||
	       str_is(unit, "unit") || is_auto(unit);
}

/*
 * Implement measure_scale() for v >= 0; choosing a unit by magnitude needs a
 * value without sign.
 */
static double scale_positive(double v, struct str from, struct str to,
			     struct str *unit)
{
	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		const struct unit *u = find_unit(&families[i], from);

		if (u)
			return measure_convert(&families[i], v * u->factor, to,
					       unit);
	}
	*unit = is_dull(to) ? str_of("") : to;
	return v;
}

/* INT64_MIN cannot be negated and is scaled as it is. */
double measure_scale(int64_t v, struct str from, struct str to,
		     struct str *unit)
{
	if (v < 0 && v != INT64_MIN)
		return -scale_positive((double)-v, from, to, unit);
	return scale_positive((double)v, from, to, unit);
}

void measure_label(struct buf *out, int64_t v, struct str from, struct str to)
{
	struct str unit;
	double scaled = measure_scale(v, from, to, &unit);
	char text[400]; /* the longest double has 309 digits */
	int n = snprintf(text, sizeof(text), "%.2f", scaled);

	/* Whole numbers lose their decimals, as in pprof. */
	if (n > 3 && !memcmp(text + n - 3, ".00", 3))
		text[n - 3] = 0;
	if (!strcmp(text, "0") || !strcmp(text, "-0"))
		buf_str(out, "0");
	else
		buf_printf(out, "%s%.*s", text, STR_ARG(unit));
}

void measure_percentage(struct buf *out, int64_t v, int64_t total)
{
	double ratio = total ? fabs((double)v / (double)total) * 100 : 0;

	if (ratio >= 99.95 && ratio <= 100.05)
		buf_str(out, "  100%");
	else if (ratio >= 1)
		buf_printf(out, "%5.2f%%", ratio);
	else
		buf_printf(out, "%5.2g%%", ratio);
}

bool measure_is_unit(struct str unit)
{
	if (is_dull(unit))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		if (find_unit(&families[i], unit))
			return true;
	}
	return false;
}

bool measure_compatible(struct str a, struct str b)
{
	if (str_eq(a, b))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		if (find_unit(&families[i], a) && find_unit(&families[i], b))
			return true;
	}
	return false;
}

int64_t measure_integer(double v)
{
	return v >= -0x1p63 && v < 0x1p63 ? (int64_t)v : INT64_MIN;
}
