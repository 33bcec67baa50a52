/* SPDX-License-Identifier: Apache-2.0 */
#include "query/merge/build_search.h"

#include "pprof/columns/columns_binary.h"

/* The series that is being searched, and the times of its profiles. */
struct build_series {
	struct querier *q;
	size_t series;
	const struct totals_row *rows;
};

/* Visitor: remember the build ID of a profile that is stored as columns. */
static void build_of_row(void *ctx, const struct codec_rows *rows, size_t row)
{
	struct build_search *b = ctx;

	b->build = arena_str(&b->text, columns_binary(rows, row).build_id);
}

/* Visitor: remember the build ID of a decoded profile. */
static void build_of_decoded(void *ctx, const struct pprof *p)
{
	struct build_search *b = ctx;

	b->build = arena_str(&b->text, pprof_binary(p).build_id);
}

/* Visitor: return the memory that the build IDs take. */
static size_t build_memory(const void *ctx)
{
	const struct build_search *b = ctx;

	return b->text.used;
}

void build_search_init(struct build_search *b, struct label_spans *spans,
		       size_t series, size_t memory, struct query_work *work)
{
	const struct profile_visitor visitor = {
		.row = build_of_row,
		.decoded = build_of_decoded,
		.memory = build_memory,
		.ctx = b,
	};

	/* Half of the reads are left for bisections. */
	size_t most = BUILD_READS_MAX / 2;
	size_t samples = most / (series ? series : 1);

	if (samples < BUILD_SAMPLES_MIN)
		samples = BUILD_SAMPLES_MIN;
	if (samples > BUILD_SAMPLES_MAX)
		samples = BUILD_SAMPLES_MAX;
	*b = (struct build_search){
		.spans = spans,
		.samples = samples,
		.every = (series * samples + most - 1) / most,
	};
	b->every += !b->every;
	profile_visit_init(&b->visit, &visitor, memory, work);
}

void build_search_fini(struct build_search *b)
{
	profile_visit_fini(&b->visit);
	arena_fini(&b->text);
}

/* Read the build ID of a profile; empty if it has none or cannot be read. */
static int build_read(struct build_search *b, const struct build_series *x,
		      size_t row, struct str *out, struct err *err)
{
	int rc;

	b->build = str_of("");
	b->reads++;
	rc = profile_visit_show(&b->visit, x->q, x->series, x->rows[row].ms,
				err);
	*out = b->build;
	return rc;
}

/* The number of a profile in its series, and the build ID of the profile. */
struct build_at {
	size_t row;
	struct str build;
};

/*
 * Add to the spans that the profiles from `first` to number `last` have the
 * build ID of `first`.
 */
static void build_add(struct build_search *b, const struct build_series *x,
		      const struct build_at *first, size_t last)
{
	if (first->build.len)
		label_spans_add(b->spans, querier_labels(x->q, x->series),
				str_of(""), first->build,
				x->rows[first->row].ms, x->rows[last].ms);
}

/*
 * Bisect between `low` and `high`, two profiles with different build IDs. On
 * return, `low` is the last profile of its build and `high` is the next
 * profile, unless BUILD_READS_MAX has ended the bisection early.
 */
static int build_bisect(struct build_search *b, const struct build_series *x,
			struct build_at *low, struct build_at *high,
			struct err *err)
{
	int rc = 0;

	while (!rc && high->row - low->row > 1 && b->reads < BUILD_READS_MAX) {
		struct build_at mid = { .row = low->row +
					       (high->row - low->row) / 2 };

		rc = build_read(b, x, mid.row, &mid.build, err);
		if (str_eq(mid.build, low->build))
			*low = mid;
		else
			*high = mid;
	}
	return rc;
}

/*
 * Add to the spans all builds that end before the profile `to`. `now` is the
 * first profile of the current build, and `last` the number of its last known
 * profile. On return, `now` is the first profile of the build of `to`.
 */
static int build_advance(struct build_search *b, const struct build_series *x,
			 struct build_at *now, size_t last,
			 const struct build_at *to, struct err *err)
{
	int rc = 0;

	while (!rc && !str_eq(now->build, to->build)) {
		struct build_at low = { .row = last, .build = now->build };
		struct build_at high = *to;

		rc = build_bisect(b, x, &low, &high, err);
		build_add(b, x, now, low.row);
		*now = high;
		last = high.row;
	}
	return rc;
}

/*
 * Return the number of the k-th profile that is compared before any bisection.
 * These profiles are spread evenly over the series.
 */
static size_t build_sample(const struct build_search *b, size_t count, size_t k)
{
	return (count - 1) * k / (b->samples - 1);
}

int build_search_series(struct build_search *b, struct querier *q, size_t i,
			const struct totals_row *rows, size_t count,
			struct err *err)
{
	const struct build_series x = { .q = q, .series = i, .rows = rows };
	struct build_at now = { .row = 0 };
	size_t last = 0;
	int rc;

	if (b->candidates++ % b->every ||
	    b->reads + b->samples > BUILD_READS_MAX)
		return 0;
	b->series++;
	rc = build_read(b, &x, 0, &now.build, err);
	for (size_t k = 1; k < b->samples && !rc; k++) {
		struct build_at to = { .row = build_sample(b, count, k) };

		if (to.row == last)
			continue;
		rc = build_read(b, &x, to.row, &to.build, err);
		if (!rc)
			rc = build_advance(b, &x, &now, last, &to, err);
		last = to.row;
	}
	if (!rc)
		build_add(b, &x, &now, last);
	return rc;
}
