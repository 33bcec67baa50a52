/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /api/v1/targets/profile: a profile of one target, now.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "model/selector.h"
#include "web/context.h"

#define SECONDS_MAX 3600
#define SECOND_NS   1000000000LL
#define ANSWER_NS   SECOND_NS /* kept for the answer */

static int wish_of(const struct request *r, struct selector *sel,
		   struct scrape_wish *w, struct err *err)
{
	struct str query;
	int rc = param_required(r, "query", &query, err);

	if (!rc)
		rc = selector_parse(query, sel, err);
	if (!rc)
		rc = param_count(r, "seconds", -1, &w->seconds, err);
	if (!rc && w->seconds > SECONDS_MAX)
		rc = err_set(err, ERR_INVALID, "seconds is 0 to %d",
			     SECONDS_MAX);
	if (!rc && w->seconds * SECOND_NS > r->deadline_ns - clock_mono_ns())
		rc = err_set(
			err, ERR_INVALID,
			"a profile of %lld s takes longer than --query.timeout",
			(long long)w->seconds);
	w->matchers = sel->matchers;
	w->count = sel->count;
	w->deadline_ns = r->deadline_ns - ANSWER_NS;
	return rc;
}

/* The profile is asked for as any other, so that it has every report. */
static void answer_stored(void *ctx, struct request *r, struct answer *a,
			  struct labels *labels, int64_t ms)
{
	struct param_value *v =
		arena_array(&r->arena, struct param_value, r->param_count + 3);
	char *time = arena_printf(&r->arena, "%lld", (long long)ms);
	struct buf query = { 0 };

	labels_text(labels, &query);
	v[0] = (struct param_value){ str_of("query"),
				     arena_str(&r->arena,
					       str_from(buf_bytes(&query))) };
	v[1] = (struct param_value){ str_of("time"), str_of(time) };
	v[2] = (struct param_value){ str_of("match"), str_of("exact") };
	memcpy(v + 3, r->params, r->param_count * sizeof(*v));
	r->params = v;
	r->param_count += 3;
	buf_fini(&query);
	api_query(ctx, r, a);
}

void api_targets_profile(void *ctx, struct request *r, struct answer *a)
{
	struct web *w = ctx;
	struct selector sel = { 0 };
	struct scrape_wish wish = { 0 };
	struct labels *labels = NULL;
	int64_t ms = 0;
	struct err err;
	int rc = wish_of(r, &sel, &wish, &err);

	if (!rc)
		rc = scrape_now(w->o.scraper, &wish, &labels, &ms, &err);
	selector_fini(&sel);
	if (rc)
		answer_error(a, &err);
	else
		answer_stored(ctx, r, a, labels, ms);
	labels_unref(labels);
}
