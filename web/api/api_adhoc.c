/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /api/v1/adhoc: files with profiles that somebody uploads to look at. Reports on them are
 * answered by /api/v1/query.
 */
#include "adhoc/adhoc_receive.h"
#include "base/units.h"
#include "web/api/adhoc_side.h"
#include "web/api/api.h"
#include "web/api/envelope.h"
#include "web/auth/auth.h"

/* Answer with a file. */
static void api_adhoc_answer(struct answer *a, const struct adhoc_meta *m)
{
	const char *warnings[] = { m->note.len ? m->note.ptr : NULL, NULL };
	struct json j = envelope_begin(a);

	adhoc_meta_write(m, &j);
	envelope_end(&j, a, warnings);
}

/* Answer with a file, or with an error. */
static void api_adhoc_end(struct answer *a, const struct adhoc_meta *m, int rc,
			  const struct err *err)
{
	if (rc)
		answer_error(a, err);
	else
		api_adhoc_answer(a, m);
}

/* Return who asks. */
static struct adhoc_user api_adhoc_user(const struct request *r)
{
	return (struct adhoc_user){ .name = str_of(r->who->name),
				    .may_all = r->who->scopes & SCOPE_ADMIN };
}

void api_adhoc_upload(void *ctx, struct request *r, struct answer *a)
{
	struct adhoc_order order = { .body = r->body,
				     .user = str_of(r->who->name),
				     .share = &r->share,
				     .held = (int64_t)r->body.len,
				     .deadline_ns = r->deadline_ns };
	struct adhoc_store *store;
	struct adhoc_meta m;
	struct err err;
	int rc = adhoc_side_store(ctx, &store, &err);

	(void)params_find(&r->params, "name", &order.name);
	if (!rc)
		rc = adhoc_receive(store, &order, &r->arena, &m, &err);
	api_adhoc_end(a, &m, rc, &err);
}

/* adhoc_store_each() callback: write a file of the list. */
static void api_adhoc_write(void *ctx, const struct adhoc_entry *e)
{
	struct json *j = ctx;

	json_begin(j, '{');
	json_key(j, "id");
	json_text(j, e->id);
	json_key(j, "name");
	json_text(j, e->name);
	json_key(j, "user");
	json_text(j, e->user);
	json_key(j, "uploaded");
	json_int(j, e->uploaded_ms);
	json_key(j, "expires");
	json_int(j, e->expires_ms);
	json_key(j, "kept");
	json_bool(j, e->is_kept);
	json_key(j, "bytes");
	json_int(j, (int64_t)e->bytes);
	json_end(j, '}');
}

void api_adhoc_list(void *ctx, struct request *r UNUSED, struct answer *a)
{
	struct adhoc_store *store;
	struct json j;
	struct err err;

	if (adhoc_side_store(ctx, &store, &err)) {
		answer_error(a, &err);
		return;
	}
	j = envelope_begin(a);
	json_begin(&j, '[');
	adhoc_store_each(store, api_adhoc_write, &j);
	json_end(&j, ']');
	envelope_end(&j, a, NULL);
}

void api_adhoc_show(void *ctx, struct request *r, struct answer *a)
{
	struct adhoc_store *store;
	struct adhoc_meta m;
	struct err err;
	int rc = adhoc_side_store(ctx, &store, &err);

	if (!rc)
		rc = adhoc_store_find(store, r->segment, &r->arena, &m, &err);
	api_adhoc_end(a, &m, rc, &err);
}

/* Read for how long a file is to be kept. */
static int api_adhoc_time(const struct request *r, int64_t *out,
			  struct err *err)
{
	struct str text;
	int rc = params_require(&r->params, "keep", &text, err);

	if (rc)
		return rc;
	rc = duration_parse(text, out, err);
	if (rc)
		return err_wrap(err, rc, "parameter \"keep\"");
	if (*out < 1 || *out > ADHOC_KEEP_MAX_MS)
		return err_set(
			err, ERR_INVALID,
			"parameter \"keep\" must be above 0 and at most 30d");
	return 0;
}

void api_adhoc_keep(void *ctx, struct request *r, struct answer *a)
{
	const struct adhoc_user who = api_adhoc_user(r);
	struct adhoc_store *store;
	struct adhoc_meta m;
	int64_t keep_ms;
	struct err err;
	int rc = adhoc_side_store(ctx, &store, &err);

	if (!rc)
		rc = api_adhoc_time(r, &keep_ms, &err);
	if (!rc)
		rc = adhoc_store_keep(store, r->segment, &who, keep_ms, &err);
	if (!rc)
		rc = adhoc_store_find(store, r->segment, &r->arena, &m, &err);
	api_adhoc_end(a, &m, rc, &err);
}

void api_adhoc_remove(void *ctx, struct request *r, struct answer *a)
{
	const struct adhoc_user who = api_adhoc_user(r);
	struct adhoc_store *store;
	struct err err;
	int rc = adhoc_side_store(ctx, &store, &err);

	if (!rc)
		rc = adhoc_store_remove(store, r->segment, &who, &err);
	if (rc)
		answer_error(a, &err);
	else
		a->status = 204;
}
