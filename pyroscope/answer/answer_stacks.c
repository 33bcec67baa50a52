/* SPDX-License-Identifier: Apache-2.0 */
#include "pyroscope/answer/answer_stacks.h"

#include "base/enc.h"
#include "base/wire.h"
#include "base/wire_write.h"
#include "pprof/profile/profile_order.h"
#include "pprof/proto/encode.h"
#include "pprof/report/flame.h"
#include "pprof/report/flame_levels.h"
#include "pprof/report/pgo.h"
#include "pprof/report/report.h"
#include "pyroscope/answer/sample_filter.h"
#include "pyroscope/names/profile_uuid.h"
#include "pyroscope/wire/messages.h"
#include "query/merge/query_merge.h"
#include "query/merge/symbolize.h"

enum {
	/* Largest number of nodes of a flame graph, as in Pyroscope. */
	NODES_MAX = 1048576,
	NODES_DEFAULT = 8192,
	/* Nodes of a graph in the language DOT. */
	DOT_NODES = 100,
	/* How many bytes a number of a level has at most. */
	LEVEL_BYTES = 10
};

/* The merge of the profiles of a request. */
struct stacks {
	struct pyroscope_call *call;
	const struct profile_request *request;
	struct profile_query query;
	struct query_merge_options merging;
	struct query_merge merge;
	struct sample_filter filter;
	struct profile_uuids ids;      /* none: all profiles are merged */
	struct report_options options; /* of the report */
	bool has_profiles;
};

/* Free what stacks_read() and stacks_merge() have made. */
static void stacks_fini(struct stacks *s)
{
	if (s->merge.merge)
		query_merge_fini(&s->merge);
	sample_filter_fini(&s->filter);
	profile_uuids_fini(&s->ids);
	profile_query_fini(&s->query);
}

/* Read which profiles, stacks and samples the request selects. */
static int stacks_read_filters(struct stacks *s, struct err *err)
{
	const struct request_texts *ids = &s->request->profile_ids;
	int rc = sample_filter_read(&s->filter, s->request, err);

	if (!rc && ids->count)
		rc = profile_uuids_parse(ids->v, ids->count, &s->ids, err);
	return rc;
}

/* Implement query_spec.keep. */
static bool stacks_keep(void *ctx, const struct labels *ls)
{
	struct stacks *s = ctx;

	return profile_query_keep(&s->query, ls) &&
	       (!s->ids.count ||
		profile_uuids_has_series(&s->ids, labels_digest(ls)));
}

/* Implement query_spec.pick. */
static bool stacks_pick(void *ctx, const struct labels *ls, int64_t ms)
{
	const struct stacks *s = ctx;

	return profile_uuids_has(&s->ids, labels_digest(ls), ms);
}

/* Read how many nodes the request wants. */
static int stacks_read_nodes(struct stacks *s, struct err *err)
{
	int64_t max = s->request->max_nodes;

	if (max < 0 || max > NODES_MAX)
		return err_set(err, ERR_INVALID,
			       "max_nodes must be between 0 and %d", NODES_MAX);
	s->options.max_nodes = max ? max : NODES_DEFAULT;
	return 0;
}

/* Read a request. The caller calls stacks_fini() in any case. */
static int stacks_read(struct stacks *s, struct pyroscope_call *c,
		       const struct profile_request *r, struct err *err)
{
	const struct sample_label_test samples = call_sample_labels(c);
	int rc;

	*s = (struct stacks){ .call = c, .request = r };
	report_options_init(&s->options);
	rc = profile_query_parse(&s->query, &samples, r->type_id, r->selector,
				 err);
	if (!rc && !s->query.has_id)
		rc = err_set(err, ERR_INVALID, "the profile type is missing");
	if (!rc && r->end < r->start)
		rc = err_set(err, ERR_INVALID,
			     "the start must not be after the end");
	if (!rc)
		rc = stacks_read_nodes(s, err);
	if (!rc)
		rc = stacks_read_filters(s, err);
	s->merging = (struct query_merge_options){
		.aggregate = AGGREGATE_AUTO,
		.project = &s->query.id.value,
		.period = &s->query.id.period,
	};
	return rc;
}

/*
 * Merge the profiles. That there are none is no error: has_profiles stays false.
 * ERR_TIMEOUT, ERR_CLOSED: there was time for a part only; Grafana shows errors,
 * but no warnings.
 */
static int stacks_merge(struct stacks *s, struct err *err)
{
	const struct query_spec spec = {
		.any = s->query.any,
		.any_count = s->query.any_count,
		.keep = stacks_keep,
		.keep_ctx = s,
		.pick = s->ids.count ? stacks_pick : NULL,
		.pick_ctx = s,
		.sample_matchers = s->query.sample_matchers,
		.sample_count = s->query.sample_count,
		.merged = true,
		.from = s->request->start,
		.to = s->request->end
	};
	const char *warnings[2] = { NULL };
	int rc;

	if (s->query.is_empty)
		return 0;
	query_merge_init(&s->merge, s->call->db, s->call->work, &s->merging);
	rc = query_merge_run(&s->merge, &spec, err);
	if (rc == ERR_NOTFOUND)
		return 0;
	if (rc)
		return rc;
	if (s->merge.late)
		return err_set(
			err, s->merge.late_why.code,
			"%s, after %zu profiles; select a shorter range or fewer series",
			s->merge.late_why.msg, s->merge.profiles);
	if (query_merge_warnings(&s->merge, s->call->arena, warnings, 2))
		s->call->warning = warnings[0];
	s->has_profiles = true;
	return 0;
}

/* Give names to the addresses of a profile. */
static int stacks_symbolize(struct stacks *s, struct pprof *p, struct err *err)
{
	struct symbolize names = { .symbolizer = s->call->symbolizer };

	int rc = query_merge_symbolize(&s->merge, &names, p, err);

	/* Without a name, a frame would count as that of another function. */
	if (!rc && names.late.code && sample_filter_is_set(&s->filter))
		rc = err_set(err, names.late.code,
			     "functions could not be named: %s",
			     names.late.msg);
	return rc;
}

/*
 * Finish the merge: give names to the addresses, and remove the samples that the
 * request does not select.
 */
static int stacks_finish(struct stacks *s, struct pprof **p, struct err *err)
{
	struct limits limits = query_merge_limits(&s->merge);
	int rc = query_merge_finish(&s->merge, p, err);

	if (!rc)
		rc = stacks_symbolize(s, *p, err);
	if (!rc && sample_filter_is_set(&s->filter))
		rc = sample_filter_apply(&s->filter, *p, &limits, err);
	return rc;
}

/* Write the numbers of a level as a packed field. */
static void stacks_write_level(struct buf *out, const int64_t *v, size_t n)
{
	size_t size = 0;
	struct buf level = { 0 };

	for (size_t i = 0; i < n; i++)
		size += wire_varint_len((uint64_t)v[i]);
	wire_write_begin(&level, 1, size);
	for (size_t i = 0; i < n; i++)
		enc_uvarint(&level, (uint64_t)v[i]);
	wire_write_bytes(out, 2, buf_bytes(&level));
	buf_fini(&level);
}

/*
 * Append the message FlameGraph of a report to `out`, or FlameGraphDiff if
 * `is_diff` is set.
 */
static int stacks_write_levels(struct report *r, bool is_diff, struct buf *out,
			       struct err *err)
{
	struct flame f = { .has_base = false };
	struct flame_levels l = { .total = 0 };
	int rc = flame_init(&f, r, FLAME_INWARDS, r->o->max_nodes, err);

	/* Without profiles of the base, nothing in the tree tells of a difference. */
	f.has_base = is_diff;
	if (!rc)
		rc = flame_levels_init(&l, r, &f, err);
	if (!rc)
		/* Twice, as it is copied to the answer; few numbers are long. */
		rc = limits_spend(&r->o->limits,
				  2 * (l.values.count * LEVEL_BYTES +
				       strtab_memory(&l.strings)),
				  err);
	for (uint32_t i = 1; !rc && i < l.strings.strings.count; i++)
		wire_write_bytes(out, 1, bytes_of(strtab_get(&l.strings, i)));
	for (size_t i = 0; !rc && i < l.starts.count; i++) {
		struct pprof_run run = flame_level(&l, i);

		stacks_write_level(out, l.values.v + run.first, run.count);
	}
	wire_write_number(out, 3, (uint64_t)l.total);
	wire_write_number(out, 4, (uint64_t)l.max_self);
	if (f.has_base) {
		wire_write_number(out, 5, (uint64_t)l.base_total);
		wire_write_number(out, 6, (uint64_t)l.now_total);
	}
	flame_levels_fini(&l);
	flame_fini(&f);
	return rc;
}

/* Write the flame graph of a profile as field 1 of the answer. */
static int stacks_write_flame(struct stacks *s, struct pprof *p, bool is_diff,
			      struct err *err)
{
	struct buf flame = { 0 };
	struct report r;
	int rc;

	s->options.limits = query_merge_limits(&s->merge);
	rc = report_init(&r, REPORT_FLAMEGRAPH, p, &s->options, err);
	if (rc)
		return rc;
	rc = stacks_write_levels(&r, is_diff, &flame, err);
	report_fini(&r);
	if (!rc)
		wire_write_bytes(s->call->out, 1, buf_bytes(&flame));
	buf_fini(&flame);
	return rc;
}

/* Write a graph in the language DOT as field 3 of the answer. */
static int stacks_write_dot(struct stacks *s, struct pprof *p, struct err *err)
{
	const struct report_type *dot = report_find(str_of("dot"));
	struct buf text = { 0 };
	struct report r;
	int rc;

	s->options.node_count = s->request->has_max_nodes &&
						s->request->max_nodes ?
					s->request->max_nodes :
					DOT_NODES;
	s->options.limits = query_merge_limits(&s->merge);
	rc = report_init(&r, dot->kind, p, &s->options, err);
	if (rc)
		return rc;
	rc = dot->write(&r, &text, err);
	report_fini(&r);
	if (!rc)
		wire_write_bytes(s->call->out, 3, buf_bytes(&text));
	buf_fini(&text);
	return rc;
}

/*
 * Append a profile to `out`, uncompressed, in canonical order; of a Go program, only
 * what its compiler needs, if the request wants that.
 */
static int stacks_encode(struct stacks *s, struct pprof *p, struct buf *out,
			 struct err *err)
{
	struct limits limits = query_merge_limits(&s->merge);
	struct merge *slim = merge_new();
	int rc = pprof_order(p, &limits, err);

	if (!rc)
		rc = query_take(s->call->work, (int64_t)pprof_memory(p) * 2,
				err);
	if (!rc && s->request->stacks.go_pgo)
		rc = pprof_pgo(slim, p, &p, err);
	if (!rc)
		pprof_encode(p, out);
	merge_free(slim);
	return rc;
}

/* Write a profile as the field 5 of the answer. */
static int stacks_write_pprof(struct stacks *s, struct pprof *p,
			      struct err *err)
{
	struct buf raw = { 0 };
	struct buf inner = { 0 };
	int rc = stacks_encode(s, p, &raw, err);

	if (!rc) {
		wire_write_bytes(&inner, 1, buf_bytes(&raw));
		wire_write_bytes(s->call->out, 5, buf_bytes(&inner));
	}
	buf_fini(&raw);
	buf_fini(&inner);
	return rc;
}

/* Write the merged profile in the format of the request. */
static int stacks_write(struct stacks *s, struct err *err)
{
	struct pprof *p;
	int rc = stacks_finish(s, &p, err);

	if (rc)
		return rc;
	if (s->request->format == FORMAT_DOT)
		return stacks_write_dot(s, p, err);
	if (s->request->format == FORMAT_PPROF)
		return stacks_write_pprof(s, p, err);
	return stacks_write_flame(s, p, false, err);
}

int answer_stacktraces(struct pyroscope_call *c, struct err *err)
{
	int64_t format = c->request.format;
	struct stacks s;
	int rc;

	if (format != FORMAT_UNSPECIFIED && format != FORMAT_FLAMEGRAPH &&
	    format != FORMAT_DOT && format != FORMAT_PPROF)
		return err_set(err, ERR_UNSUPPORTED,
			       "the format %lld is not supported",
			       (long long)format);
	rc = stacks_read(&s, c, &c->request, err);
	if (!rc)
		rc = stacks_merge(&s, err);
	if (!rc && s.has_profiles)
		rc = stacks_write(&s, err);
	stacks_fini(&s);
	return rc;
}

int answer_profile(struct pyroscope_call *c, struct err *err)
{
	struct pprof *p;
	struct stacks s;
	int rc = stacks_read(&s, c, &c->request, err);

	if (!rc)
		rc = stacks_merge(&s, err);
	if (!rc && s.has_profiles)
		rc = stacks_finish(&s, &p, err);
	if (!rc && s.has_profiles)
		rc = stacks_encode(&s, p, c->out, err);
	stacks_fini(&s);
	return rc;
}

/* Read and merge one side of a difference. */
static int stacks_read_side(struct stacks *s, struct pyroscope_call *c,
			    struct bytes message, struct profile_request *r,
			    const char *side, struct err *err)
{
	int rc = request_read(&request_stacktraces, message, r, err);

	if (!rc)
		rc = stacks_read(s, c, r, err);
	if (!rc)
		rc = stacks_merge(s, err);
	return rc ? err_wrap(err, rc, "%s", side) : 0;
}

/* Make the difference of two profiles, of which each has its own filters. */
static int stacks_subtract(struct stacks *left, struct stacks *right,
			   struct merge *both, struct pprof **out,
			   struct err *err)
{
	const struct merge_diff_options o = { .label_base = true };
	struct pprof *base = NULL;
	struct pprof *now = NULL;
	int rc = stacks_finish(left, &base, err);

	if (!rc)
		rc = stacks_finish(right, &now, err);
	/* The difference has the stacks of both sides. */
	if (!rc)
		rc = query_take(
			left->call->work,
			(int64_t)(pprof_memory(base) + pprof_memory(now)) * 2,
			err);
	return rc ? rc : merge_diff(both, now, base, &o, out, err);
}

/* Write the difference of two merges, of which one may be empty. */
static int stacks_write_diff(struct stacks *left, struct stacks *right,
			     struct err *err)
{
	static const double minus[] = { -1 };
	struct stacks *some = right->has_profiles ? right : left;
	struct merge *both = merge_new();
	struct pprof *p = NULL;
	int rc;

	if (left->has_profiles && right->has_profiles)
		rc = stacks_subtract(left, right, both, &p, err);
	else
		rc = stacks_finish(some, &p, err);
	if (!rc && !right->has_profiles) {
		pprof_set_label(p, str_of(PPROF_BASE_KEY),
				str_of(PPROF_BASE_VALUE));
		pprof_scale(p, minus);
	}
	if (left->options.max_nodes > some->options.max_nodes)
		some->options.max_nodes = left->options.max_nodes;
	if (!rc)
		rc = stacks_write_flame(some, p, true, err);
	merge_free(both);
	return rc;
}

int answer_diff(struct pyroscope_call *c, struct err *err)
{
	struct profile_request requests[2] = { 0 };
	struct stacks left = { 0 };
	struct stacks right = { 0 };
	int rc = stacks_read_side(&left, c, c->request.left, &requests[0],
				  "left", err);

	if (!rc)
		rc = stacks_read_side(&right, c, c->request.right, &requests[1],
				      "right", err);
	if (!rc && !profile_id_agree(&left.query.id, &right.query.id))
		rc = err_set(err, ERR_INVALID,
			     "the profile types of both sides must be equal");
	if (!rc && (left.has_profiles || right.has_profiles))
		rc = stacks_write_diff(&left, &right, err);
	stacks_fini(&left);
	stacks_fini(&right);
	request_fini(&requests[0]);
	request_fini(&requests[1]);
	return rc;
}

/*
 * Make a file the only profile of a merge. The caller calls stacks_fini() in any case;
 * `r` lives until then.
 */
static int stacks_open_file(struct stacks *s, struct pyroscope_call *c,
			    const struct stacks_file *f,
			    struct profile_request *r, struct err *err)
{
	int rc;

	*r = (struct profile_request){ .max_nodes = f->max_nodes };
	*s = (struct stacks){ .call = c, .request = r };
	report_options_init(&s->options);
	s->options.sample_index = f->type;
	rc = stacks_read_nodes(s, err);
	if (!rc)
		rc = stacks_read_filters(s, err);
	if (rc)
		return rc;
	query_merge_init(&s->merge, c->db, c->work, &s->merging);
	rc = query_merge_bytes(&s->merge, f->raw, err);
	s->has_profiles = !rc;
	return rc;
}

int answer_file_stacks(struct pyroscope_call *c, const struct stacks_file *f,
		       struct err *err)
{
	struct profile_request request;
	struct pprof *p;
	struct stacks s;
	int rc = stacks_open_file(&s, c, f, &request, err);

	if (!rc)
		rc = stacks_finish(&s, &p, err);
	if (!rc)
		rc = stacks_write_flame(&s, p, false, err);
	stacks_fini(&s);
	return rc;
}

int answer_file_diff(struct pyroscope_call *c, const struct stacks_file *base,
		     const struct stacks_file *now, struct err *err)
{
	struct profile_request requests[2];
	struct stacks left = { 0 };
	struct stacks right = { 0 };
	int rc = stacks_open_file(&left, c, base, &requests[0], err);

	if (!rc)
		rc = stacks_open_file(&right, c, now, &requests[1], err);
	if (!rc)
		rc = stacks_write_diff(&left, &right, err);
	stacks_fini(&left);
	stacks_fini(&right);
	return rc;
}
