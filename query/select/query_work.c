/* SPDX-License-Identifier: Apache-2.0 */
#include "query/select/query_work.h"

#include "base/clock.h"
#include "model/collected.h"
#include "tsdb/query/querier.h"

/* Publish in the progress how much memory the query holds. */
static void show_bytes(struct query_work *w)
{
	if (w->progress)
		atomic_store(&w->progress->bytes, w->taken);
}

int query_take(struct query_work *w, int64_t n, struct err *err)
{
	int rc = budget_take(w->memory, n, err);

	if (!rc)
		w->taken += n;
	show_bytes(w);
	return rc;
}

void query_give(struct query_work *w, int64_t n)
{
	budget_give(w->memory, n);
	w->taken -= n;
	show_bytes(w);
}

void query_count(struct query_work *w, size_t more, size_t done)
{
	if (!w->progress)
		return;
	atomic_fetch_add(&w->progress->profiles, (int64_t)more);
	atomic_fetch_add(&w->progress->done, (int64_t)done);
}

int query_take_output(struct query_work *w, struct err *err)
{
	/*
	 * A buffer counts with its capacity, not its length, because the
	 * capacity is the memory that it occupies.
	 */
	int64_t grown =
		w->output ? (int64_t)w->output->cap - w->taken_for_output : 0;
	int rc;

	if (grown <= 0)
		return 0;
	rc = query_take(w, grown, err);
	if (!rc)
		w->taken_for_output += grown;
	return rc;
}

void query_settle(struct query_work *w)
{
	/*
	 * The output may have grown since memory was last taken for it, and may
	 * now be larger than w->taken. Nothing is returned then.
	 */
	int64_t output = w->output ? (int64_t)w->output->cap : 0;

	if (w->taken > output)
		query_give(w, w->taken - output);
	w->taken_for_output = w->taken;
}

void query_release(struct query_work *w)
{
	budget_give(w->memory, w->taken);
	w->taken = 0;
	w->taken_for_output = 0;
}

int query_check_deadline(const struct query_work *w, struct err *err)
{
	int64_t now = clock_mono_ns();

	/*
	 * Shutdown is checked before the deadline: if shutdown ends the query,
	 * the error must not say that the query took too long.
	 */
	if (w->stop_ns && now > atomic_load(w->stop_ns))
		return err_set(err, ERR_CLOSED, "everprof is shutting down");
	if (w->progress && atomic_load(&w->progress->cancelled))
		return err_set(err, ERR_CLOSED,
			       "the client closed the connection");
	if (now < w->deadline_ns)
		return 0;
	return err_set(err, ERR_TIMEOUT, "the query exceeded %s",
		       w->timeout_name ? w->timeout_name : "--query.timeout");
}

/* Callback of query_limits(). */
static int query_spend(void *ctx, size_t bytes, struct err *err)
{
	struct query_work *w = ctx;
	int rc = query_check_deadline(w, err);

	if (!rc && bytes)
		rc = query_take(w, (int64_t)bytes, err);
	return rc ? rc : query_take_output(w, err);
}

struct limits query_limits(struct query_work *w)
{
	return (struct limits){ .spend = query_spend, .ctx = w };
}

void query_open(struct query_work *w, struct tsdb *db, struct querier **q)
{
	struct limits limits = query_limits(w);

	querier_open(db, &limits, q);
}

bool query_is_no_beat(const struct labels *ls)
{
	struct str name = labels_get(ls, str_of(LABEL_NAME));

	return !str_is(labels_get(ls, str_of("job")), COLLECTED_JOB) ||
	       (!str_is(name, COLLECTED_CPU_BEATS) &&
		!str_is(name, COLLECTED_OFF_CPU_BEATS));
}

/* For querier_keep(). */
static bool query_keep_no_beat(void *ctx UNUSED, const struct labels *ls)
{
	return query_is_no_beat(ls);
}

void query_drop_beats(struct querier *q, const struct matcher *v, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (str_is(v[i].name, LABEL_NAME))
			return;
	}
	querier_keep(q, query_keep_no_beat, NULL);
}

/* NOLINTNEXTLINE(readability-function-size): as querier_select() */
int query_select(struct query_work *w, struct querier *q,
		 const struct matcher *v, size_t count, int64_t from,
		 int64_t to, struct err *err)
{
	int rc = querier_select(q, v, count, from, to, err);

	query_drop_beats(q, v, count);
	return rc ? rc : query_take(w, (int64_t)querier_memory(q), err);
}

/* NOLINTNEXTLINE(readability-function-size): as querier_select() */
int query_select_all(struct query_work *w, struct querier *q,
		     const struct matcher *v, size_t count, int64_t from,
		     int64_t to, struct err *err)
{
	int rc = querier_select(q, v, count, from, to, err);

	return rc ? rc : query_take(w, (int64_t)querier_memory(q), err);
}
