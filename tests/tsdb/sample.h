/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples for storage tests: profile k of series s. Its bytes follow from the
 * two numbers, so tests can check what comes back without keeping a copy.
 */
#ifndef TESTS_TSDB_SAMPLE_H
#define TESTS_TSDB_SAMPLE_H

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/hash.h"
#include "model/appender.h"
#include "model/types.h"

#define SAMPLE_START 1700000000000LL
#define SAMPLE_STEP  15000

static inline struct labels *sample_labels(int series)
{
	struct labels_builder b = { 0 };
	struct labels *ls = NULL;
	char pod[32];

	snprintf(pod, sizeof(pod), "pod-%d", series);
	labels_set(&b, str_of("__name__"), str_of(series % 2 ? "heap" : "cpu"));
	labels_set(&b, str_of("job"), str_of("test"));
	labels_set(&b, str_of("pod"), str_of(pod));
	if (labels_build(&b, &ls, NULL))
		abort();
	labels_builder_fini(&b);
	return ls;
}

static inline int64_t sample_ms(int k)
{
	return SAMPLE_START + (int64_t)k * SAMPLE_STEP;
}

/*
 * Makes the bytes of profile k of a series: at least 100 and less than 2 100.
 * Half of them are alike in all profiles.
 */
static inline void sample_bytes(int series, int k, struct buf *out)
{
	unsigned seed = (unsigned)(series * 7919 + k);
	size_t len = 100 + (seed * 2654435761u >> 16) % 2000;

	buf_reset(out);
	buf_printf(out, "series %d profile %d ", series, k);
	for (size_t i = 0; out->len < len; i++) {
		seed = seed * 1103515245 + 12345;
		buf_byte(out, (uint8_t)(i % 2 ? seed >> 16 : (unsigned)i));
	}
}

static struct buf sample_typesets[2];

/* Runs before main(), because several threads may append samples at once. */
__attribute__((constructor)) static inline void sample_types_init(void)
{
	for (size_t n = 0; n < 2; n++) {
		struct typeset t = { .count = 1 + n };

		for (size_t i = 0; i < t.count; i++)
			t.types[i] = (struct value_type){ str_of(i ? "b" : "a"),
							  str_of("count") };
		typeset_encode(&t, &sample_typesets[n]);
	}
}

static inline struct bytes sample_types(int series)
{
	return buf_bytes(&sample_typesets[series % 2]);
}

/* Append profile k of a series. Returns the appender's code. */
static inline int sample_append(struct appender *a, int series, int k,
				uint64_t *lsn, struct err *err)
{
	struct labels *ls = sample_labels(series);
	int64_t totals[2] = { k, series };
	struct buf body = { 0 };
	struct sample s = { .labels = ls,
			    .ms = sample_ms(k),
			    .encoding = BODY_PLAIN,
			    .typeset = sample_types(series),
			    .totals = totals,
			    .sample_count = 3,
			    .duration_ns = 1000,
			    .period = k };
	int rc;

	sample_bytes(series, k, &body);
	s.body = buf_bytes(&body);
	s.raw_len = (uint32_t)body.len;
	s.hash = hash_bytes(s.body);
	rc = a->append(a, &s, lsn, err);
	buf_fini(&body);
	labels_unref(ls);
	return rc;
}

#endif
