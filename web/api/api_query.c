/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /api/v1/query: one profile as it was stored, or a report. A report shows one
 * profile, many profiles merged, or the difference between two merges.
 */
#include "web/api/api.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/gzip.h"
#include "base/hash.h"
#include "base/mem.h"
#include "pprof/proto/scan.h"
#include "query/merge/query_merge.h"
#include "web/api/adhoc_side.h"
#include "web/api/answer_report.h"
#include "web/api/envelope.h"

#define GZIP_LEVEL 6
/*
 * memory for one stored profile and its answer, in multiples of the profile's
 * size
 */
#define COPIES 3

/* The following functions answer with a single stored profile. */

/*
 * Write the metadata of a profile as an object: labels, time, sample types with
 * their totals, sizes and hash.
 */
static void api_query_write_meta(struct json *j, const struct profile *p,
				 struct labels *labels, const struct scan *scan)
{
	CLEANUP(mem_freep) char *hash = mem_printf("%016" PRIx64, p->hash);

	json_begin(j, '{');
	json_key(j, "labels");
	labels_json(labels, j);
	json_key(j, "timestamp");
	json_int(j, p->ms);
	json_key(j, "sampleTypes");
	json_begin(j, '[');
	for (size_t i = 0; i < scan->types.count; i++) {
		json_begin(j, '{');
		json_key(j, "type");
		json_str(j, scan->types.types[i].type);
		json_key(j, "unit");
		json_str(j, scan->types.types[i].unit);
		json_key(j, "total");
		json_int(j, scan->totals[i]);
		json_end(j, '}');
	}
	json_end(j, ']');
	json_key(j, "defaultSampleType");
	json_str(j, scan->types.default_type);
	json_key(j, "periodType");
	json_begin(j, '{');
	json_key(j, "type");
	json_str(j, scan->types.period.type);
	json_key(j, "unit");
	json_str(j, scan->types.period.unit);
	json_end(j, '}');
	json_key(j, "period");
	json_int(j, scan->period);
	json_key(j, "timeNanos");
	json_int(j, scan->time_ns);
	json_key(j, "durationNanos");
	json_int(j, scan->duration_ns);
	json_key(j, "samples");
	json_int(j, (int64_t)scan->sample_count);
	json_key(j, "bytes");
	json_int(j, (int64_t)p->raw.len);
	json_key(j, "xxh3");
	json_text(j, hash);
	json_end(j, '}');
}

/*
 * Answer report=meta: the metadata of a profile. The profile is scanned for it,
 * but not decoded.
 */
static int report_meta(struct answer *a, const struct profile *p,
		       struct labels *labels, struct err *err)
{
	struct scanner *scanner = scanner_new();
	struct scan *scan = mem_new(struct scan);
	int rc = scanner_run(scanner, buf_bytes(&p->raw), scan, err);

	if (!rc) {
		struct json j = envelope_begin(a);

		api_query_write_meta(&j, p, labels, scan);
		envelope_end(&j, a, NULL);
	}
	scanner_free(scanner);
	mem_free(scan);
	return rc;
}

/*
 * Parse a Range header with one range: "bytes=a-b", "bytes=a-" or "bytes=-n".
 * Returns false for any other header; HTTP allows a server to ignore it. *first
 * may be larger than `size`.
 */
static bool api_query_parse_range(const char *header, uint64_t size,
				  uint64_t *first, uint64_t *last)
{
	struct str s = str_of(header);
	struct str end;
	struct str begin;
	int64_t a;
	int64_t b;

	if (!str_starts(s, str_of("bytes=")))
		return false;
	s.ptr += 6;
	s.len -= 6;
	begin = str_cut(s, '-', &end);
	*last = size - 1;
	if (!begin.len) {
		if (!str_to_i64(end, &b) || b <= 0)
			return false;
		*first = (uint64_t)b < size ? size - (uint64_t)b : 0;
		return true;
	}
	if (!str_to_i64(begin, &a) || a < 0)
		return false;
	*first = (uint64_t)a;
	if (end.len) {
		if (!str_to_i64(end, &b) || b < a)
			return false;
		*last = (uint64_t)b < size ? (uint64_t)b : size - 1;
	}
	return true;
}

/* Answer report=raw: the bytes exactly as received. Handles ETag and Range. */
static void report_raw(struct request *r, struct answer *a, struct profile *p)
{
	const char *etag =
		arena_printf(&r->arena, "\"%016" PRIx64 "\"", p->hash);
	uint64_t size = p->raw.len;
	uint64_t first;
	uint64_t last;

	a->as_is = true;
	a->status = 200;
	a->content_type = "application/octet-stream";
	answer_header(a, "ETag", etag);
	answer_header(a, "Accept-Ranges", "bytes");
	if (strstr(r->if_none_match, etag)) {
		a->status = 304;
		return;
	}
	if (!api_query_parse_range(r->range, size, &first, &last)) {
		buf_fini(&a->body);
		a->body = p->raw;
		p->raw = (struct buf){ 0 };
		return;
	}
	if (first >= size) {
		a->status = 416;
		answer_header(
			a, "Content-Range",
			arena_printf(&r->arena, "bytes */%" PRIu64, size));
		return;
	}
	a->status = 206;
	answer_header(a, "Content-Range",
		      arena_printf(&r->arena,
				   "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64,
				   first, last, size));
	buf_add(&a->body, p->raw.ptr + first, (size_t)(last - first + 1));
}

/*
 * Answer report=proto for one stored profile: the profile, compressed. The name
 * under which a browser saves the answer contains the name of the series;
 * characters with a meaning in headers or paths are replaced in it.
 */
static void report_proto(struct request *r, struct answer *a,
			 const struct profile *p, struct labels *labels)
{
	struct str type = str_clip(labels_get(labels, str_of(LABEL_NAME)),
				   HEADER_FILE_NAME_MAX);
	struct gzip *g = gzip_new();
	char *name = arena_printf(&r->arena, "%.*s-%" PRId64 ".pb.gz",
				  STR_ARG(type), p->ms);

	for (char *c = name; *c; c++) {
		if ((unsigned char)*c <= ' ' || strchr("\"/\\;", *c) ||
		    (unsigned char)*c >= 0x7f)
			*c = '_';
	}
	gzip_compress(g, GZIP_LEVEL, buf_bytes(&p->raw), &a->body);
	gzip_free(g);
	a->as_is = true;
	a->status = 200;
	a->content_type = "application/vnd.google.protobuf+gzip";
	answer_header(
		a, "Content-Disposition",
		arena_printf(&r->arena, "attachment;filename=\"%s\"", name));
}

/*
 * Which stored profile is meant: its series (an index in the querier's
 * selection) and its time.
 */
struct stored {
	struct querier *q;
	size_t series;
	int64_t ms;
};

/* Answer with a profile that was read, in the form that the report names. */
static int api_query_write_stored(struct request *r, struct answer *a,
				  struct profile *p, struct labels *labels,
				  struct str report, struct err *err)
{
	if (str_is(report, "meta"))
		return report_meta(a, p, labels, err);
	if (str_is(report, "raw"))
		report_raw(r, a, p);
	else
		report_proto(r, a, p, labels);
	return 0;
}

/*
 * Answer with a stored profile. Memory for the profile is taken from the budget
 * before the profile is read.
 */
static int api_query_answer_stored(struct request *r, const struct stored *s,
				   struct str report, struct answer *a,
				   struct err *err)
{
	struct labels *labels = querier_labels(s->q, s->series);
	struct profile p = { 0 };
	uint32_t raw_len;
	uint64_t hash;
	int rc = querier_stat(s->q, s->series, s->ms, &hash, &raw_len, err);

	if (!rc)
		rc = query_take(&a->work, (int64_t)raw_len * COPIES, err);
	if (!rc)
		rc = querier_fetch(s->q, s->series, s->ms, &p, err);
	if (!rc) {
		answer_identity(a, r, labels, p.ms);
		rc = api_query_write_stored(r, a, &p, labels, report, err);
	}
	profile_fini(&p);
	return rc;
}

/*
 * Find the stored profile that is nearest to the requested time, and answer
 * with it.
 */
static int find_stored(struct web *w, struct request *r,
		       const struct query_spec *s, struct str report,
		       struct answer *a, struct err *err)
{
	CLEANUP(querier_closep) struct querier *q = NULL;
	struct stored found = { 0 };
	int rc;

	query_open(&a->work, w->o.db, &q);
	found.q = q;
	rc = query_select(&a->work, q, s->selector.matchers, s->selector.count,
			  s->from, s->to, err);
	if (!rc)
		rc = query_nearest(s, &a->work, q, &found.series, &found.ms,
				   err);
	if (!rc)
		rc = api_query_answer_stored(r, &found, report, a, err);
	return rc;
}

/* Answer with an uploaded file as it is. */
static int answer_file(struct web *w, struct request *r, struct str report,
		       struct answer *a, struct err *err)
{
	struct labels_builder builder = { 0 };
	struct labels *labels = NULL;
	struct adhoc_profile file;
	struct profile p;
	int rc = adhoc_side_read(w, r, a, "", &file, err);

	p = (struct profile){ .raw = file.raw, .ms = file.meta.uploaded_ms };
	if (!rc)
		rc = query_take(&a->work, (int64_t)p.raw.len * COPIES, err);
	if (!rc) {
		labels_set(&builder, str_of(LABEL_NAME),
			   file.meta.parts[file.part].name);
		rc = labels_build(&builder, &labels, err);
	}
	if (!rc) {
		p.hash = hash_bytes(buf_bytes(&p.raw));
		rc = api_query_write_stored(r, a, &p, labels, report, err);
	}
	labels_unref(labels);
	labels_builder_fini(&builder);
	profile_fini(&p);
	return rc;
}

/* The following functions answer with a report. */

/*
 * Refuse to merge when the report is raw or meta, because these reports
 * describe a single profile.
 */
static int check_single(const struct report_request *query, struct err *err)
{
	if (!query->single)
		return 0;
	return err_set(
		err, ERR_INVALID,
		"report \"%.*s\" describes a single profile, chosen by \"time\": for a merge or a difference, use the report \"proto\"",
		STR_ARG(query->name));
}

/* Answer a query about an uploaded file. */
static int query_file(struct web *w, struct request *r, struct answer *a,
		      const struct report_request *query, struct err *err)
{
	struct query_merge_options o;
	struct query_merge g;
	int rc = report_request_merging(query, &r->params, &o, err);

	if (rc)
		return rc;
	if (query->stored)
		return answer_file(w, r, query->name, a, err);
	query_merge_init(&g, w->o.db, &a->work, &o);
	rc = adhoc_side_merge(w, r, a, "", &g, err);
	if (!rc)
		rc = answer_report(
			&(struct report_answer){ w, r, a, query, true }, &g,
			NULL, err);
	query_merge_fini(&g);
	return rc;
}

/*
 * Answer a query that is not a diff. If a single profile is requested and no
 * report has to be computed, the stored profile is returned without decoding
 * it.
 */
static int query_side(struct web *w, struct request *r, struct answer *a,
		      const struct report_request *query, struct err *err)
{
	struct query_merge_options o;
	struct query_merge g;
	struct query_spec s;
	int rc;

	if (query->errors)
		return err_set(
			err, ERR_INVALID,
			"parameter \"errors\" needs mode=diff: only differences have error bars");
	if (query->compare)
		return err_set(
			err, ERR_INVALID,
			"report \"compare\" needs two sides: use mode=diff");
	if (adhoc_side_is(&r->params, ""))
		return query_file(w, r, a, query, err);
	rc = query_spec_parse(&s, &r->params, "", err);
	if (!rc && s.merged)
		rc = check_single(query, err);
	if (!rc)
		rc = report_request_merging(query, &r->params, &o, err);
	if (!rc && !s.merged && query->stored) {
		rc = find_stored(w, r, &s, query->name, a, err);
	} else if (!rc) {
		o.looked = aggregate_sums_flows(o.aggregate);
		query_merge_init(&g, w->o.db, &a->work, &o);
		rc = query_merge_run(&g, &s, err);
		if (!rc)
			rc = answer_report(&(struct report_answer){ w, r, a,
								    query,
								    false },
					   &g, NULL, err);
		query_merge_fini(&g);
	}
	query_spec_fini(&s);
	return rc;
}

/*
 * Merge the profiles of one side of a diff. The message of an error names the
 * side.
 */
static int gather_suffix(struct web *w, struct request *r, struct answer *a,
			 struct query_merge *g, const char *suffix,
			 struct err *err)
{
	struct query_spec s = { .merged = false };
	int rc;

	if (adhoc_side_is(&r->params, suffix)) {
		rc = adhoc_side_merge(w, r, a, suffix, g, err);
	} else {
		rc = query_spec_parse(&s, &r->params, suffix, err);
		if (!rc)
			rc = query_merge_run(g, &s, err);
		query_spec_fini(&s);
	}
	return rc ? err_wrap(err, rc, "side %s",
			     suffix[1] == 'a' ? "a (the base)" :
						"b (compared with the base)") :
		    0;
}

/*
 * Answer mode=diff: the profiles of side b (parameters that end in _b) minus
 * the profiles of side a.
 */
static int query_diff(struct web *w, struct request *r, struct answer *a,
		      const struct report_request *query, struct err *err)
{
	struct query_merge_options o;
	struct query_merge base;
	struct query_merge source;
	int rc = check_single(query, err);

	if (!rc)
		rc = report_request_merging(query, &r->params, &o, err);
	if (rc)
		return rc;
	/* Of its own accord, only counters are compared by rate. */
	o.without_beats = query->normalize == NORMALIZE_AUTO;
	o.looked = query->normalize == NORMALIZE_RATE || o.without_beats;
	query_merge_init(&base, w->o.db, &a->work, &o);
	query_merge_init(&source, w->o.db, &a->work, &o);
	rc = gather_suffix(w, r, a, &base, "_a", err);
	if (!rc)
		rc = gather_suffix(w, r, a, &source, "_b", err);
	if (!rc)
		rc = answer_report(
			&(struct report_answer){
				w, r, a, query,
				adhoc_side_is(&r->params, "_a") ||
					adhoc_side_is(&r->params, "_b") },
			&source, &base, err);
	query_merge_fini(&base);
	query_merge_fini(&source);
	return rc;
}

/* Answer a query about two sides: their difference, or a comparison. */
static int query_sides(struct web *w, struct request *r, struct answer *a,
		       const struct report_request *query, struct err *err)
{
	int rc;

	if (!query->compare && !query->errors)
		return query_diff(w, r, a, query, err);
	if (adhoc_side_is(&r->params, "_a") || adhoc_side_is(&r->params, "_b"))
		return err_set(
			err, ERR_INVALID,
			"report=compare and the parameter \"errors\" need many profiles on each side, but an uploaded file is one profile: use mode=diff with a report other than \"compare\", without \"errors\"");
	rc = api_compare(w, r, a, query, err);
	/* A state has no error bars unless it is compared by share. */
	return query->errors && rc == ERR_UNSUPPORTED ?
		       query_diff(w, r, a, query, err) :
		       rc;
}

void api_query(void *ctx, struct request *r, struct answer *a)
{
	struct report_request query;
	struct str mode;
	struct str report;
	bool document = !params_find(&r->params, "report", &report) ||
			str_is(report, "proto") || str_is(report, "raw");
	bool diff = params_find(&r->params, "mode", &mode) &&
		    str_is(mode, "diff");
	struct err err;
	int rc = report_request_parse(&query, &r->params, &err);

	if (!rc)
		rc = diff ? query_sides(ctx, r, a, &query, &err) :
			    query_side(ctx, r, a, &query, &err);
	if (rc && r->is_go && document)
		answer_pprof_error(a, &err);
	else if (rc)
		answer_error(a, &err);
}
