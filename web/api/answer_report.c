/* SPDX-License-Identifier: Apache-2.0 */
#include "web/api/answer_report.h"

#include "base/gzip.h"
#include "base/mem.h"
#include "pprof/proto/encode.h"
#include "pprof/report/pgo.h"
#include "query/merge/symbolize.h"
#include "web/api/envelope.h"

/*
 * Compression level of gzip: a fast one, which Go's runtime also uses
 * (docs/decisions.md, 56).
 */
#define GZIP_LEVEL   1
#define WARNINGS_MAX 12

/* A report that is being written, with the warnings collected so far. */
struct writing {
	const struct report_request *q;
	struct query_merge *g;
	struct web *web;
	struct request *request;
	struct answer *a;
	/* The warnings; the array ends with NULL. */
	const char *warnings[WARNINGS_MAX + 1];
	size_t warning_count;
	bool has_duration; /* see struct report_options */
	double rate_seconds;
};

size_t answer_report_unmatched(const struct no_match *none, struct arena *arena,
			       const char **out, size_t count, size_t max)
{
	for (size_t i = 0; i < none->count && count < max; i++)
		out[count++] = arena_printf(arena,
					    "%s expression matched no samples",
					    none->names[i]);
	return count;
}

/* The same for the answer that is written. */
static void answer_report_warn(struct writing *w, const struct no_match *none)
{
	w->warning_count =
		answer_report_unmatched(none, &w->request->arena, w->warnings,
					w->warning_count, WARNINGS_MAX);
}

/* Join all warnings for a header. Warnings may contain file names. */
static const char *join_warnings(const struct writing *w)
{
	struct buf all = { 0 };
	char *text;

	for (size_t i = 0; i < w->warning_count; i++)
		buf_printf(&all, "%s%s", i ? "; " : "", w->warnings[i]);
	text = answer_header_text(&w->request->arena, str_from(buf_bytes(&all)),
				  HEADER_TEXT_MAX);
	buf_fini(&all);
	return text;
}

/* Add the warnings as a header. */
static void add_warnings(struct writing *w)
{
	if (w->warning_count)
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

	envelope_end(&j, w->a, w->warnings);
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

/* Name the addresses of a profile that have no function. */
static int answer_report_symbolize(struct writing *w, struct pprof *p,
				   struct err *err)
{
	struct symbolize s = { .symbolizer = w->web->o.symbolizer };
	int rc = query_merge_symbolize(w->g, &s, p, err);

	if (!rc)
		w->warning_count +=
			symbolize_warnings(&s, p, &w->request->arena,
					   w->warnings + w->warning_count,
					   WARNINGS_MAX - w->warning_count);
	return rc;
}

/*
 * Answer with the report that the request names. For report=proto and
 * report=pgo, `type` is NULL, and the answer is a profile.
 */
static int write_any(struct writing *w, struct pprof *p, struct err *err)
{
	struct report_options o = w->q->options;
	struct report r;
	int rc;

	o.limits = query_merge_limits(w->g);
	o.has_duration = w->has_duration;
	o.duration_ns = w->g->looked_ns;
	/* A mean is not divided by a time. */
	o.rate_seconds = o.mean ? 0 : w->rate_seconds;
	if (!w->q->type)
		return answer_report_write_profile(w, p, err);
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
	if (w->has_duration && w->g->looked_ns)
		answer_header(w->a, "X-Everprof-Covered-Seconds",
			      arena_printf(&r->arena, "%.3f",
					   (double)w->g->looked_ns / 1e9));
	if (base)
		answer_header(w->a, "X-Everprof-Profiles-A",
			      arena_printf(&r->arena, "%zu", base->profiles));
}

/* How the sides of a diff are scaled; normalize=auto depends on their values. */
static enum normalize choose_normalize(enum normalize asked,
				       enum value_kind kind)
{
	if (asked != NORMALIZE_AUTO)
		return asked;
	return kind == KIND_FLOW    ? NORMALIZE_TOTAL :
	       kind == KIND_COUNTER ? NORMALIZE_RATE :
				      NORMALIZE_NONE;
}

/*
 * Scale the new side to the time of the base. If that makes no sense, it is an error
 * with normalize=rate, and left undone with normalize=auto.
 */
static int scale_to_rate(struct writing *w, const struct query_merge *base,
			 enum value_kind kind, struct merge_diff_options *o,
			 struct err *err)
{
	enum aggregate how = aggregate_of(w->g->o->aggregate, kind);
	const char *why = NULL;

	if (kind == KIND_STATE)
		why = "values that are a state, such as memory in use, have no rate";
	else if (!w->g->has_looked || !base->has_looked)
		why = "rates need a time range on both sides";
	else if (how != (kind == KIND_FLOW ? AGGREGATE_SUM : AGGREGATE_DELTA))
		why = "rates are computed from sums, or from the increase of a counter: use aggregate=auto";
	else if (!(w->g->looked_sum > 0) || !(base->looked_sum > 0))
		why = "it is not known for how long the programs were profiled";
	if (why && w->q->normalize == NORMALIZE_AUTO)
		return 0;
	if (why)
		return err_set(err, ERR_INVALID, "normalize=rate: %s", why);
	w->rate_seconds = base->looked_sum;
	o->scale = base->looked_sum / w->g->looked_sum;
	return 0;
}

/* Subtract the base from the profile *p of the new side. */
static int subtract_base(struct writing *w, struct query_merge *base,
			 struct merge *both, struct pprof **p, struct err *err)
{
	const struct report_request *q = w->q;
	struct merge_diff_options o = { .label_base = q->label_base };
	enum value_kind kind;
	enum normalize how;
	size_t type;
	int rc = 0;

	if (q->normalize != NORMALIZE_NONE) {
		rc = pprof_type_index(*p, q->options.sample_index, &type, err);
		if (rc)
			return rc;
		kind = value_kind(pprof_str(*p, (*p)->types.v[type].type),
				  (*p)->duration_ns > 0 || w->g->increments);
		how = choose_normalize(q->normalize, kind);
		o.normalize = how == NORMALIZE_TOTAL;
		if (how == NORMALIZE_RATE)
			rc = scale_to_rate(w, base, kind, &o, err);
	}
	return rc ? rc : query_merge_subtract(base, both, &o, p, err);
}

int answer_report(const struct report_answer *to, struct query_merge *source,
		  struct query_merge *base, struct err *err)
{
	struct writing w = { .q = to->q,
			     .g = source,
			     .web = to->web,
			     .request = to->request,
			     .a = to->answer,
			     .has_duration = !base && source->has_looked &&
					     source->looked.has_flows };
	struct arena *arena = &to->request->arena;
	struct merge *both = merge_new();
	struct pprof *p;
	int rc = query_merge_finish(source, &p, err);

	/*
	 * Add warnings for profiles that the merge left out. If the query fails
	 * later, answer_error() drops the warnings.
	 */
	w.warning_count =
		query_merge_warnings(source, arena, w.warnings, WARNINGS_MAX);
	if (!rc && base) {
		w.warning_count += query_merge_warnings(
			base, arena, w.warnings + w.warning_count,
			WARNINGS_MAX - w.warning_count);
		rc = subtract_base(&w, base, both, &p, err);
	}
	answer_report_count_profiles(&w, base);
	if (!base && source->labels)
		answer_identity(w.a, to->request, source->labels, source->ms);
	if (!rc && to->q->options.symbolize)
		rc = answer_report_symbolize(&w, p, err);
	if (!rc)
		rc = write_any(&w, p, err);
	merge_free(both);
	return rc;
}
