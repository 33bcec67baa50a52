/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units of values, their conversion and their text, with the numbers of
 * google/pprof's internal/measurement.
 */
#include <math.h>

#include "base/defs.h"
#include "pprof/profile/measure.h"
#include "tests/check.h"

TestSuite(measure, .timeout = 30);

Test(measure, a_value_is_converted_to_a_unit_of_its_family)
{
	static const struct {
		int64_t v;
		const char *from;
		const char *to;
		double want;
		const char *unit;
	} table[] = {
		{ 2048, "bytes", "kb", 2, "kB" },
		{ 3, "kilobytes", "B", 3072, "B" },
		{ 1, "PB", "tb", 1024, "TB" },
		{ -2048, "bytes", "kilobyte", -2, "kB" },
		{ 1500, "us", "ms", 1.5, "ms" },
		{ 2, "hours", "minutes", 7200, "s" },
		{ 90, "seconds", "hrs", 0.025, "hrs" },
		{ 7, "nanogcu", "gcu", 7e-9, "GCU" },
		{ 5, "GCU", "m*GCU", 5, "GCU" },
		/*
		 * For a target of another family, the result is in the fallback
		 * unit of the value's own family.
		 */
		{ 2000, "ms", "bytes", 2, "s" },
		{ 2, "kb", "seconds", 2048, "B" },
		{ 5, "seconds", "", 5, "s" },
		/* Values of unknown units are not converted. */
		{ 5, "widgets", "gadgets", 5, "gadgets" },
		{ 5, "widgets", "", 5, "" },
		{ 5, "count", "bytes", 5, "bytes" },
		{ 5, "bytesandmorebytes", "kb", 5, "kb" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct str unit;
		double got = measure_scale(table[i].v, str_of(table[i].from),
					   str_of(table[i].to), &unit);

		cr_expect(fabs(got - table[i].want) <
				  1e-12 * fabs(table[i].want) + 1e-300,
			  "%zu: %g", i, got);
		cr_expect(check_str(unit, table[i].unit), "%zu", i);
	}
}

Test(measure, spellings_of_a_unit_are_equal)
{
	static const char *const kilobytes[] = {
		"kb",     "kbs",      "KB",        "kB",       "kbyte",
		"kbytes", "kilobyte", "Kilobytes", "KILOBYTES"
	};
	static const char *const seconds[] = { "s", "sec", "secs", "second",
					       "SECONDS" };

	for (size_t i = 0; i < ARRAY_SIZE(kilobytes); i++) {
		struct str unit;

		cr_expect(measure_scale(3, str_of(kilobytes[i]), str_of("b"),
					&unit) == 3072,
			  "%s", kilobytes[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(seconds); i++) {
		struct str unit;

		cr_expect(measure_scale(3, str_of(seconds[i]), str_of("ms"),
					&unit) == 3000,
			  "%s", seconds[i]);
	}
}

Test(measure, auto_takes_the_largest_unit_in_which_the_value_is_one)
{
	static const struct {
		int64_t v;
		const char *from;
		double want;
		const char *unit;
	} table[] = {
		{ KIB - 1, "bytes", 1023, "B" },
		{ KIB, "bytes", 1, "kB" },
		{ KIB * KIB - 1, "bytes", 1023.9990234375, "kB" },
		{ KIB * KIB, "bytes", 1, "MB" },
		{ KIB * KIB * KIB * KIB * KIB, "bytes", 1, "PB" },
		{ 2048, "PB", 2048, "PB" },
		{ -KIB, "bytes", -1, "kB" },
		{ 999, "ns", 999, "ns" },
		{ 1000, "ns", 1, "us" },
		{ 59, "s", 59, "s" },
		{ 3599, "s", 3599, "s" },
		{ 3600, "s", 1, "hrs" },
		/*
		 * Values too small for any unit have the fallback unit of their
		 * family.
		 */
		{ 0, "ns", 0, "s" },
		{ 0, "kb", 0, "B" },
		{ 3, "count", 3, "" },
		{ 3, "widgets", 3, "" },
	};
	static const char *const both[] = { "auto", "minimum" };

	for (size_t i = 0; i < 2 * ARRAY_SIZE(table); i++) {
		struct str unit;
		size_t k = i / 2;
		double got = measure_scale(table[k].v, str_of(table[k].from),
					   str_of(both[i % 2]), &unit);

		cr_expect(got == table[k].want, "%zu: %g", k, got);
		cr_expect(check_str(unit, table[k].unit), "%zu", k);
	}
}

Test(measure, a_label_has_two_decimals_or_none)
{
	static const struct {
		int64_t v;
		const char *from;
		const char *to;
		const char *want;
	} table[] = {
		{ 1024, "bytes", "auto", "1kB" },
		{ 1026, "bytes", "auto", "1kB" },
		{ 1034, "bytes", "auto", "1.01kB" },
		{ 1, "bytes", "kb", "0" },
		{ -1, "bytes", "kb", "0" },
		{ 6, "bytes", "kb", "0.01kB" },
		{ 0, "widgets", "widgets", "0" },
		{ 5, "count", "count", "5" },
		{ 5, "samples", "sample", "5" },
		{ 5, "x", "unit", "5" },
		{ -90, "ms", "s", "-0.09s" },
		{ INT64_MAX, "count", "", "9223372036854775808" },
		{ 1, "P*GCU", "", "1" },
		{ 3, "petagcu", "auto", "3P*GCU" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct buf out = { 0 };

		buf_str(&out, "x");
		measure_label(&out, table[i].v, str_of(table[i].from),
			      str_of(table[i].to));
		cr_expect(check_str(str_of(buf_cstr(&out) + 1), table[i].want),
			  "%zu", i);
		buf_fini(&out);
	}
}

Test(measure, a_share_is_six_characters_wide)
{
	static const struct {
		int64_t v;
		int64_t total;
		const char *want;
	} table[] = {
		{ 0, 0, "    0%" },         { 5, 0, "    0%" },
		{ 0, 7, "    0%" },         { 1, 8, "12.50%" },
		{ -1, 8, "12.50%" },        { 1, -8, "12.50%" },
		{ 1, 100, " 1.00%" },       { 1, 101, " 0.99%" },
		{ 1, 1000, "  0.1%" },      { 1, 81, " 1.23%" },
		{ 1, 100000, "0.001%" },    { 1, 10000000, "1e-05%" },
		{ 9995, 10000, "  100%" },  { 9994, 10000, "99.94%" },
		{ 10005, 10000, "  100%" }, { 10006, 10000, "100.06%" },
		{ 25, 10, "250.00%" },      { 3, 3, "  100%" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct buf out = { 0 };

		measure_percentage(&out, table[i].v, table[i].total);
		cr_expect(check_str(str_of(buf_cstr(&out)), table[i].want),
			  "%zu", i);
		buf_fini(&out);
	}
}

Test(measure, integers_are_cut_and_never_undefined)
{
	cr_assert(measure_integer(2.9) == 2);
	cr_expect(measure_integer(-2.9) == -2);
	cr_expect(measure_integer(0x1p62) == (int64_t)1 << 62);
	cr_expect(measure_integer(-0x1p63) == INT64_MIN);
	/*
	 * C leaves these conversions undefined. They give what Go gives on
	 * amd64.
	 */
	cr_expect(measure_integer(0x1p63) == INT64_MIN);
	cr_expect(measure_integer(-0x1.8p63) == INT64_MIN);
	cr_expect(measure_integer((double)INFINITY) == INT64_MIN);
	cr_expect(measure_integer((double)NAN) == INT64_MIN);
}

Test(measure, units_of_one_family_can_be_added)
{
	static const struct {
		const char *a;
		const char *b;
		bool want;
	} table[] = {
		{ "bytes", "MB", true },
		{ "ns", "hours", true },
		{ "gcu", "nanogcu", true },
		{ "count", "count", true },
		{ "", "", true },
		{ "widgets", "widgets", true },
		{ "bytes", "ns", false },
		{ "count", "bytes", false },
		{ "count", "sample", false },
		{ "widgets", "widget", false },
		{ "", "bytes", false },
		{ "auto", "ns", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		cr_expect(measure_compatible(str_of(table[i].a),
					     str_of(table[i].b)) ==
				  table[i].want,
			  "%s and %s", table[i].a, table[i].b);
		cr_expect(measure_compatible(str_of(table[i].b),
					     str_of(table[i].a)) ==
				  table[i].want,
			  "%s and %s", table[i].b, table[i].a);
	}
}

Test(measure, words_that_values_can_be_shown_in_are_known)
{
	static const char *const good[] = { "B",    "kB",      "megabytes",
					    "ns",   "us",      "hr",
					    "GCU",  "count",   "sample",
					    "unit", "minimum", "auto" };
	static const char *const bad[] = { "",        "byt",   "counts",
					   "widgets", "kb ",   "minutes",
					   "m",       "units", "kbss" };

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		cr_expect(measure_is_unit(str_of(good[i])), "%s", good[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		cr_expect(!measure_is_unit(str_of(bad[i])), "%s", bad[i]);
}

Test(measure, a_nul_in_a_unit_is_part_of_it)
{
	struct str unit;

	cr_expect(measure_scale(1, (struct str){ "kb\0s", 4 }, str_of("b"),
				&unit) == 1);
	cr_expect(!measure_is_unit((struct str){ "kb\0", 3 }));
	/* The unit borrows from the argument, with its length. */
	cr_expect(measure_scale(4, str_of("x"), (struct str){ "abcd", 2 },
				&unit) == 4);
	cr_expect(check_str(unit, "ab"));
}
