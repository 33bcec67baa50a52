/* SPDX-License-Identifier: Apache-2.0 */
#include "query/select/coverage.h"

#include "base/mem.h"
#include "model/collected.h"
#include "query/select/time_steps.h"

enum {
	/*
	 * Intervals that are no farther apart follow each other: one begins when
	 * the one before has ended, and both times are rounded.
	 */
	COVERAGE_JOIN_MS = 50,
};

/* The names of the profiles, and of their heartbeats. */
static const struct {
	const char *profiles;
	const char *beats;
} kinds[] = {
	{ COLLECTED_CPU, COLLECTED_CPU_BEATS },
	{ COLLECTED_OFF_CPU, COLLECTED_OFF_CPU_BEATS },
};

void coverage_init(struct coverage *c, struct tsdb *db, struct query_work *work,
		   int64_t from, int64_t to)
{
	*c = (struct coverage){
		.db = db, .work = work, .from = from, .to = to
	};
	query_open(work, db, &c->q);
}

void coverage_fini(struct coverage *c)
{
	querier_close(c->q);
	for (size_t i = 0; i < c->nodes.count; i++) {
		labels_unref(c->nodes.v[i].labels);
		vec_fini(&c->nodes.v[i].spans);
	}
	for (size_t i = 0; i < c->asked.count; i++)
		labels_unref(c->asked.v[i].key);
	vec_fini(&c->nodes);
	vec_fini(&c->asked);
	table_fini(&c->by_key);
}

const struct err *coverage_lost(const struct coverage *c)
{
	if (c->lost.code)
		return &c->lost;
	return c->q ? querier_lost(c->q) : NULL;
}

/*
 * Make the labels by which the heartbeats of a series are looked for: their
 * name, their job and the machine. NULL: the series is not the collector's.
 */
static struct labels *coverage_key(const struct labels *series)
{
	struct str name = labels_get(series, str_of(LABEL_NAME));
	struct str node = labels_get(series, str_of(COLLECTED_NODE));
	struct labels_builder b = { 0 };
	struct labels *out = NULL;

	if (!node.len ||
	    !str_is(labels_get(series, str_of("job")), COLLECTED_JOB))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (str_is(name, kinds[i].profiles))
			labels_set(&b, str_of(LABEL_NAME),
				   str_of(kinds[i].beats));
	}
	if (b.count) {
		labels_set(&b, str_of("job"), str_of(COLLECTED_JOB));
		labels_set(&b, str_of(COLLECTED_NODE), node);
		if (labels_build(&b, &out, NULL))
			out = NULL;
	}
	labels_builder_fini(&b);
	return out;
}

/* Add an interval, which begins after those before. */
static void coverage_add(struct coverage_node *n, int64_t from, int64_t to)
{
	struct time_span *last =
		n->spans.count ? &n->spans.v[n->spans.count - 1] : NULL;
	int64_t before = n->last_to - n->last_from;
	int64_t reach = last && last->reach > to ? last->reach : to;

	n->interval = to - from > before ? to - from : before;
	if (!last || to > n->last_to) {
		n->last_from = from;
		n->last_to = to;
	}
	if (last && from >= time_steps_add(last->to, -COVERAGE_JOIN_MS) &&
	    from <= time_steps_add(last->to, COVERAGE_JOIN_MS) &&
	    to > last->to) {
		last->to = to;
		last->reach = reach;
	} else {
		*vec_add(&n->spans) = (struct time_span){ from, to, reach };
	}
}

/* Take the memory that the querier has needed since the last call. */
static int coverage_account(struct coverage *c, struct err *err)
{
	int64_t more = (int64_t)querier_memory(c->q) - c->taken;

	if (more <= 0)
		return 0;
	c->taken += more;
	return query_take(c->work, more, err);
}

/* Read a series of heartbeats. */
static int coverage_read(struct coverage *c, size_t i, struct err *err)
{
	struct coverage_node n = { .labels = NULL };
	struct totals_view v = { 0 };
	int rc = querier_totals(c->q, i, c->from, c->to, &v, err);

	if (!rc)
		rc = coverage_account(c, err);
	/* Without them, the machine is as one that has none. */
	if (rc == ERR_CORRUPT || rc == ERR_IO) {
		c->lost = *err;
		return 0;
	}
	for (size_t k = 0; k < v.count && !rc; k++) {
		int64_t ms = v.rows[k].duration_ns / 1000000;
		int64_t to;

		if (ms > 0 && !__builtin_add_overflow(v.rows[k].ms, ms, &to))
			coverage_add(&n, v.rows[k].ms, to);
	}
	if (!rc)
		rc = query_take(c->work,
				(int64_t)(sizeof(n) + vec_memory(&n.spans)),
				err);
	if (rc || !n.spans.count) {
		vec_fini(&n.spans);
		return rc;
	}
	n.labels = labels_ref(querier_labels(c->q, i));
	*vec_add(&c->nodes) = n;
	return 0;
}

/* Read all heartbeats that have these labels, and others. */
static int coverage_ask(struct coverage *c, struct labels *key, struct err *err)
{
	size_t first = c->nodes.count;
	static const char *const names[] = { LABEL_NAME, "job",
					     COLLECTED_NODE };
	struct matcher matchers[ARRAY_SIZE(names)];
	int rc;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		matchers[i] = (struct matcher){
			.op = MATCH_EQ,
			.name = str_of(names[i]),
			.value = labels_get(key, str_of(names[i])),
		};
	rc = querier_select(c->q, matchers, ARRAY_SIZE(matchers), c->from,
			    c->to, err);
	for (size_t i = 0; i < querier_count(c->q) && !rc; i++) {
		rc = query_check_deadline(c->work, err);
		if (!rc)
			rc = coverage_read(c, i, err);
	}
	if (!rc)
		rc = query_take(c->work,
				(int64_t)(sizeof(*c->asked.v) + key->len), err);
	if (rc)
		return rc;
	table_add(&c->by_key, key->hash, (uint32_t)c->asked.count);
	*vec_add(&c->asked) =
		(struct coverage_asked){ .key = labels_ref(key),
					 .first = first,
					 .count = c->nodes.count - first };
	return 0;
}

/* For table_find(). */
static bool coverage_same(const void *ctx, uint32_t i, const void *key)
{
	const struct coverage *c = ctx;

	return !labels_cmp(c->asked.v[i].key, key);
}

/*
 * Return the number of labels of heartbeats, if a series has all of them but for
 * their name; else 0.
 */
static size_t coverage_fits(const struct coverage_node *n,
			    const struct labels *series)
{
	struct labels_iter it = labels_iter(n->labels);
	struct label l;
	size_t count = 0;

	while (labels_next(&it, &l)) {
		count++;
		if (!str_is(l.name, LABEL_NAME) &&
		    !str_eq(labels_get(series, l.name), l.value))
			return 0;
	}
	return count;
}

/* Return the machine of a series among those that were found for its key. */
static const struct coverage_node *
coverage_choose(const struct coverage *c, const struct coverage_asked *a,
		const struct labels *series)
{
	const struct coverage_node *best = NULL;
	size_t most = 0;

	for (size_t i = a->first; i < a->first + a->count; i++) {
		size_t fits = coverage_fits(&c->nodes.v[i], series);

		if (fits > most) {
			best = &c->nodes.v[i];
			most = fits;
		}
	}
	return best;
}

int coverage_find(struct coverage *c, struct labels *series,
		  const struct coverage_node **out, struct err *err)
{
	struct labels *key = coverage_key(series);
	uint32_t i;
	int rc = 0;

	*out = NULL;
	if (!key)
		return 0;
	i = table_find(&c->by_key, key->hash, coverage_same, c, key);
	if (i == TABLE_NONE) {
		i = (uint32_t)c->asked.count;
		rc = coverage_ask(c, key, err);
	}
	if (!rc)
		*out = coverage_choose(c, &c->asked.v[i], series);
	labels_unref(key);
	return rc;
}

/*
 * Return the number of the first span that may end after a time: those before it
 * end earlier.
 */
static size_t coverage_span(const struct coverage_node *n, int64_t ms)
{
	size_t low = 0;
	size_t high = n->spans.count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (n->spans.v[mid].reach > ms)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

int64_t coverage_overlap(const struct coverage_node *n, int64_t from,
			 int64_t to)
{
	int64_t sum = 0;

	for (size_t i = coverage_span(n, from);
	     i < n->spans.count && n->spans.v[i].from < to; i++) {
		const struct time_span *s = &n->spans.v[i];
		int64_t begin = s->from > from ? s->from : from;
		int64_t end = s->to < to ? s->to : to;

		sum += end > begin ? end - begin : 0;
	}
	return sum;
}

int64_t coverage_length(const struct coverage_node *n)
{
	int64_t sum = 0;

	for (size_t i = 0; i < n->spans.count; i++)
		sum += n->spans.v[i].to - n->spans.v[i].from;
	return sum;
}

bool coverage_has(const struct coverage_node *n, int64_t ms)
{
	for (size_t i = coverage_span(n, ms);
	     i < n->spans.count && n->spans.v[i].from <= ms; i++) {
		if (n->spans.v[i].to > ms)
			return true;
	}
	return false;
}

bool coverage_is_later(const struct coverage_node *n, int64_t ms)
{
	return ms < n->spans.v[0].from;
}

int64_t coverage_held(const struct coverage_node *n, int64_t to,
		      int64_t fill_ms)
{
	int64_t most = 2 * n->interval;

	if (most > fill_ms)
		most = fill_ms;
	/* The next heartbeat comes when its interval has ended. */
	return to > n->last_to && to - n->last_to <= most ? to : n->last_to;
}
