/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /api/v1/admin/tsdb/…: requests that change storage. They are refused
 * unless a command-line flag enables them.
 */
#include "web/api/api.h"

#include <stdio.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/vec.h"
#include "model/selector.h"
#include "tsdb/maintain/deletion.h"
#include "tsdb/maintain/snapshot.h"
#include "tsdb/tools/repair.h"
#include "web/api/context.h"
#include "web/api/envelope.h"

/* Largest value of the parameter timeout: a day. */
#define ADMIN_TIMEOUT_MAX_MS INT64_C(86400000)

/*
 * Return ERR_DENIED unless the admin API is enabled. ERR_DENIED becomes status
 * 403, which tells clients not to retry (docs/decisions.md, 31).
 */
static int check_enabled(const struct web *w, struct err *err)
{
	return w->o.admin_api ?
		       0 :
		       err_set(err, ERR_DENIED,
			       "admin APIs disabled: start everprof with --web.enable-admin-api");
}

/* Answer 204 without a body on success, or the error. */
static void api_admin_finish(struct answer *a, int rc, const struct err *err)
{
	if (rc)
		answer_error(a, err);
	else
		a->status = 204;
}

/*
 * Refuse a time bound that is given but empty. A script with an unset variable
 * sends an empty bound; if empty meant "no bound", the script would delete
 * everything.
 */
static int check_bounds(const struct request *r, struct err *err)
{
	static const char *const names[] = { "from", "to", "start", "end" };
	struct str s;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (params_find(&r->params, names[i], &s) && !s.len)
			return err_set(err, ERR_INVALID,
				       "parameter \"%s\" is empty", names[i]);
	}
	return 0;
}

/*
 * Give the request more or less time than --query.timeout, by its parameter
 * timeout (docs/decisions.md, 207).
 */
static int take_timeout(const struct request *r, struct answer *a,
			struct err *err)
{
	struct str text = { .ptr = "", .len = 0 };
	int64_t ms;
	int rc;

	if (!params_find(&r->params, "timeout", &text))
		return 0;
	rc = duration_parse(text, &ms, err);
	if (!rc && (ms <= 0 || ms > ADMIN_TIMEOUT_MAX_MS))
		rc = err_set(err, ERR_INVALID,
			     "must be more than 0, and at most 1d");
	if (rc)
		return err_wrap(err, rc, "parameter \"timeout\"");
	a->work.deadline_ns = clock_mono_ns() + ms * 1000000;
	return 0;
}

/* Say why a request has failed, and what is left of its work. */
static int admin_explain(const struct request *r, int rc, const char *left,
			 struct err *err)
{
	struct str text;

	if (rc != ERR_TIMEOUT)
		return err_wrap(err, rc, "%s", left);
	return err_set(err, rc, "the request exceeded %s: %s",
		       params_find(&r->params, "timeout", &text) ?
			       "its timeout" :
			       "--query.timeout",
		       left);
}

/* Begin a request that may take long. */
static int admin_begin(const struct web *w, const struct request *r,
		       struct answer *a, struct err *err)
{
	int rc = check_enabled(w, err);

	return rc ? rc : take_timeout(r, a, err);
}

/* The parameters of a deletion request. */
struct deletion {
	VEC(struct selector) selectors;
	int64_t from;
	int64_t to;
};

/*
 * Parse the whole request before anything is deleted, so that a mistake in the
 * last selector deletes nothing.
 */
static int parse_deletion(struct deletion *d, const struct request *r,
			  struct err *err)
{
	int rc = check_bounds(r, err);

	if (!rc)
		rc = params_range(&r->params, INT64_MIN, INT64_MAX, &d->from,
				  &d->to, err);
	for (size_t i = 0; i < r->params.count && !rc; i++) {
		struct selector s;

		if (!str_is(r->params.v[i].name, "match[]"))
			continue;
		rc = params_selector("match[]", r->params.v[i].value, &s, err);
		if (!rc)
			*vec_add(&d->selectors) = s;
	}
	if (!rc && !d->selectors.count)
		rc = err_set(err, ERR_INVALID, "no match[] parameter provided");
	return rc;
}

/* Delete the profiles that any of the selectors matches. */
static int delete_selected(struct web *w, const struct request *r,
			   struct answer *a, struct err *err)
{
	struct limits limits = query_limits(&a->work);
	struct deletion d = { 0 };
	int rc = parse_deletion(&d, r, err);

	for (size_t i = 0; i < d.selectors.count && !rc; i++) {
		const struct selector *s = &d.selectors.v[i];

		rc = tsdb_delete(w->o.db, s->matchers, s->count, d.from, d.to,
				 &limits, err);
		if (rc)
			rc = admin_explain(
				r, rc,
				"some profiles may be deleted already; the request can be repeated",
				err);
	}
	for (size_t i = 0; i < d.selectors.count; i++)
		selector_fini(&d.selectors.v[i]);
	vec_fini(&d.selectors);
	return rc;
}

void api_admin_delete(void *ctx, struct request *r, struct answer *a)
{
	struct err err;
	int rc = admin_begin(ctx, r, a, &err);

	if (!rc)
		rc = delete_selected(ctx, r, a, &err);
	api_admin_finish(a, rc, &err);
}

void api_admin_clean(void *ctx, struct request *r, struct answer *a)
{
	struct limits limits = query_limits(&a->work);
	struct web *w = ctx;
	struct err err;
	int rc = admin_begin(w, r, a, &err);

	if (!rc) {
		rc = tsdb_clean_tombstones(w->o.db, &limits, &err);
		if (rc == ERR_TIMEOUT)
			rc = admin_explain(
				r, rc,
				"blocks that are rewritten already need not be rewritten again; repeat the request, or give it more time (timeout=10m)",
				&err);
	}
	api_admin_finish(a, rc, &err);
}

void api_admin_confirm_clock(void *ctx, struct request *r, struct answer *a)
{
	struct limits limits = query_limits(&a->work);
	struct web *w = ctx;
	struct err err;
	int rc = admin_begin(w, r, a, &err);

	if (!rc) {
		rc = tsdb_confirm_clock(w->o.db, &limits, &err);
		if (rc == ERR_TIMEOUT)
			rc = admin_explain(
				r, rc,
				"other jobs of storage take long; repeat the request, or give it more time (timeout=10m)",
				&err);
	}
	api_admin_finish(a, rc, &err);
}

/*
 * Make the name of a snapshot, as Prometheus does: "20260102T030405Z-1a2b3c4d".
 * The random part distinguishes two snapshots of the same second.
 */
static void snapshot_name(int64_t now_ms, char out[40])
{
	uint32_t salt = 0;
	char text[40];
	size_t n = 0;

	if (getrandom(&salt, sizeof(salt), 0) != sizeof(salt))
		salt = (uint32_t)now_ms;
	time_format(now_ms, text);
	for (const char *p = text; *p && *p != '.'; p++) {
		if (*p != '-' && *p != ':')
			out[n++] = *p;
	}
	snprintf(out + n, 40 - n, "Z-%08x", salt);
}

void api_admin_snapshot(void *ctx, struct request *r, struct answer *a)
{
	struct web *w = ctx;
	struct str skip = { .ptr = "", .len = 0 };
	bool given = params_find(&r->params, "skip_head", &skip);
	bool ranges = !str_is(skip, "true");
	struct limits limits = query_limits(&a->work);
	char name[40];
	struct json j;
	struct err err;
	int rc = admin_begin(w, r, a, &err);

	if (!rc && given && ranges && !str_is(skip, "false"))
		rc = err_set(&err, ERR_INVALID,
			     "parameter \"skip_head\" must be true or false");

	snapshot_name(r->params.now_ms, name);
	if (!rc)
		rc = tsdb_snapshot(w->o.db, name, ranges, &limits, &err);
	if (rc == ERR_TIMEOUT)
		rc = admin_explain(
			r, rc,
			"no snapshot was made; give the request more time (timeout=10m)",
			&err);
	if (rc) {
		answer_error(a, &err);
		return;
	}
	j = envelope_begin(a);
	json_begin(&j, '{');
	json_key(&j, "name");
	json_text(&j, name);
	json_end(&j, '}');
	envelope_end(&j, a, NULL);
}
