/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /api/v1/export: every profile of a selector and range, as a tar that is
 * made while it is sent: its size is no matter of memory.
 */
#include "web/api/api_export.h"

#include <inttypes.h>

#include "base/gzip.h"
#include "base/mem.h"
#include "base/tar.h"
#include "base/url.h"
#include "base/vec.h"
#include "model/selector.h"
#include "web/handler/context.h"
#include "web/handler/envelope.h"

#define GZIP_LEVEL 4
#define CHUNK      (256 * KIB) /* after so many bytes it is sent */
#define FOLDER_MAX 200
/* A chunk that is made, one that is sent, and what the server copies it to. */
#define BASE     (3 * CHUNK)
#define COPIES   3 /* of a profile: as it is, packed, and in the chunk */
#define CUT      "\n… and more\n"
#define LOST_MAX (64 * KIB)

struct export
{
	struct querier *q;
	struct budget *memory;
	int64_t kept;  /* taken for as long as it is sent */
	int64_t taken; /* and for the profile at hand */
	bool starved;  /* there was no memory for it */
	struct selector selector;
	int64_t from;
	int64_t to;
	size_t series;      /* the next one */
	VEC(int64_t) times; /* of the one before it */
	size_t at;          /* in times */
	struct profile profile;
	struct buf packed;
	struct buf chunk; /* of the tar, until it is handed over */
	struct buf lost;  /* what could not be read, a line each */
	struct gzip *gzip;
	struct tar *tar;
	bool ended;
};

/* What the profile at hand took goes, but for its place in the chunk. */
static void let_go(struct export *e)
{
	buf_fini(&e->profile.raw);
	buf_fini(&e->packed);
	querier_trim(e->q);
	budget_give(e->memory, e->taken);
	e->taken = 0;
}

static void export_free(void *ctx)
{
	struct export *e = ctx;

	let_go(e);
	budget_give(e->memory, e->kept);
	querier_close(e->q);
	selector_fini(&e->selector);
	profile_fini(&e->profile);
	vec_fini(&e->times);
	tar_free(e->tar); /* may write its end: the buffers are still there */
	buf_fini(&e->chunk);
	buf_fini(&e->lost);
	gzip_free(e->gzip);
	mem_free(e);
}

/* Before a profile is read: it, and what it is packed into, twice at most. */
static int api_export_spend(void *ctx, size_t bytes, struct err *err)
{
	struct export *e = ctx;
	int64_t n = (int64_t)bytes * COPIES;
	int rc = budget_take(e->memory, n, err);

	if (!rc)
		e->taken += n;
	e->starved = rc != 0;
	return rc;
}

/* What the querier and the list of times have grown to. */
static int api_export_account(struct export *e, struct err *err)
{
	int64_t now =
		(int64_t)(BASE + querier_memory(e->q) + vec_memory(&e->times));
	int rc = 0;

	if (now > e->kept) {
		rc = budget_take(e->memory, now - e->kept, err);
		e->kept = rc ? e->kept : now;
	}
	return rc;
}

/* The times of the next series; false: there is none. */
static bool api_export_next_series(struct export *e, int *rc, struct err *err)
{
	struct times_view t = { 0 };

	e->times.count = 0;
	e->at = 0;
	if (e->series == querier_count(e->q))
		return false;
	*rc = querier_times(e->q, e->series++, e->from, e->to, &t, err);
	for (size_t i = 0; i < t.count && !*rc; i++)
		*vec_add(&e->times) = t.ms[i];
	return true;
}

/* A series as a folder: its selector, escaped, cut with its hash. */
static void api_export_path_of(const struct labels *labels, int64_t ms,
			       struct buf *out)
{
	struct buf text = { 0 };

	labels_text(labels, &text);
	url_escape(str_from(buf_bytes(&text)), out);
	if (out->len > FOLDER_MAX) {
		out->len = FOLDER_MAX - 17;
		buf_printf(out, "-%016" PRIx64, labels->hash);
	}
	buf_printf(out, "/%" PRId64 ".pb.gz", ms);
	buf_fini(&text);
}

/* ERR_AGAIN: there is no memory for it now. */
static int api_export_add_profile(struct export *e, struct err *err)
{
	struct labels *labels = querier_labels(e->q, e->series - 1);
	int64_t ms = e->times.v[e->at];
	struct buf path = { 0 };
	struct err why;
	int rc = querier_fetch(e->q, e->series - 1, ms, &e->profile, &why);

	if (rc && e->starved)
		return err_set(err, ERR_AGAIN, "%s", why.msg);
	e->at++;
	api_export_path_of(labels, ms, &path);
	if (rc) {
		/* Tell what is missing, and go on with the others. */
		buf_printf(&e->lost, "%s: %s\n", buf_cstr(&path), why.msg);
		buf_fini(&path);
		return 0;
	}
	buf_reset(&e->packed);
	gzip_compress(e->gzip, GZIP_LEVEL, buf_bytes(&e->profile.raw),
		      &e->packed);
	rc = tar_add(e->tar, buf_cstr(&path), ms, buf_bytes(&e->packed), err);
	buf_fini(&path);
	return rc ? rc : api_export_account(e, err);
}

static int api_export_finish(struct export *e, struct err *err)
{
	int rc = 0;

	if (e->lost.over) { /* the list is cut: say so at its end */
		e->lost.over = false;
		e->lost.len -= sizeof(CUT) - 1;
		buf_str(&e->lost, CUT);
	}
	if (e->lost.len)
		rc = tar_add(e->tar, "LOST.txt", 0, buf_bytes(&e->lost), err);
	if (!rc)
		rc = tar_end(e->tar, err);
	e->ended = true;
	return rc;
}

/* Make a piece: until it is large enough, or there is no memory for more. */
static int api_export_fill(struct export *e, struct err *err)
{
	int rc = 0;

	while (!rc && !e->ended && e->chunk.len < (size_t)CHUNK) {
		e->starved = false;
		if (e->at < e->times.count)
			rc = api_export_add_profile(e, err);
		else if (!api_export_next_series(e, &rc, err) && !rc)
			rc = api_export_finish(e, err);
		/* Small ones leave their buffers to the next one. */
		if (e->taken > CHUNK || e->starved)
			let_go(e);
	}
	/* Nothing of the answer is lost by waiting. */
	return rc == ERR_LIMIT ? ERR_AGAIN : rc;
}

/* The next piece of the tar; 1: more follows. */
static int export_next(void *ctx, struct buf *out, struct err *err)
{
	struct export *e = ctx;
	int rc = api_export_fill(e, err);

	let_go(e); /* while it is sent, no more than the piece is kept */
	*out = e->chunk;
	e->chunk = (struct buf){ 0 };
	return rc ? rc : !e->ended;
}

static int api_export_start(struct request *r, struct export *e,
			    struct err *err)
{
	struct str text;
	int rc = params_require(&r->params, "query", &text, err);

	if (!rc)
		rc = selector_parse(text, &e->selector, err);
	if (!rc)
		rc = params_range(&r->params, TIME_REQUIRED, TIME_REQUIRED,
				  &e->from, &e->to, err);
	if (rc)
		return rc;
	querier_select(e->q, e->selector.matchers, e->selector.count, e->from,
		       e->to);
	querier_sequential(e->q);
	querier_on_spend(e->q, api_export_spend, e);
	if (querier_lost(e->q)) {
		buf_printf(&e->lost, "%s\n", querier_lost(e->q)->msg);
		if (!querier_count(e->q))
			return err_set(err, ERR_CORRUPT, "%s",
				       querier_lost(e->q)->msg);
	}
	if (!querier_count(e->q))
		return err_set(err, ERR_NOTFOUND,
			       "no series of this selector has profiles then");
	return api_export_account(e, err);
}

void api_export(void *ctx, struct request *r, struct answer *a)
{
	struct web *w = ctx;
	struct export *e = mem_new(struct export);
	struct err err;

	e->memory = a->work.memory;
	e->gzip = gzip_new();
	e->tar = tar_new(&e->chunk);
	e->lost = buf_init((size_t)LOST_MAX);
	querier_open(w->o.db, &e->q);
	if (api_export_start(r, e, &err)) {
		export_free(e);
		answer_error(a, &err);
		return;
	}
	a->status = 200;
	a->as_is = true;
	a->content_type = "application/x-tar";
	a->stream = (struct answer_stream){ export_next, export_free, e };
	answer_header(a, "Content-Disposition",
		      "attachment;filename=\"everprof.tar\"");
}
