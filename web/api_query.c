/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /api/v1/query_range: which profiles are there? /api/v1/query: this one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/gzip.h"
#include "base/mem.h"
#include "model/selector.h"
#include "pprof/scan.h"
#include "web/context.h"

#define SEARCH_MS         (5LL * 60 * 1000) /* how far `time` may be off */
#define GZIP_LEVEL        6
#define LABELS_HEADER_MAX ((size_t)16 * KIB) /* no header is longer */
/* A profile in memory, and its report beside it. */
#define COPIES 3

static void write_series(struct json *j, struct labels *labels,
			 const struct times_view *t)
{
	json_begin(j, '{');
	json_key(j, "labels");
	labels_json(labels, j);
	json_key(j, "timestamps");
	json_begin(j, '[');
	for (size_t i = 0; i < t->count; i++)
		json_int(j, t->ms[i]);
	json_end(j, ']');
	json_end(j, '}');
}

struct range_query {
	struct selector selector;
	int64_t from;
	int64_t to;
	int64_t limit; /* 0: all */
};

/* Each selected series that has profiles in the range. */
static int list_series(struct request *r, const struct range_query *rq,
		       struct querier *q, struct answer *a, bool *more,
		       struct err *err)
{
	struct json j = envelope_begin(a);
	int64_t written = 0;
	int rc = 0;

	json_begin(&j, '[');
	for (size_t i = 0; i < querier_count(q) && !rc && !*more; i++) {
		struct times_view t = { 0 };

		rc = check_deadline(r, err);
		if (!rc)
			rc = querier_times(q, i, rq->from, rq->to, &t, err);
		if (rc || !t.count)
			continue;
		*more = rq->limit && written == rq->limit;
		if (*more)
			break;
		write_series(&j, querier_labels(q, i), &t);
		written++;
		rc = answer_account(a, err);
	}
	json_end(&j, ']');
	if (!rc) {
		CLEANUP(mem_freep)
		char *text = mem_printf("retrieved %" PRId64
					" series, more available",
					rq->limit);
		const struct err *lost = querier_lost(q);
		const char *warnings[3] = { NULL };
		size_t n = 0;

		if (*more)
			warnings[n++] = text;
		if (lost)
			warnings[n] = lost->msg;

		envelope_end(&j, a, warnings);
	}
	return rc;
}

static int refuse_totals(const struct request *r, struct err *err)
{
	static const char *const names[] = { "totals", "step", "group_by" };
	struct str s;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (request_param(r, names[i], &s) && s.len && !str_is(s, "0"))
			return err_set(err, ERR_UNSUPPORTED,
				       "parameter \"%s\" is not supported yet",
				       names[i]);
	}
	return 0;
}

void api_query_range(void *ctx, struct request *r, struct answer *a)
{
	struct web *w = ctx;
	struct range_query rq = { 0 };
	struct querier *q = NULL;
	struct str text;
	bool more = false;
	struct err err;
	int rc = param_required(r, "query", &text, &err);

	if (!rc)
		rc = selector_parse(text, &rq.selector, &err);
	if (!rc)
		rc = param_range(r, TIME_REQUIRED, TIME_REQUIRED, &rq.from,
				 &rq.to, &err);
	if (!rc)
		rc = param_count(r, "limit", 0, &rq.limit, &err);
	if (!rc)
		rc = refuse_totals(r, &err);
	if (!rc) {
		querier_open(w->o.db, &q);
		querier_select(q, rq.selector.matchers, rq.selector.count,
			       rq.from, rq.to);
		rc = answer_take(a, (int64_t)querier_memory(q), &err);
		if (!rc)
			rc = list_series(r, &rq, q, a, &more, &err);
	}
	querier_close(q);
	selector_fini(&rq.selector);
	if (rc)
		answer_error(a, &err);
}

/* One profile. */

enum match {
	MATCH_AFTER,
	MATCH_EXACT,
	MATCH_BEFORE
};

struct single_query {
	struct selector selector;
	int64_t time;
	enum match match;
};

static int parse_match(const struct request *r, enum match *out,
		       struct err *err)
{
	struct str s;

	*out = MATCH_AFTER;
	if (!request_param(r, "match", &s) || !s.len || str_is(s, "after"))
		return 0;
	if (str_is(s, "exact"))
		*out = MATCH_EXACT;
	else if (str_is(s, "before"))
		*out = MATCH_BEFORE;
	else
		return err_set(
			err, ERR_INVALID,
			"parameter \"match\" is after, exact or before, not \"%.*s\"",
			STR_ARG(s));
	return 0;
}

static int64_t saturate(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

static void window(const struct single_query *s, int64_t *from, int64_t *to)
{
	*from = s->match == MATCH_BEFORE ? saturate(s->time, -SEARCH_MS) :
					   s->time;
	*to = s->match == MATCH_AFTER ? saturate(s->time, SEARCH_MS) : s->time;
}

/*
 * The nearest profile to the time, among series the first in label order.
 * 1: *series and *ms are set.
 */
static int find_nearest(struct request *r, const struct single_query *s,
			struct querier *q, size_t *series, int64_t *ms,
			struct err *err)
{
	int64_t best = -1;
	int64_t from;
	int64_t to;

	window(s, &from, &to);
	for (size_t i = 0; i < querier_count(q); i++) {
		struct times_view t = { 0 };
		int64_t found;
		int rc = check_deadline(r, err);

		if (!rc)
			rc = querier_times(q, i, from, to, &t, err);
		if (rc)
			return rc;
		if (!t.count)
			continue;
		found = t.ms[s->match == MATCH_BEFORE ? t.count - 1 : 0];
		if (best < 0 || llabs(found - s->time) < best) {
			best = llabs(found - s->time);
			*series = i;
			*ms = found;
		}
	}
	return best >= 0;
}

static void write_meta(struct json *j, const struct profile *p,
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

static int report_meta(struct answer *a, const struct profile *p,
		       struct labels *labels, struct err *err)
{
	struct scanner *scanner = scanner_new();
	struct scan *scan = mem_new(struct scan);
	int rc = scanner_run(scanner, buf_bytes(&p->raw), scan, err);

	if (!rc) {
		struct json j = envelope_begin(a);

		write_meta(&j, p, labels, scan);
		envelope_end(&j, a, NULL);
	}
	scanner_free(scanner);
	mem_free(scan);
	return rc;
}

/* "bytes=a-b", "bytes=a-", "bytes=-n"; anything else is no range. */
static bool parse_range(const char *header, uint64_t size, uint64_t *first,
			uint64_t *last)
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

/* The bytes that came in, as they are; ETag, Range. */
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
	if (!parse_range(r->range, size, &first, &last)) {
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

static void report_proto(struct request *r, struct answer *a,
			 const struct profile *p, struct labels *labels)
{
	struct str type = labels_get(labels, str_of(LABEL_NAME));
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

static void identify(struct request *r, struct answer *a,
		     const struct profile *p, struct labels *labels)
{
	struct buf b = { 0 };
	struct json j = json_init(&b);

	labels_json(labels, &j);
	if (b.len <= LABELS_HEADER_MAX)
		answer_header(
			a, "X-Everprof-Labels",
			arena_strndup(&r->arena, str_from(buf_bytes(&b))));
	answer_header(a, "X-Everprof-Timestamp",
		      arena_printf(&r->arena, "%" PRId64, p->ms));
	buf_fini(&b);
}

static bool known_report(struct str s)
{
	static const char *const names[] = {
		"top", "flamegraph", "folded", "traces",     "tree", "peek",
		"dot", "svg",        "source", "speedscope", "pgo",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (str_is(s, names[i]))
			return true;
	}
	return false;
}

static int check_report(const struct request *r, struct str *report,
			struct err *err)
{
	if (!request_param(r, "report", report) || !report->len)
		*report = str_of("proto");
	if (str_is(*report, "raw") || str_is(*report, "proto") ||
	    str_is(*report, "meta"))
		return 0;
	if (known_report(*report))
		return err_set(
			err, ERR_UNSUPPORTED,
			"report \"%.*s\" is not supported yet: take proto and go tool pprof",
			STR_ARG(*report));
	return err_set(err, ERR_INVALID, "there is no report \"%.*s\"",
		       STR_ARG(*report));
}

static int check_mode(const struct request *r, struct err *err)
{
	struct str mode;

	if (!request_param(r, "mode", &mode) || !mode.len ||
	    str_is(mode, "single"))
		return 0;
	if (str_is(mode, "merge") || str_is(mode, "diff"))
		return err_set(err, ERR_UNSUPPORTED,
			       "mode \"%.*s\" is not supported yet",
			       STR_ARG(mode));
	return err_set(
		err, ERR_INVALID,
		"parameter \"mode\" is single, merge or diff, not \"%.*s\"",
		STR_ARG(mode));
}

static int answer_profile(struct request *r, struct querier *q, size_t series,
			  int64_t ms, struct answer *a, struct err *err)
{
	struct labels *labels = querier_labels(q, series);
	struct profile p = { 0 };
	struct str report;
	uint32_t raw_len;
	uint64_t hash;
	int rc = check_report(r, &report, err);

	if (!rc)
		rc = querier_stat(q, series, ms, &hash, &raw_len, err);
	if (!rc)
		rc = answer_take(a, (int64_t)raw_len * COPIES, err);
	if (!rc)
		rc = querier_fetch(q, series, ms, &p, err);
	if (!rc) {
		identify(r, a, &p, labels);
		if (str_is(report, "meta"))
			rc = report_meta(a, &p, labels, err);
		else if (str_is(report, "raw"))
			report_raw(r, a, &p);
		else
			report_proto(r, a, &p, labels);
	}
	profile_fini(&p);
	return rc;
}

static int find_and_answer(struct web *w, struct request *r,
			   const struct single_query *s, struct answer *a,
			   struct err *err)
{
	CLEANUP(querier_closep) struct querier *q = NULL;
	size_t series = 0;
	int64_t from;
	int64_t to;
	int64_t ms = 0;
	int rc;

	window(s, &from, &to);
	querier_open(w->o.db, &q);
	querier_select(q, s->selector.matchers, s->selector.count, from, to);
	rc = answer_take(a, (int64_t)querier_memory(q), err);
	if (rc)
		return rc;
	rc = find_nearest(r, s, q, &series, &ms, err);
	if (!rc && querier_lost(q))
		return err_set(err, ERR_CORRUPT, "%s", querier_lost(q)->msg);
	if (!rc)
		return err_set(err, ERR_NOTFOUND,
			       "no profile of this selector %s %" PRId64,
			       s->match == MATCH_EXACT ? "at" :
							 "within 5 minutes of",
			       s->time);
	return rc < 0 ? rc : answer_profile(r, q, series, ms, a, err);
}

void api_query(void *ctx, struct request *r, struct answer *a)
{
	static const struct time_param time = { "time", NULL, TIME_REQUIRED };
	struct single_query s = { 0 };
	struct str text;
	struct str report;
	struct err err;
	int rc = check_mode(r, &err);

	if (!rc)
		rc = check_report(r, &report, &err);
	if (!rc)
		rc = param_required(r, "query", &text, &err);
	if (!rc)
		rc = selector_parse(text, &s.selector, &err);
	if (!rc)
		rc = param_time(r, &time, &s.time, &err);
	if (!rc)
		rc = parse_match(r, &s.match, &err);
	if (!rc)
		rc = find_and_answer(ctx, r, &s, a, &err);
	selector_fini(&s.selector);
	if (rc)
		answer_error(a, &err);
}
