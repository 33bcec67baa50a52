/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles of everprof itself, under the paths of Go programs, so that everprof
 * can scrape itself like any other target.
 */
#include "web/api/api.h"

#include "base/clock.h"
#include "web/api/context.h"
#include "web/api/envelope.h"

/* Seconds of a profile if the request does not say; as in Go. */
#define SECONDS_DEFAULT 30

/* Time before the deadline that is reserved for names and the answer. */
#define ANSWER_NS 5000000000LL

void api_self_list(void *ctx UNUSED, struct request *r UNUSED, struct answer *a)
{
	answer_text(a, 200, "text/html; charset=utf-8",
		    str_of("<!doctype html><title>everprof</title>"
			   "<p>Profiles of everprof: "
			   "<a href='heap?debug=1'>heap</a> "
			   "<a href='profile?debug=1'>profile</a>\n"));
}

/*
 * Read how long to profile. Without the parameter, no longer than the deadline
 * of the request permits.
 */
static int api_self_seconds(const struct request *r, int64_t deadline_ns,
			    int64_t *out, struct err *err)
{
	int64_t most = (deadline_ns - clock_mono_ns() - ANSWER_NS) / 1000000000;
	int rc;

	most = most < 1 ? 1 : most;
	rc = params_count(&r->params, "seconds",
			  most < SECONDS_DEFAULT ? most : SECONDS_DEFAULT, out,
			  err);
	if (!rc && (*out < 1 || *out > most))
		rc = err_set(
			err, ERR_INVALID,
			"parameter \"seconds\" must be between 1 and %lld, because of --query.timeout",
			(long long)most);
	return rc;
}

/* Answer with a profile, or with the error. */
static void api_self_answer(struct answer *a, int rc, const char *disposition,
			    const struct err *err)
{
	if (rc) {
		buf_reset(&a->body);
		answer_error(a, err);
		return;
	}
	a->status = 200;
	a->content_type = "application/octet-stream";
	answer_header(a, "Content-Disposition", disposition);
}

void api_self_heap(void *ctx, struct request *r UNUSED, struct answer *a)
{
	const struct web_profiler *p = &((struct web *)ctx)->o.profiler;
	struct err err;
	int rc = p->heap ? p->heap(p->ctx, a->work.deadline_ns - ANSWER_NS,
				   &a->body, &err) :
			   err_set(&err, ERR_UNSUPPORTED,
				   "this everprof cannot profile itself");

	api_self_answer(a, rc, "attachment; filename=\"heap\"", &err);
}

void api_self_profile(void *ctx, struct request *r, struct answer *a)
{
	const struct web_profiler *p = &((struct web *)ctx)->o.profiler;
	int64_t seconds = 0;
	struct err err;
	int rc = api_self_seconds(r, a->work.deadline_ns, &seconds, &err);

	if (!rc)
		rc = p->profile ?
			     p->profile(p->ctx, seconds, &a->body, &err) :
			     err_set(&err, ERR_UNSUPPORTED,
				     "this everprof cannot profile itself");
	a->waited_ns = rc ? 0 : seconds * 1000000000;
	api_self_answer(a, rc, "attachment; filename=\"profile\"", &err);
}
