/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The older API of Pyroscope: GET /pyroscope/render and render-diff, which
 * Profiles Drilldown uses beside the newer one.
 */
#include "pyroscope/answer/answer_render.h"

#include "base/units.h"
#include "web/api/api.h"
#include "web/api/context.h"
#include "web/api/envelope.h"

/* Return a parameter, by one of two names; empty when it is missing. */
static struct str api_render_param(const struct request *r, const char *name,
				   const char *other)
{
	struct str value = str_of("");

	if (!params_find(&r->params, name, &value) && other)
		(void)params_find(&r->params, other, &value);
	return value;
}

/* Parse a time: a Unix time in ms, or one such as now-1h. */
static int api_render_time(const struct request *r, const char *name,
			   const char *fallback, int64_t *ms, struct err *err)
{
	struct str text = api_render_param(r, name, NULL);

	if (!text.len)
		text = str_of(fallback);
	/* Of Pyroscope's times, seconds are a whole number, too. */
	if (str_to_i64(text, ms)) {
		if (*ms > 0 && *ms < 10000000000)
			*ms *= 1000;
		return 0;
	}
	if (!time_parse(text, r->params.now_ms, ms, NULL))
		return 0;
	return err_set(
		err, ERR_INVALID,
		"parameter \"%s\": expected a Unix time in ms or a time such as now-1h, not \"%.*s\"",
		name, STR_ARG(str_clip(text, 60)));
}

/* Names of the parameters of one side. */
struct render_names {
	const char *query;
	const char *from;
	const char *until;
};

/* Parse the parameters of one side. */
static int api_render_side(const struct request *r,
			   const struct render_names *names,
			   struct render_side *out, struct err *err)
{
	int rc;

	out->query = api_render_param(r, names->query, NULL);
	if (!out->query.len)
		return err_set(err, ERR_INVALID, "parameter \"%s\" is missing",
			       names->query);
	rc = api_render_time(r, names->from, "now-1h", &out->from, err);
	return rc ? rc :
		    api_render_time(r, names->until, "now", &out->until, err);
}

/* Parse the number of nodes. */
static int api_render_nodes(const struct request *r, int64_t *out,
			    struct err *err)
{
	struct str text = api_render_param(r, "max-nodes", "maxNodes");

	*out = 0;
	if (!text.len || str_to_i64(text, out))
		return 0;
	return err_set(err, ERR_INVALID,
		       "parameter \"max-nodes\" must be a whole number");
}

/* Make a call that writes to the body of the answer. */
static struct pyroscope_call
api_render_call(const struct web *w, struct request *r, struct answer *a)
{
	return (struct pyroscope_call){ .db = w->o.db,
					.symbolizer = w->o.symbolizer,
					.work = &a->work,
					.arena = &r->arena,
					.all_names = true,
					.out = &a->body };
}

/* Answer with what a call has written, or with an error. */
static void api_render_end(struct answer *a, struct request *r,
			   const struct pyroscope_call *c,
			   const char *content_type, int rc, struct err *err)
{
	if (rc == ERR_CORRUPT)
		err->code = ERR_IO;
	if (rc) {
		answer_connect_error(a, err);
		return;
	}
	a->status = 200;
	a->content_type = content_type;
	if (c->warning)
		answer_header(a, "X-Everprof-Warning",
			      answer_header_text(&r->arena, str_of(c->warning),
						 HEADER_TEXT_MAX));
}

void api_render(void *ctx, struct request *r, struct answer *a)
{
	static const struct render_names names = { "query", "from", "until" };
	struct pyroscope_call c = api_render_call(ctx, r, a);
	bool is_dot = str_is(api_render_param(r, "format", NULL), "dot");
	struct render_request q = { .is_diff = false };
	struct err err;
	int rc = api_render_side(r, &names, &q.side, &err);

	if (!rc)
		rc = api_render_nodes(r, &q.max_nodes, &err);
	q.group_by = api_render_param(r, "groupBy", NULL);
	if (!rc)
		rc = is_dot ? answer_render_dot(&c, &q, &err) :
			      answer_render(&c, &q, &err);
	api_render_end(a, r, &c,
		       is_dot ? "text/plain; charset=utf-8" :
				"application/json",
		       rc, &err);
}

void api_render_diff(void *ctx, struct request *r, struct answer *a)
{
	static const struct render_names left = { "leftQuery", "leftFrom",
						  "leftUntil" };
	static const struct render_names right = { "rightQuery", "rightFrom",
						   "rightUntil" };
	struct pyroscope_call c = api_render_call(ctx, r, a);
	struct render_request q = { .is_diff = true };
	struct err err;
	int rc = api_render_side(r, &left, &q.side, &err);

	if (!rc)
		rc = api_render_side(r, &right, &q.right, &err);
	if (!rc)
		rc = api_render_nodes(r, &q.max_nodes, &err);
	if (!rc)
		rc = answer_render(&c, &q, &err);
	api_render_end(a, r, &c, "application/json", rc, &err);
}
