/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /api/v1/targets/profile: scrape one target now, outside its schedule,
 * and answer with the profile.
 */
#include "web/api/api.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "model/selector.h"
#include "web/api/context.h"
#include "web/api/envelope.h"

/* largest duration of a profile that a request may ask for, in seconds */
#define SECONDS_MAX 3600
#define SECOND_NS   1000000000LL
/* time before the deadline that is reserved for writing the answer, in ns */
#define ANSWER_NS SECOND_NS

/*
 * Parse the request into the options of a scrape. A duration that does not fit
 * before the deadline is refused at once rather than after waiting.
 */
static int wish_of(const struct request *r, int64_t deadline_ns,
		   struct selector *sel, struct scrape_now_options *w,
		   struct err *err)
{
	struct str query;
	int rc = params_require(&r->params, "query", &query, err);

	if (!rc)
		rc = params_selector("query", query, sel, err);
	if (!rc)
		rc = params_count(&r->params, "seconds", -1, &w->seconds, err);
	if (!rc && w->seconds > SECONDS_MAX)
		rc = err_set(err, ERR_INVALID,
			     "parameter \"seconds\" must be between 0 and %d",
			     SECONDS_MAX);
	w->deadline_ns = deadline_ns - ANSWER_NS;
	if (!rc && w->seconds * SECOND_NS > w->deadline_ns - clock_mono_ns())
		rc = err_set(
			err, ERR_INVALID,
			"a profile of %lld s would take longer than --query.timeout allows",
			(long long)w->seconds);
	w->matchers = sel->matchers;
	w->count = sel->count;
	return rc;
}

/*
 * Answer with the profile that was just stored, by calling the handler of
 * /api/v1/query, so that every report is available. Parameters that select this
 * profile are put before the parameters of the request: if several parameters
 * have the same name, the first one is used.
 */
static void api_profile_answer_stored(void *ctx, struct request *r,
				      struct answer *a, struct labels *labels,
				      int64_t ms)
{
	struct query_param *v =
		arena_array(&r->arena, struct query_param, r->params.count + 3);
	char *time = arena_printf(&r->arena, "%lld", (long long)ms);
	struct buf query = { 0 };

	labels_text(labels, &query);
	v[0] = (struct query_param){ str_of("query"),
				     arena_str(&r->arena,
					       str_from(buf_bytes(&query))) };
	v[1] = (struct query_param){ str_of("time"), str_of(time) };
	v[2] = (struct query_param){ str_of("match"), str_of("exact") };
	memcpy(v + 3, r->params.v, r->params.count * sizeof(*v));
	r->params.v = v;
	r->params.count += 3;
	buf_fini(&query);
	api_query(ctx, r, a);
}

void api_targets_profile(void *ctx, struct request *r, struct answer *a)
{
	struct web *w = ctx;
	struct selector sel = { 0 };
	struct scrape_now_options wish = { 0 };
	struct labels *labels = NULL;
	int64_t ms = 0;
	struct err err;
	int rc = wish_of(r, a->work.deadline_ns, &sel, &wish, &err);

	wish.limits = query_limits(&a->work);
	if (!rc)
		rc = scrape_now(w->o.scraper, &wish, &labels, &ms, &err);
	selector_fini(&sel);
	if (rc)
		answer_error(a, &err);
	else
		api_profile_answer_stored(ctx, r, a, labels, ms);
	labels_unref(labels);
}
