/* SPDX-License-Identifier: Apache-2.0 */
#include "web/api/answer_report.h"

#include "base/gzip.h"
#include "base/mem.h"
#include "pprof/proto/encode.h"
#include "pprof/report/pgo.h"
#include "query/merge/report_profile.h"
#include "web/api/envelope.h"
#include "web/auth/auth.h"

/*
 * Compression level of gzip: a fast one, which Go's runtime also uses
 * (docs/decisions.md, 56).
 */
#define GZIP_LEVEL 1

/* A report that is being written. */
struct writing {
	struct report_profile
		profile; /* of which it is made, and the warnings */
	const struct report_request *q;
	struct query_merge *g;
	struct web *web;
	struct request *request;
	struct answer *a;
	bool is_uploaded; /* see struct report_answer */
};

/* Add the warnings about filter expressions. */
static void answer_report_warn(struct writing *w, const struct no_match *none)
{
	struct report_profile *p = &w->profile;

	p->warning_count += report_profile_unmatched(
		none, &w->request->arena, p->warnings + p->warning_count,
		REPORT_WARNINGS_MAX - p->warning_count);
}

/* Join all warnings for a header. Warnings may contain file names. */
static const char *join_warnings(const struct writing *w)
{
	struct buf all = { 0 };
	char *text;

	for (size_t i = 0; i < w->profile.warning_count; i++)
		buf_printf(&all, "%s%s", i ? "; " : "", w->profile.warnings[i]);
	text = answer_header_text(&w->request->arena, str_from(buf_bytes(&all)),
				  HEADER_TEXT_MAX);
	buf_fini(&all);
	return text;
}

/* Add the warnings as a header. */
static void add_warnings(struct writing *w)
{
	if (w->profile.warning_count)
		answer_header(w->a, "X-Everprof-Warning", join_warnings(w));
}

/*
 * Set the status and the headers of an answer that is not JSON. `file` is the
 * name under which a browser saves the answer; it may be NULL.
 */
static void answer_report_begin_document(struct writing *w,
					 const char *content_type,
					 const char *file)
{
	struct answer *a = w->a;

	a->status = 200;
	a->content_type = content_type;
	if (file)
		answer_header(a, "Content-Disposition",
			      arena_printf(&w->request->arena,
					   "attachment;filename=\"%s\"", file));
	add_warnings(w);
	/*
	 * An SVG image contains names from profiles, which an attacker may have
	 * chosen. This policy keeps any script in the image from accessing the
	 * server as the user.
	 */
	if (strstr(content_type, "svg"))
		answer_header(
			a, "Content-Security-Policy",
			"default-src 'none'; style-src 'unsafe-inline'; "
			"script-src 'unsafe-inline'; sandbox allow-scripts");
}

/*
 * Encode a profile into `raw`. Memory for the result is taken from the query's
 * budget first: half of the profile's decoded size, which is nearly always
 * enough. If it is not, the profile is encoded again with memory of the whole
 * decoded size, which is always enough. Returns ERR_LIMIT when the budget is
 * exhausted.
 */
static int encode_within(struct writing *w, const struct pprof *p,
			 struct buf *raw, struct err *err)
{
	size_t most = pprof_memory(p) + KIB;
	int rc = 0;

	for (size_t room = most / 2; !rc; room = most) {
		rc = query_take(&w->a->work, (int64_t)room, err);
		if (rc)
			break;
		*raw = buf_init(room);
		pprof_encode(p, raw);
		if (!raw->over || room == most)
			break;
		buf_fini(raw);
	}
	return rc ? rc : report_size(raw, err);
}

/* Answer with a profile as gzip-compressed protocol buffers. */
static int answer_report_write_proto(struct writing *w, const struct pprof *p,
				     struct err *err)
{
	struct buf raw = { 0 };
	struct gzip *g;
	int rc = encode_within(w, p, &raw, err);

	if (!rc) {
		g = gzip_new();
		gzip_compress(g, GZIP_LEVEL, buf_bytes(&raw), &w->a->body);
		gzip_free(g);
		w->a->as_is = true;
		answer_report_begin_document(
			w, "application/vnd.google.protobuf+gzip",
			"everprof.pb.gz");
		rc = query_take_output(&w->a->work, err);
	}
	buf_fini(&raw);
	return rc;
}

/*
 * Answer with a report in the API's JSON envelope. The warnings are sent both
 * in the envelope and in a header, for clients that do not parse the body.
 */
static int write_json(struct writing *w, struct report *r, struct err *err)
{
	struct json j = envelope_begin(w->a);
	int rc = w->q->type->json(r, &j, err);

	envelope_end(&j, w->a, w->profile.warnings);
	add_warnings(w);
	return rc ? rc : query_take_output(&w->a->work, err);
}

/*
 * Answer with a report as JSON. If the report has no JSON form, the request has
 * format=text, or the report is text unless format=json is given, the answer is
 * a document instead, for example text or an image.
 */
static int answer_report_write_report(struct writing *w, struct report *r,
				      struct err *err)
{
	const struct report_type *t = w->q->type;
	int rc;

	answer_report_warn(w, &r->unmatched);
	if (t->json &&
	    !(t->write && (t->text_first ? !w->q->json : w->q->text)))
		return write_json(w, r, err);
	rc = t->write(r, &w->a->body, err);
	if (!rc)
		rc = query_take_output(&w->a->work, err);
	if (!rc)
		answer_report_begin_document(w, t->content_type, t->file);
	return rc;
}

/*
 * Answer report=proto or report=pgo: a profile that contains only the samples
 * that pass the filters.
 */
static int answer_report_write_profile(struct writing *w, struct pprof *p,
				       struct err *err)
{
	struct merge *slim;
	struct report r;
	int rc = 0;

	/*
	 * report_init() is called only because it applies the filters to `p`;
	 * the report itself is not used.
	 */
	if (w->q->filtered) {
		struct report_options o = w->q->options;

		o.limits = query_merge_limits(w->g);
		rc = report_init(&r, REPORT_TRACES, p, &o, err);
		if (rc)
			return rc;
		answer_report_warn(w, &r.unmatched);
		report_fini(&r);
	}
	if (!str_is(w->q->name, "pgo"))
		return answer_report_write_proto(w, p, err);
	rc = query_take(&w->a->work, (int64_t)pprof_memory(p), err);
	if (rc)
		return rc;
	slim = merge_new();
	rc = pprof_pgo(slim, p, &p, err);
	if (!rc)
		rc = answer_report_write_proto(w, p, err);
	merge_free(slim);
	return rc;
}

/*
 * Answer with the report that the request names. For report=proto and
 * report=pgo, `type` is NULL, and the answer is a profile.
 */
static int write_any(struct writing *w, struct pprof *p, struct err *err)
{
	struct report_options o;
	struct report r;
	int rc;

	report_profile_options(&w->profile, &o);
	if (!w->q->type)
		return answer_report_write_profile(w, p, err);
	if (!w->is_uploaded ||
	    (w->request->who->scopes & (SCOPE_WRITE | SCOPE_ADMIN)))
		o.source_root = w->web->o.source_root;
	rc = report_init(&r, w->q->type->kind, p, &o, err);
	if (rc)
		return rc;
	rc = answer_report_write_report(w, &r, err);
	report_fini(&r);
	return rc;
}

/*
 * Add headers with the number of series and the number of profiles that were
 * merged.
 */
static void answer_report_count_profiles(struct writing *w,
					 const struct query_merge *base)
{
	struct request *r = w->request;
	size_t profiles = w->g->profiles + (base ? base->profiles : 0);
	size_t series = w->g->series + (base ? base->series : 0);

	answer_header(w->a, "X-Everprof-Series",
		      arena_printf(&r->arena, "%zu", series));
	answer_header(w->a, "X-Everprof-Profiles",
		      arena_printf(&r->arena, "%zu", profiles));
	if (w->profile.has_duration && w->g->looked_ns)
		answer_header(w->a, "X-Everprof-Covered-Seconds",
			      arena_printf(&r->arena, "%.3f",
					   (double)w->g->looked_ns / 1e9));
	if (!base)
		return;
	answer_header(w->a, "X-Everprof-Profiles-A",
		      arena_printf(&r->arena, "%zu", base->profiles));
	answer_header(w->a, "X-Everprof-Normalize",
		      w->profile.scaled == NORMALIZE_TOTAL ? "total" :
		      w->profile.scaled == NORMALIZE_RATE  ? "rate" :
							     "none");
	answer_header(w->a, "X-Everprof-Factor",
		      arena_printf(&r->arena, "%.6g", w->profile.factor));
}

int answer_report(const struct report_answer *to, struct query_merge *source,
		  struct query_merge *base, struct err *err)
{
	struct arena *arena = &to->request->arena;
	struct writing w = {
		.q = to->q,
		.g = source,
		.web = to->web,
		.request = to->request,
		.a = to->answer,
		.is_uploaded = to->is_uploaded,
		.profile = { .q = to->q,
			     .source = source,
			     .base = base,
			     .symbolizer = to->web->o.symbolizer,
			     .arena = arena },
	};
	struct pprof *p;
	/* If the query fails later, answer_error() drops the warnings. */
	int rc = report_profile_make(&w.profile, &p, err);

	answer_report_count_profiles(&w, base);
	if (!base && source->labels)
		answer_identity(w.a, to->request, source->labels, source->ms);
	if (!rc)
		rc = write_any(&w, p, err);
	report_profile_fini(&w.profile);
	return rc;
}
