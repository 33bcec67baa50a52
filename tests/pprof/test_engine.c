/* SPDX-License-Identifier: Apache-2.0 */
/* Decode, merge, diff, aggregate, filters and reports on made profiles. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>

#include "pprof/merge/aggregate.h"
#include "pprof/merge/merge.h"
#include "pprof/profile/measure.h"
#include "pprof/proto/decode.h"
#include "pprof/proto/encode.h"
#include "pprof/report/flame.h"
#include "pprof/report/report.h"
#include "pprof/report/report_forms.h"

#define ROOM ((size_t)64 * MIB)

static struct bytes text(const char *s)
{
	return bytes_of(str_of(s));
}

/*
 * The profiles are written in Java's legacy format, because it has names and
 * its values are not scaled. The line "10 2 @ 0x1 0x2" stands for a delay of 10
 * and 2 contentions.
 */
#define CONTENTION \
	"--- contentionz 1 ---\nformat = java\nresolution = microseconds\n"
#define NAMES                                                        \
	"\n0x1 leaf (a.go:1)\n0x2 mid (b.go:2)\n0x3 root (c.go:3)\n" \
	"0x4 other (d.go:4)\n"

static int add(struct merge *m, const char *profile, const enum merge_op *ops,
	       struct err *err)
{
	struct decoder *d = decoder_new(ROOM);
	struct pprof *p;
	int rc = decoder_run(d, text(profile), &p, err);

	if (!rc)
		rc = merge_add(m, p, ops, err);
	decoder_free(d);
	return rc;
}

static const char one[] = CONTENTION
	"10 2 @ 0x1 0x2 0x3\n5 1 @ 0x4 0x3\n" NAMES;
static const char two[] = CONTENTION "7 3 @ 0x1 0x2 0x3\n1 1 @ 0x1 0x3\n" NAMES;

static char *folded(struct merge *m, const char *index)
{
	struct pprof *p = merge_finish(m);
	struct report_options o;
	struct buf out = { 0 };
	struct report r;
	char *s;

	report_options_init(&o);
	o.sample_index = str_of(index);
	cr_assert(!report_init(&r, REPORT_FOLDED, p, &o, NULL));
	cr_assert(!report_folded(&r, &out, NULL));
	report_fini(&r);
	s = mem_strdup(buf_cstr(&out));
	buf_fini(&out);
	return s;
}

static void expect_folded(struct merge *m, const char *index, const char *want)
{
	char *have = folded(m, index);

	cr_expect(!strcmp(have, want), "%s\nnot\n%s", have, want);
	mem_free(have);
	merge_free(m);
}

Test(merge, sums_samples_with_equal_stacks)
{
	struct merge *m = merge_new();

	cr_assert(!add(m, one, NULL, NULL));
	cr_assert(!add(m, two, NULL, NULL));
	cr_expect(merge_count(m) == 2);
	expect_folded(m, "delay",
		      "root;leaf 1\nroot;mid;leaf 17\nroot;other 5\n");
}

Test(merge, result_does_not_depend_on_order)
{
	static const char *const all[] = { one, two };
	char *have[2];

	for (int i = 0; i < 2; i++) {
		struct merge *m = merge_new();

		cr_assert(!add(m, all[i], NULL, NULL));
		cr_assert(!add(m, all[!i], NULL, NULL));
		have[i] = folded(m, "contentions");
		merge_free(m);
	}
	cr_expect(!strcmp(have[0], have[1]));
	mem_free(have[0]);
	mem_free(have[1]);
}

Test(merge, subtracts_and_skips_values_by_operation)
{
	static const enum merge_op last[] = { MERGE_ADD, MERGE_ADD };
	static const enum merge_op first[] = { MERGE_SUBTRACT, MERGE_SKIP };
	struct merge *m = merge_new();

	/*
	 * Contentions are those of two minus those of one. The delay of one is
	 * skipped.
	 */
	cr_assert(!add(m, one, first, NULL));
	cr_assert(!add(m, two, last, NULL));
	expect_folded(m, "contentions",
		      "root;leaf 1\nroot;mid;leaf 1\nroot;other -1\n");
	m = merge_new();
	cr_assert(!add(m, one, first, NULL));
	cr_assert(!add(m, two, last, NULL));
	expect_folded(m, "delay", "root;leaf 1\nroot;mid;leaf 7\n");
}

Test(merge, means_of_series_are_added_up)
{
	static const enum merge_op mean[] = { MERGE_AVERAGE, MERGE_AVERAGE };
	struct merge *m = merge_new();

	cr_assert(!add(m, one, mean, NULL));
	cr_assert(!add(m, two, mean, NULL));
	/*
	 * The mean delays are 8.5, 2.5 and 0.5. Halves are rounded away from
	 * zero.
	 */
	merge_average(m, 2);
	cr_assert(!add(m, one, mean, NULL));
	merge_average(m, 1);
	expect_folded(m, "delay",
		      "root;leaf 1\nroot;mid;leaf 19\nroot;other 8\n");
}

Test(merge, samples_that_cancel_out_are_removed)
{
	static const enum merge_op minus[] = { MERGE_SUBTRACT, MERGE_SUBTRACT };
	struct merge *m = merge_new();
	struct pprof *p;

	cr_assert(!add(m, one, NULL, NULL));
	cr_assert(!add(m, one, minus, NULL));
	p = merge_finish(m);
	cr_assert(!p->samples.count);
	cr_assert(!p->locations.count);
	cr_expect(!p->functions.count);
	merge_free(m);
}

Test(merge, refuses_different_sample_types)
{
	struct merge *m = merge_new();
	struct err err;

	cr_assert(!add(m, one, NULL, NULL));
	cr_expect(add(m, "goroutine profile: total 1\n1 @ 0x1\n", NULL, &err) ==
		  ERR_INVALID);
	cr_expect(strstr(err.msg, "contentions/count delay/microseconds and "
				  "goroutine/count"),
		  "%s", err.msg);
	merge_free(m);
}

Test(merge, values_are_converted_to_the_finest_unit)
{
	static const char ms[] =
		"--- contentionz 1 ---\nformat = java\nresolution = "
		"milliseconds\n4 1 @ 0x1 0x2 0x3\n" NAMES;
	struct merge *m = merge_new();

	cr_assert(!add(m, ms, NULL, NULL));
	cr_assert(!add(m, one, NULL, NULL));
	cr_assert(!add(m, ms, NULL, NULL));
	expect_folded(m, "delay", "root;mid;leaf 8010\nroot;other 5\n");
}

Test(merge, adds_labels_of_the_series_to_samples)
{
	struct merge *m = merge_new();
	struct pprof *p;

	merge_label(m, str_of("pod"), str_of("a"));
	cr_assert(!add(m, one, NULL, NULL));
	merge_no_labels(m);
	merge_label(m, str_of("pod"), str_of("b"));
	cr_assert(!add(m, one, NULL, NULL));
	p = merge_finish(m);
	cr_assert(p->samples.count == 4);
	cr_expect(p->stacks.count == 2);
	merge_free(m);
}

Test(merge, memory_grows_with_stacks_not_with_profiles)
{
	struct merge *m = merge_new();
	size_t after_100 = 0;

	for (int i = 0; i < 10000; i++) {
		cr_assert(!add(m, i % 2 ? one : two, NULL, NULL));
		if (i == 99)
			after_100 = merge_memory(m);
	}
	cr_expect(merge_memory(m) == after_100);
	merge_free(m);
}

static void diff(bool label, bool normalize, const char *want)
{
	struct merge_diff_options o = { .label_base = label,
					.normalize = normalize };
	struct merge *a = merge_new();
	struct merge *b = merge_new();
	struct merge *m = merge_new();
	struct pprof *p;

	cr_assert(!add(a, one, NULL, NULL));
	cr_assert(!add(b, two, NULL, NULL));
	cr_assert(
		!merge_diff(m, merge_finish(b), merge_finish(a), &o, &p, NULL));
	merge_free(a);
	merge_free(b);
	expect_folded(m, "delay", want);
}

Test(diff, base_profile_is_subtracted)
{
	diff(false, false, "root;leaf 1\nroot;mid;leaf -3\nroot;other -5\n");
	/*
	 * The total of two, 8, is scaled to that of one, 15. So 7 becomes 13,
	 * and 1 becomes 2.
	 */
	diff(false, true, "root;leaf 2\nroot;mid;leaf 3\nroot;other -5\n");
	diff(true, false, "root;leaf 1\nroot;mid;leaf -3\nroot;other -5\n");
}

/* Aggregates. */

Test(aggregate, sample_types_are_classified_as_flow_counter_or_state)
{
	static const struct {
		const char *type;
		bool per_interval;
		enum value_kind kind;
	} table[] = {
		{ "cpu", true, KIND_FLOW },
		{ "samples", true, KIND_FLOW },
		{ "alloc_space", false, KIND_COUNTER },
		{ "alloc_objects", true, KIND_FLOW },
		{ "inuse_space", false, KIND_STATE },
		{ "inuse_space", true, KIND_STATE },
		{ "goroutine", false, KIND_STATE },
		{ "threadcreate", false, KIND_STATE },
		{ "contentions", false, KIND_COUNTER },
		{ "delay", false, KIND_COUNTER },
		{ "delay", true, KIND_FLOW },
		{ "wall", false, KIND_FLOW },
		{ "live", true, KIND_STATE },
		{ "heap-live-objects", true, KIND_STATE },
		{ "goroutineleak", false, KIND_STATE },
		{ "", false, KIND_FLOW },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		cr_expect(value_kind(str_of(table[i].type),
				     table[i].per_interval) == table[i].kind,
			  "%s", table[i].type);
}

Test(aggregate, default_aggregation_depends_on_the_kind)
{
	cr_expect(aggregate_of(AGGREGATE_AUTO, KIND_COUNTER) ==
		  AGGREGATE_DELTA);
	cr_expect(aggregate_of(AGGREGATE_AUTO, KIND_STATE) == AGGREGATE_MEAN);
	cr_expect(aggregate_of(AGGREGATE_AUTO, KIND_FLOW) == AGGREGATE_SUM);
	cr_expect(aggregate_of(AGGREGATE_LAST, KIND_FLOW) == AGGREGATE_LAST);
	cr_expect(aggregate_of(AGGREGATE_SUM, KIND_COUNTER) == AGGREGATE_SUM);
}

Test(aggregate, decreasing_counter_means_restart)
{
	static const enum value_kind kinds[] = { KIND_COUNTER, KIND_STATE };

	cr_expect(!aggregate_restarted(kinds, (int64_t[]){ 5, 9 },
				       (int64_t[]){ 5, 1 }, 2));
	cr_expect(aggregate_restarted(kinds, (int64_t[]){ 5, 1 },
				      (int64_t[]){ 4, 9 }, 2));
}

/* Numbers as text. */

static void expect_label(int64_t v, const char *from, const char *to,
			 const char *want)
{
	struct buf b = { 0 };

	measure_label(&b, v, str_of(from), str_of(to));
	cr_expect(!strcmp(buf_cstr(&b), want), "%s, not %s", buf_cstr(&b),
		  want);
	buf_fini(&b);
}

Test(measure, values_are_formatted_with_units)
{
	expect_label(0, "bytes", "auto", "0");
	expect_label(1536, "bytes", "auto", "1.50kB");
	expect_label(-1536, "bytes", "MB", "0");
	expect_label(1 << 20, "byte", "auto", "1MB");
	expect_label(90000000000, "nanoseconds", "auto", "90s");
	expect_label(1, "count", "auto", "1");
	expect_label(5, "widgets", "auto", "5");
	expect_label(5, "widgets", "widgets", "5widgets");
	expect_label(3600, "seconds", "hours", "1hrs");
	expect_label(INT64_MIN, "bytes", "auto", "-9223372036854775808B");
}

/* Hostile bytes. */

static int decode(struct bytes b, size_t max, struct err *err)
{
	struct decoder *d = decoder_new(max);
	struct pprof *p;
	int rc = decoder_run(d, b, &p, err);

	decoder_free(d);
	return rc;
}

Test(decode, memory_is_limited)
{
	/*
	 * The profile has a type, a string table, and a million samples of 4
	 * bytes.
	 */
	static const uint8_t head[] = { 0x0a, 0x00, 0x32, 0x00 };
	static const uint8_t sample[] = { 0x12, 0x02, 0x10, 0x01 };
	struct buf b = { 0 };
	struct err err;

	buf_add(&b, head, sizeof(head));
	for (int i = 0; i < 1000000; i++)
		buf_add(&b, sample, sizeof(sample));
	cr_expect(decode(buf_bytes(&b), (size_t)16 * MIB, &err) == ERR_LIMIT);
	cr_expect(!decode(buf_bytes(&b), (size_t)256 * MIB, &err), "%s",
		  err.msg);
	buf_fini(&b);
}

Test(decode, errors_name_the_cause)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *why;
	} table[] = {
		{ "\x12\x02\x10\x01", 4, "samples but no sample types" },
		{ "\x0a\x00\x12\x00\x32\x00", 6,
		  "one value for each sample type" },
		{ "\x22\x02\x08\x00", 4, "reserved id 0" },
		{ "\x22\x02\x08\x01\x22\x02\x08\x01", 8, "the same id" },
		{ "\x0a\x00\x12\x04\x08\x07\x10\x01\x32\x00", 10,
		  "missing location" },
		{ "\x22\x06\x08\x01\x22\x02\x08\x05", 8, "missing function" },
		{ "\x32\x01x", 3, "string_table[0]" },
		{ "\x32\x00\x60\x01\x70\x05", 6, "out of range" },
		{ "\x48\x01\x48\x01\x32\x00", 6, "concatenated profiles" },
		{ "\x0a\x7f", 2, "truncated" },
		{ "\x0b", 1, "truncated" },
		{ "heap profile: 1: 2 [1: 2] @ heap/2\nrubbish\n", 43,
		  "not a sample" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct bytes b = { (const uint8_t *)table[i].bytes,
				   table[i].len };
		struct err err = { 0 };

		cr_assert(decode(b, ROOM, &err) == ERR_INVALID, "%zu: %s", i,
			  err.msg);
		cr_expect(strstr(err.msg, table[i].why), "%zu: %s", i, err.msg);
	}
}

Test(decode, accepts_ids_of_any_size)
{
	/*
	 * Location 2^63 names mapping 2^40, which is not there. A sample has
	 * this location.
	 */
	static const char bytes[] =
		"\x0a\x00\x32\x00"
		"\x22\x12\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"
		"\x10\x80\x80\x80\x80\x80\x20"
		"\x12\x0d\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"
		"\x10\x01";

	cr_expect(!decode(
		(struct bytes){ (const uint8_t *)bytes, sizeof(bytes) - 1 },
		ROOM, NULL));
}

Test(encode, encoded_profile_decodes_to_the_same_profile)
{
	struct merge *m = merge_new();
	struct merge *again = merge_new();
	struct decoder *d = decoder_new(ROOM);
	struct buf first = { 0 };
	struct buf second = { 0 };
	struct pprof *p;
	struct err err;

	cr_assert(!add(m, one, NULL, NULL));
	cr_assert(!add(m, two, NULL, NULL));
	pprof_encode(merge_finish(m), &first);
	cr_assert(!decoder_run(d, buf_bytes(&first), &p, &err), "%s", err.msg);
	cr_assert(!merge_add(again, p, NULL, NULL));
	pprof_encode(merge_finish(again), &second);
	cr_expect(bytes_eq(buf_bytes(&first), buf_bytes(&second)));
	decoder_free(d);
	merge_free(m);
	merge_free(again);
	buf_fini(&first);
	buf_fini(&second);
}

/* Profiles of jemalloc, which Go's reader does not accept. */

Test(legacy, decodes_jemalloc_heap_profiles)
{
	static const char heap[] =
		"heap_v2/1\n"
		"  t*: 3: 300 [0: 0]\n"
		"  t0: 3: 300 [0: 0]\n"
		"@ 0x401001 0x401010\n"
		"  t*: 2: 200 [0: 0]\n"
		"  t0: 2: 200 [0: 0]\n"
		"@ 0x402001\n"
		"  t*: 1: 100 [0: 0]\n"
		"\nMAPPED_LIBRARIES:\n"
		"00400000-00500000 r-xp 00000000 fe:01 1 /usr/bin/app\n";
	struct decoder *d = decoder_new(ROOM);
	struct pprof *p;
	struct err err;

	cr_assert(!decoder_run(d, text(heap), &p, &err), "%s", err.msg);
	cr_assert(p->samples.count == 2);
	cr_expect(p->types.count == 2);
	cr_assert(p->values.v[0] == 2);
	cr_assert(p->values.v[1] == 200);
	cr_expect(p->values.v[3] == 100);
	cr_expect(p->locations.v[0].address == 0x401000);
	cr_expect(str_is(pprof_str(p, p->mappings.v[0].file), "/usr/bin/app"));
	decoder_free(d);
}

/* Reports. */

Test(report, invalid_options_are_refused_with_the_valid_values)
{
	static const struct {
		const char *name;
		const char *value;
		int code;
	} table[] = {
		{ "granularity", "files", 0 },
		{ "granularity", "bytes", ERR_INVALID },
		{ "nodecount", "12", 0 },
		{ "nodecount", "-2", ERR_INVALID },
		{ "nodefraction", "0.5x", ERR_INVALID },
		{ "nodefraction", "nan", ERR_INVALID },
		{ "noinlines", "maybe", ERR_INVALID },
		{ "sort", "cum", 0 },
		{ "sort", "", ERR_INVALID },
		{ "colour", "red", ERR_NOTFOUND },
	};
	struct report_options o;

	report_options_init(&o);
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		cr_expect(report_option(&o, str_of(table[i].name),
					str_of(table[i].value),
					NULL) == table[i].code,
			  "%s=%s", table[i].name, table[i].value);
}

Test(report, invalid_regexes_are_refused_with_the_option_name)
{
	struct merge *m = merge_new();
	struct report_options o;
	struct report r;
	struct err err;

	cr_assert(!add(m, one, NULL, NULL));
	report_options_init(&o);
	o.names.hide[0] = str_of("(");
	cr_expect(report_init(&r, REPORT_TOP, merge_finish(m), &o, &err) ==
		  ERR_INVALID);
	cr_expect(strstr(err.msg, "hide"), "%s", err.msg);
	merge_free(m);
}

static void count_nodes(int64_t max, size_t want)
{
	struct merge *m = merge_new();
	struct report_options o;
	struct report r;
	struct flame f;
	int64_t self = 0;

	cr_assert(!add(m, one, NULL, NULL));
	cr_assert(!add(m, two, NULL, NULL));
	report_options_init(&o);
	cr_assert(
		!report_init(&r, REPORT_FLAMEGRAPH, merge_finish(m), &o, NULL));
	cr_assert(!flame_init(&f, &r, FLAME_INWARDS, max, NULL));
	cr_expect(f.v.count == want, "%zu nodes", f.v.count);
	for (size_t i = 0; i < f.v.count; i++)
		self += f.v.v[i].self;
	cr_assert(self == 23);
	cr_expect(f.v.v[0].total == 23); /* nothing is lost */
	flame_fini(&f);
	report_fini(&r);
	merge_free(m);
}

Test(report, pruned_flame_graph_keeps_its_total)
{
	count_nodes(0, 6); /* total root mid leaf leaf other */
	count_nodes(4, 5); /* total root mid leaf (other) */
	count_nodes(1, 2); /* total (other) */
}

Test(report, deep_stacks_do_not_overflow_the_c_stack)
{
	struct merge *m = merge_new();
	struct decoder *d = decoder_new(ROOM);
	struct report_options o;
	struct buf b = { 0 };
	struct pprof *p;
	struct report r;
	struct flame f;

	buf_str(&b,
		"--- threadz 1 ---\n\n--- Thread 1 (name: x/1) stack: ---\n");
	for (int i = 1; i <= 100000; i++)
		buf_printf(&b, " 0x%x%s", i * 16, i % 1000 ? "" : "\n");
	buf_str(&b, "--- Memory map: ---\n");
	cr_assert(!decoder_run(d, buf_bytes(&b), &p, NULL));
	cr_assert(!merge_add(m, p, NULL, NULL));
	report_options_init(&o);
	o.granularity = GRANULARITY_ADDRESSES;
	cr_assert(
		!report_init(&r, REPORT_FLAMEGRAPH, merge_finish(m), &o, NULL));
	cr_assert(!flame_init(&f, &r, FLAME_INWARDS, 0, NULL));
	cr_expect(f.max_depth == 100000, "%u", f.max_depth);
	flame_fini(&f);
	report_fini(&r);
	merge_free(m);
	decoder_free(d);
	buf_fini(&b);
}
