/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/tools/conprof_walk.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/crc32c.h"
#include "base/dec.h"
#include "base/mem.h"
#include "base/zstd.h"

void PRINTF(2, 3) conprof_report_damage(struct walk *w, const char *fmt, ...)
{
	char what[400];
	struct err err;
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	err_set(&err, ERR_CORRUPT, "%s: %s", w->path, what);
	w->v->damaged(w->v->ctx, &err);
}

void conprof_report_loss(struct walk *w, struct labels *ls, int64_t from,
			 int64_t to)
{
	struct buf text = { 0 };

	labels_text(ls, &text);
	conprof_report_damage(w,
			      "a chunk of %s from %" PRId64 " to %" PRId64
			      " ms is damaged",
			      buf_cstr(&text), from, to);
	buf_fini(&text);
}

/* Whether a tombstone hides the profile at time `ms`. */
static bool is_hidden(const struct chunks *gaps, int64_t ms)
{
	return gaps && chunks_hides(gaps, 0, ms);
}

/*
 * Decode times. The first time is stored as it is, the second as the difference
 * from the first, and each later time as the change of that difference. Returns
 * the number of times decoded.
 */
static size_t times_decode(struct bytes b, size_t count, int64_t *ms)
{
	struct dec d = dec_init(b);
	uint64_t t = 0;
	uint64_t step = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t v = dec_uvarint(&d);

		if (d.bad)
			return i;
		step = i < 2 ? v : step + v;
		t = i ? t + step : v;
		ms[i] = (int64_t)t;
	}
	return count;
}

/*
 * Whether the visitor wants any profile of the chunk. If not, the chunk's
 * values are not decompressed.
 */
static bool any_wanted(const struct walk *w, const struct conprof_chunk *c,
		       const int64_t *ms, size_t count)
{
	bool any = false;

	/*
	 * Do not stop at the first profile that is wanted: the visitor may
	 * count the calls.
	 */
	for (size_t i = 0; i < count; i++)
		any |= !is_hidden(c->gaps, ms[i]) &&
		       w->v->wants(w->v->ctx, ms[i]);
	return any;
}

/*
 * Visit the wanted values of a chunk. If the chunk is damaged, values before
 * the damage are visited, and the rest is reported as lost.
 */
static int visit_values(struct walk *w, const struct conprof_chunk *c,
			const int64_t *ms, size_t count, bool whole,
			struct err *err)
{
	struct dec d = dec_init(buf_bytes(&w->values));
	int rc = 0;
	size_t i;

	for (i = 0; i < count && !rc; i++) {
		struct bytes value = bytes_of(dec_str(&d));

		if (d.bad)
			break;
		if (!is_hidden(c->gaps, ms[i]) && w->v->wants(w->v->ctx, ms[i]))
			rc = w->v->visit(w->v->ctx, w->path, c->labels, ms[i],
					 value, err);
	}
	if (!rc && (i < count || !whole))
		conprof_report_loss(w, c->labels, i < count ? ms[i] : c->min,
				    c->max);
	return rc;
}

int visit_chunk(struct walk *w, const struct conprof_chunk *c, struct err *err)
{
	struct dec d = dec_init(c->data);
	size_t count = dec_be16(&d);
	size_t times_len = dec_be32(&d);
	size_t values_len = dec_be32(&d);
	struct bytes times = dec_bytes(&d, times_len);
	struct bytes values = dec_bytes(&d, values_len);
	CLEANUP(mem_freep) int64_t *ms = mem_alloc(count * sizeof(*ms));
	size_t known = d.bad ? 0 : times_decode(times, count, ms);
	bool whole;

	if (d.bad || known < count) {
		conprof_report_loss(w, c->labels, c->min, c->max);
		return 0;
	}
	if (!any_wanted(w, c, ms, count))
		return 0;
	buf_reset(&w->values);
	w->values.max = VALUES_MAX;
	whole = !zstd_decompress_all(w->zstd, values, &w->values, NULL);
	return visit_values(w, c, ms, count, whole, err);
}
