/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /api/v1/export: every profile that a selector matches in a time range, as a
 * tar archive. The archive is made in pieces, each when the piece before it is
 * sent. So the needed memory does not depend on the archive's size, and no
 * worker thread waits for a slow client (docs/decisions.md, 41).
 */
#include "web/api/api.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/gzip.h"
#include "base/mem.h"
#include "base/tar.h"
#include "base/vec.h"
#include "model/selector.h"
#include "model/series_folder.h"
#include "query/select/total_filter.h"
#include "web/api/context.h"
#include "web/api/envelope.h"

#define GZIP_LEVEL 4
/* A piece of the tar is sent as soon as it has this size, in bytes. */
#define CHUNK (256 * KIB)
/*
 * Memory in bytes for three pieces of the tar: the piece that is being written,
 * the piece that is being sent, and the server's copy of the latter.
 */
#define BASE (3 * CHUNK)
/*
 * Longest time in ns that a worker thread works on one piece. Without this, an
 * export of many series that have no wanted profiles would hold it.
 */
#define PIECE_NS 1000000000LL
/* copies of a profile in memory: raw, compressed, in the tar */
#define COPIES   3
#define CUT      "\n… and more\n"
#define LOST_MAX (64 * KIB) /* largest size of LOST.txt, in bytes */

/*
 * A running export. It continues after the handler has returned, and ends with
 * export_free().
 */
struct export
{
	struct querier *q;
	struct budget *memory;
	/* Ends the work on the current piece, and all work at shutdown. */
	struct query_work piece;
	int64_t kept;  /* bytes taken from the budget for the whole export */
	int64_t taken; /* bytes taken from the budget for the current profile */
	bool starved;  /* the budget lacked memory for the current profile */
	struct selector selector;
	int64_t from;
	int64_t to;
	/* Selects profiles by their totals; borrows `sample_index`. */
	struct total_filter totals;
	char *sample_index;
	size_t series; /* index of the next series */
	/* times of the profiles of the current series, number `series` - 1 */
	VEC(int64_t) times;
	size_t at; /* index in `times` of the next profile */
	struct profile profile;
	struct buf packed; /* the current profile, compressed */
	struct buf chunk;  /* the piece of the tar that is being written */
	/* contents of LOST.txt: errors of unreadable profiles, one per line */
	struct buf lost;
	struct gzip *gzip;
	struct tar *tar;
	bool ended; /* the end of the tar has been written */
};

/*
 * Free the memory of the current profile. Its copy in the piece of the tar is
 * kept.
 */
static void let_go(struct export *e)
{
	buf_fini(&e->profile.raw);
	buf_fini(&e->packed);
	querier_trim(e->q);
	budget_give(e->memory, e->taken);
	e->taken = 0;
}

/* Callback of the stream when it ends or is aborted: free everything. */
static void export_free(void *ctx)
{
	struct export *e = ctx;

	let_go(e);
	budget_give(e->memory, e->kept);
	querier_close(e->q);
	selector_fini(&e->selector);
	profile_fini(&e->profile);
	vec_fini(&e->times);
	mem_free(e->sample_index);
	tar_free(e->tar); /* may write to `chunk`, so chunk is freed later */
	buf_fini(&e->chunk);
	buf_fini(&e->lost);
	gzip_free(e->gzip);
	mem_free(e);
}

/*
 * Callback that the querier calls before it reads a profile: take memory for
 * the profile and its copies from the budget. A failure is also recorded in
 * `starved`, because the querier's error alone does not show that the cause is
 * a lack of memory.
 */
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

/*
 * Take memory from the budget for what the querier and the list of times have
 * grown by since the last call.
 */
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

/*
 * Load the times of the profiles of a series that have the wanted totals.
 * ERR_INVALID: the series lacks the sample type, or the type is a counter.
 */
static int load_wanted(struct export *e, size_t series, struct err *err)
{
	struct totals_view t = { 0 };
	struct total_column column = { 0 };
	int rc = querier_totals(e->q, series, e->from, e->to, &t, err);

	for (size_t i = 0; i < t.count && !rc; i++) {
		bool wanted = false;

		rc = total_filter_select(&e->totals, &column, &t, i, &wanted,
					 err);
		if (wanted)
			*vec_add(&e->times) = t.rows[i].ms;
	}
	total_column_fini(&column);
	return rc;
}

/*
 * Load the times of the next series. Returns false when no series is left. If
 * the times cannot be read, returns true and sets *rc to the error.
 */
static bool api_export_next_series(struct export *e, int *rc, struct err *err)
{
	struct times_view t = { 0 };

	e->times.count = 0;
	e->at = 0;
	if (e->series == querier_count(e->q))
		return false;
	if (e->totals.set) {
		*rc = load_wanted(e, e->series++, err);
		/*
		 * The answer has begun, so the export goes on without the
		 * series.
		 */
		if (*rc == ERR_INVALID) {
			buf_printf(&e->lost, "%s\n", err->msg);
			*rc = 0;
		}
		return true;
	}
	*rc = querier_times(e->q, e->series++, e->from, e->to, &t, err);
	for (size_t i = 0; i < t.count && !*rc; i++)
		*vec_add(&e->times) = t.ms[i];
	return true;
}

/*
 * Add the current profile to the tar. A profile that cannot be read is listed
 * in LOST.txt instead. Returns ERR_AGAIN when the budget lacks memory; the next
 * call then tries the same profile again.
 */
static int api_export_add_profile(struct export *e, struct err *err)
{
	struct labels *labels = querier_labels(e->q, e->series - 1);
	int64_t ms = e->times.v[e->at];
	struct buf path = { 0 };
	struct bytes note;
	struct err why;
	int rc = querier_fetch(e->q, e->series - 1, ms, &e->profile, &why);

	if (rc && e->starved)
		return err_set(err, ERR_AGAIN, "%s", why.msg);
	e->at++;
	note = series_folder_print(labels, &path);
	buf_printf(&path, "/%" PRId64 ".pb.gz", ms);
	/*
	 * The export continues without the profile: an incomplete export with a
	 * list of the missing profiles is better than no export.
	 */
	if (rc) {
		buf_printf(&e->lost, "%s: %s\n", buf_cstr(&path), why.msg);
		buf_fini(&path);
		return 0;
	}
	buf_reset(&e->packed);
	gzip_compress_noted(e->gzip, GZIP_LEVEL, buf_bytes(&e->profile.raw),
			    note, &e->packed);
	rc = tar_add(e->tar, buf_cstr(&path), ms, buf_bytes(&e->packed), err);
	buf_fini(&path);
	return rc ? rc : api_export_account(e, err);
}

/* Write the list of lost profiles, if any, and the end of the tar. */
static int api_export_finish(struct export *e, struct err *err)
{
	int rc = 0;

	if (e->lost.over) { /* The list is full: mark that it is cut. */
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

/*
 * Add to the current piece of the tar until the piece is large enough or the tar
 * ends. ERR_AGAIN: the budget lacks memory, or the piece has taken PIECE_NS.
 * ERR_CLOSED: everprof is stopping.
 */
static int api_export_fill(struct export *e, struct err *err)
{
	int rc = 0;

	while (!rc && !e->ended && e->chunk.len < (size_t)CHUNK) {
		e->starved = false;
		rc = query_check_deadline(&e->piece, err);
		if (rc)
			break;
		if (e->at < e->times.count)
			rc = api_export_add_profile(e, err);
		else if (!api_export_next_series(e, &rc, err) && !rc)
			rc = api_export_finish(e, err);
		/*
		 * Free the buffers after large profiles only. After small ones
		 * they are kept, to save allocations.
		 */
		if (e->taken > CHUNK || e->starved)
			let_go(e);
	}
	/*
	 * Return ERR_AGAIN for a lack of memory, so that the stream waits until
	 * the budget has memory, and when the time is up, so that the stream
	 * lets others work and ends when its client has gone. Any other error
	 * ends the stream and wastes what was already sent.
	 */
	return rc == ERR_LIMIT || rc == ERR_TIMEOUT ? ERR_AGAIN : rc;
}

/*
 * Callback of the stream: make the next piece of the tar and move it to *out.
 * Returns 1 when more pieces follow, 0 at the end, else ERR_*.
 */
static int export_next(void *ctx, struct buf *out, struct err *err)
{
	struct export *e = ctx;
	int rc;

	e->piece.deadline_ns = clock_mono_ns() + PIECE_NS;
	rc = api_export_fill(e, err);
	/*
	 * Hold no memory of a profile while a slow client receives the piece.
	 */
	let_go(e);
	*out = e->chunk;
	e->chunk = (struct buf){ 0 };
	return rc ? rc : !e->ended;
}

/*
 * Parse the request and select the series. This comes before the status is
 * sent, so errors in the request can still be answered.
 */
static int api_export_start(struct request *r, struct export *e,
			    struct err *err)
{
	struct str text;
	int rc = params_require(&r->params, "query", &text, err);

	if (!rc)
		rc = params_selector("query", text, &e->selector, err);
	if (!rc)
		rc = params_range(&r->params, TIME_REQUIRED, TIME_REQUIRED,
				  &e->from, &e->to, err);
	if (!rc)
		rc = total_filter_parse(&e->totals, &r->params, "", err);
	e->sample_index = mem_strndup(e->totals.sample_index);
	e->totals.sample_index = str_of(e->sample_index);
	if (!rc)
		rc = querier_select(e->q, e->selector.matchers,
				    e->selector.count, e->from, e->to, err);
	if (rc)
		return rc;
	querier_sequential(e->q);
	querier_on_spend(e->q, api_export_spend, e);
	if (querier_lost(e->q)) {
		buf_printf(&e->lost, "%s\n", querier_lost(e->q)->msg);
		if (!querier_count(e->q))
			return err_set(
				err, ERR_CORRUPT,
				"no profile was found, but some stored data could not be read: %s",
				querier_lost(e->q)->msg);
	}
	if (!querier_count(e->q))
		return err_set(
			err, ERR_NOTFOUND,
			"no series that matches the selector has profiles in this time range");
	rc = e->totals.set ? load_wanted(e, 0, err) : 0;
	return rc ? rc : api_export_account(e, err);
}

void api_export(void *ctx, struct request *r, struct answer *a)
{
	struct web *w = ctx;
	struct export *e = mem_new(struct export);
	struct err err;

	e->memory = a->work.memory;
	e->piece.stop_ns = a->work.stop_ns;
	e->gzip = gzip_new();
	e->tar = tar_new(&e->chunk);
	e->lost = buf_init((size_t)LOST_MAX);
	query_open(&a->work, w->o.db, &e->q);
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
