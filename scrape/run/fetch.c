/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One scrape: the request, the check of the answer, storing the profile, and
 * the new health of the target.
 */

#include <stdio.h>

#include "base/mem.h"
#include "base/mutex.h"
#include "client/transfer/http_status.h"
#include "scrape/run/on_demand.h"
#include "scrape/run/scraper.h"
#include "scrape/run/type_cost.h"
#include "scrape/run/type_update.h"

/*
 * One scrape, from the start of its HTTP request until its outcome is recorded.
 */
struct fetch {
	struct scraper *scraper;
	struct target *target;
	/* request of scrape_now(); NULL: scheduled */
	struct scrape_request *ask;
	int64_t sample_ms;
	int64_t started_ms;
	int64_t started_ns;
	struct buf body;
	struct ingest_share share;
	struct err err; /* outcome of the HTTP request; code 0: `body` is set */
};

/* Log a change of the target's health; further failures are not logged. */
static void fetch_log(const struct fetch *j, bool was_down,
		      const struct err *why)
{
	struct scraper *s = j->scraper;
	CLEANUP(mem_freep) char *url = NULL;
	struct buf labels = { 0 };

	if (!why == !was_down)
		return;
	url = target_url_shown(&j->target->spec);
	labels_text(j->target->spec.labels, &labels);
	if (why)
		log_event(s->o.log, LOG_WARN, "target is down",
			  LOG_FIELDS(log_text("target", buf_cstr(&labels)),
				     log_text("url", url), log_err(why)));
	else
		log_event(s->o.log, LOG_INFO, "target is up again",
			  LOG_FIELDS(log_text("target", buf_cstr(&labels)),
				     log_text("url", url)));
	buf_fini(&labels);
}

/* Record the outcome of the scrape. rc is 0 or the code of *err. */
static void set_health(struct fetch *j, int rc, int64_t took,
		       const struct err *err)
{
	struct scraper *s = j->scraper;
	struct target *t = j->target;
	char *error = rc ? mem_strdup(err->msg) : NULL;
	enum target_health was;

	mutex_lock(&s->mu);
	was = t->health;
	t->health = rc ? TARGET_DOWN : TARGET_UP;
	mem_free(t->last_error);
	t->last_error = error;
	t->last_ms = j->started_ms;
	t->last_duration_ns = took;
	t->last_bytes = j->body.len;
	mutex_unlock(&s->mu);
	histogram_observe(s->metrics.duration, took);
	fetch_log(j, was == TARGET_DOWN, rc ? err : NULL);
}

/* Store the profile of the body. */
static int fetch_store(struct fetch *j, struct err *err)
{
	struct scraper *s = j->scraper;
	struct store_tools *t = profile_store_take(s->store);
	const struct store_order order = { .labels = j->target->spec.labels,
					   .ms = j->sample_ms };
	struct store_receipt receipt = { 0 };
	const struct unpacked *u;
	int rc = profile_store_unpack(t, buf_bytes(&j->body), &u, err);

	if (!rc) {
		rc = profile_store_append(t, &order, &receipt, err);
		if (rc)
			err_wrap(err, rc, "cannot store the profile");
		else if (!receipt.samples)
			metric_add(s->metrics.empty, 1);
	}
	profile_store_give(s->store, t);
	return rc;
}

/* Parse an index page (/debug/pprof/) and queue the types that it names. */
static int read_index(struct fetch *j, struct err *err)
{
	struct profile_list *types;
	int rc = profile_list_parse(buf_bytes(&j->body), &types, err);

	if (!rc)
		type_update_add(j->scraper, j->target, types);
	return rc;
}

/*
 * The part of a scrape that runs in a worker: store the profile, record the
 * outcome, release everything.
 */
static void fetch_finish(void *arg, unsigned worker UNUSED)
{
	struct fetch *j = arg;
	struct scraper *s = j->scraper;
	struct target *t = j->target;
	struct err err = j->err;
	int rc = err.code;
	int64_t took;

	if (!rc)
		rc = t->spec.is_index ? read_index(j, &err) :
					fetch_store(j, &err);

	took = clock_mono_ns() - j->started_ns;
	metric_add(rc ? s->metrics.failed : s->metrics.ok, 1);
	type_cost_add(s, t, j->body.len, took);
	/*
	 * Two kinds of failures do not say that the target is down: a scrape
	 * for scrape_now() may use parameters that the target does not support,
	 * and ERR_CLOSED means that the scraper has cancelled the request.
	 */
	if (!rc || (!j->ask && rc != ERR_CLOSED))
		set_health(j, rc, took, &err);
	if (j->ask)
		on_demand_end(s, j->ask, rc, &err, j->sample_ms);
	buf_fini(&j->body);
	ingest_limiter_release(&j->share);
	mem_free(j);
	/*
	 * Clear `running` last, because from then on the loop may start the
	 * next scrape of the target.
	 */
	mutex_lock(&s->mu);
	t->running = false;
	mutex_unlock(&s->mu);
	target_unref(t);
}

/*
 * Called in the loop's thread when the request has ended. Takes over the body
 * and its share of the memory budget.
 */
static void fetch_on_answer(void *ctx, struct http_response *r)
{
	struct fetch *j = ctx;

	if (!http_status_check(r, &j->err)) {
		j->body = r->body;
		j->share = r->share;
		r->body = (struct buf){ 0 };
		r->share = (struct ingest_share){ 0 };
	}
	/*
	 * When the queue is full, the loop processes the body itself rather
	 * than losing the profile.
	 */
	if (pool_submit(j->scraper->workers, NULL, fetch_finish, j, NULL))
		fetch_finish(j, 0);
}

/*
 * The body limit is the lower of the target's own limit and
 * --scrape.max-profile-size.
 */
void fetch_start(struct scraper *s, struct target *t, int64_t due_ms,
		 struct scrape_request *ask)
{
	struct fetch *j = mem_new(struct fetch);
	size_t limit = s->o.max_profile;
	size_t own = t->spec.max_body;
	char timeout[80];
	const char *const headers[] = { timeout, NULL };
	struct http_request r = {
		.url = ask ? ask->url : t->spec.url,
		.config = t->spec.client,
		.headers = headers,
		.timeout_ms = ask ? ask->timeout_ms : t->spec.timeout_ms,
		.user_agent = s->o.user_agent,
		.has_secret = target_spec_has_secret(&t->spec),
		.done = fetch_on_answer,
		.ctx = j
	};

	snprintf(timeout, sizeof(timeout),
		 "X-Prometheus-Scrape-Timeout-Seconds: %g",
		 (double)r.timeout_ms / 1000);
	r.max_body = own && own < limit ? own : limit;
	if (t->spec.is_index && r.max_body < limit)
		r.max_body_name =
			"the fixed limit of a profile list, such as /debug/pprof/";
	else
		r.max_body_name = r.max_body < limit ?
					  "body_size_limit" :
					  "--scrape.max-profile-size";
	j->scraper = s;
	j->target = target_ref(t);
	j->ask = ask;
	j->started_ms = clock_ms(s->o.clock);
	j->started_ns = clock_mono_ns();
	j->sample_ms =
		target_sample_ms(due_ms, j->started_ms, t->spec.interval_ms);
	transfer_start(s->client, &r);
}
