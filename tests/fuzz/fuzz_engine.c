/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the profile engine. The decoder must accept the same inputs as the
 * scanner, except for its limits. A decoded profile is merged with itself,
 * encoded and read back. Every report of the profile is written, with options
 * that the input chooses.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "pprof/merge/merge.h"
#include "pprof/proto/decode.h"
#include "pprof/proto/encode.h"
#include "pprof/proto/scan.h"
#include "pprof/report/flame.h"
#include "pprof/report/report.h"

#define ROOM     ((size_t)64 * MIB)
#define TEXT_MAX ((size_t)16 * MIB)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Expressions and values that the first bytes of an input choose from. */
static const char *const values[] = {
	"",          "a",
	"main",      "runtime|go",
	"^.*$",      "x+",
	"bytes",     "b=1:9",
	"1kb:",      ":9",
	"b=a,c",     "5",
	"0",         "0.5",
	"true",      "false",
	"cum",       "flat",
	"lines",     "files",
	"addresses", "filefunctions",
	"-1",        "kb",
	"ms",        "auto",
	"2",         "b,c",
	"[",         "(",
};

static void ignore(int rc)
{
	(void)rc;
}

static void choose(struct report_options *o, const uint8_t *data, size_t size)
{
	const struct report_option_help *help = report_option_list();
	size_t count = 0;

	report_options_init(o);
	while (help[count].name)
		count++;
	for (size_t i = 0; i + 1 < size && i < 6; i += 2) {
		const char *name = help[data[i] % count].name;
		const char *value = values[data[i + 1] % ARRAY_SIZE(values)];

		ignore(report_option(o, str_of(name), str_of(value), NULL));
	}
}

static void write_report(const struct report_type *type, struct pprof *p,
			 const struct report_options *o)
{
	struct buf out = buf_init(TEXT_MAX);
	struct json j = json_init(&out);
	struct report r;

	if (report_init(&r, type->kind, p, o, NULL))
		return;
	if (type->json)
		ignore(type->json(&r, &j, NULL));
	else /* this may fail: too large, or nothing matches */
		ignore(type->write(&r, &out, NULL));
	report_fini(&r);
	buf_fini(&out);
}

static void write_reports(const struct pprof *p, const uint8_t *data,
			  size_t size)
{
	static const char *const names[] = {
		"top",    "tree",       "peek",       "traces", "folded",
		"source", "flamegraph", "speedscope", "dot",
	};
	struct report_options o;

	choose(&o, data, size);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct merge *m = merge_new();

		/* A report changes its profile, so each report gets a copy. */
		if (merge_add(m, p, NULL, NULL))
			abort();
		write_report(report_find(str_of(names[i])), merge_finish(m),
			     &o);
		merge_free(m);
	}
}

static void read_back(const struct pprof *p)
{
	struct decoder *d = decoder_new(ROOM);
	struct buf out = { 0 };
	struct pprof *again;

	pprof_encode(p, &out);
	if (out.len < ROOM / 64 &&
	    decoder_run(d, buf_bytes(&out), &again, NULL))
		abort();
	buf_fini(&out);
	decoder_free(d);
}

/* Checks that a profile minus itself has no samples. */
static void cancel(const struct pprof *p)
{
	const struct merge_diff_options o = { 0 };
	struct merge *a = merge_new();
	struct merge *b = merge_new();
	struct merge *both = merge_new();
	struct pprof *out;
	bool exact = true;

	if (merge_add(a, p, NULL, NULL) || merge_add(b, p, NULL, NULL) ||
	    merge_diff(both, merge_finish(a), merge_finish(b), &o, &out, NULL))
		abort();
	/*
	 * As in Go, values are scaled as doubles, which are exact up to 2^53
	 * only. So profiles with large values are not checked.
	 */
	for (size_t i = 0; i < p->values.count; i++)
		exact = exact && llabs(p->values.v[i]) < (1LL << 40);
	if (exact && p->samples.count < 1000 && out->samples.count)
		abort();
	merge_free(a);
	merge_free(b);
	merge_free(both);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes raw = { data, size };
	struct scanner *s = scanner_new();
	struct scan *scan = mem_new(struct scan);
	struct decoder *d = decoder_new(ROOM);
	struct pprof *p;
	bool valid = !scanner_run(s, raw, scan, NULL);
	int rc = decoder_run(d, raw, &p, NULL);

	if (valid != !rc && rc != ERR_LIMIT)
		abort();
	if (!rc) {
		struct merge *m = merge_new();

		if (p->samples.count != scan->sample_count)
			abort();
		if (merge_add(m, p, NULL, NULL) || merge_add(m, p, NULL, NULL))
			abort();
		read_back(merge_finish(m));
		cancel(p);
		write_reports(p, data + size / 2, size / 2);
		merge_free(m);
	}
	decoder_free(d);
	scanner_free(s);
	mem_free(scan);
	return 0;
}
