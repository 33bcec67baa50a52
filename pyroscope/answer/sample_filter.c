/* SPDX-License-Identifier: Apache-2.0 */
#include "pyroscope/answer/sample_filter.h"

#include <ctype.h>

#include "base/mem.h"

_Static_assert(SAMPLE_FRAMES_MAX <= 64, "the frames are bits of a number");

/* Add names or expressions of functions. */
static int sample_filter_add(struct sample_filter *f,
			     const struct request_texts *texts,
			     bool is_excluded, bool is_regex, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < texts->count && !rc; i++) {
		struct sample_frame *frame = &f->frames[f->frame_count];

		if (f->frame_count == SAMPLE_FRAMES_MAX)
			return err_set(
				err, ERR_INVALID,
				"more than %d names and expressions of functions",
				SAMPLE_FRAMES_MAX);
		*frame =
			(struct sample_frame){ is_excluded, texts->v[i], NULL };
		f->frame_count++;
		if (is_regex)
			rc = regex_new_search(texts->v[i], &frame->regex, err);
		if (rc)
			return err_wrap(err, rc,
					"expression of functions \"%.*s\"",
					STR_ARG(str_clip(texts->v[i], 100)));
	}
	return rc;
}

/* ERR_INVALID: an id has not this many hexadecimal digits. */
static int sample_filter_check_ids(const struct request_texts *ids,
				   size_t digits, struct err *err)
{
	for (size_t i = 0; i < ids->count; i++) {
		struct str id = ids->v[i];
		bool ok = id.len == digits;

		for (size_t k = 0; k < id.len && ok; k++)
			ok = isxdigit((unsigned char)id.ptr[k]);
		if (!ok)
			return err_set(
				err, ERR_INVALID,
				"invalid id \"%.*s\": expected %zu hexadecimal digits",
				STR_ARG(str_clip(id, 64)), digits);
	}
	return 0;
}

int sample_filter_read(struct sample_filter *f, const struct profile_request *r,
		       struct err *err)
{
	const struct stack_selector *s = &r->stacks;
	int rc;

	*f = (struct sample_filter){ .span_ids = &r->span_ids,
				     .trace_ids = &r->trace_ids,
				     .has_sites = s->call_site.count };
	report_options_init(&f->sites);
	rc = sample_filter_add(f, &s->include_names, false, false, err);
	if (!rc)
		rc = sample_filter_add(f, &s->exclude_names, true, false, err);
	if (!rc)
		rc = sample_filter_add(f, &s->include_regexes, false, true,
				       err);
	if (!rc)
		rc = sample_filter_add(f, &s->exclude_regexes, true, true, err);
	if (!rc)
		rc = sample_filter_check_ids(f->span_ids, SPAN_DIGITS, err);
	if (!rc)
		rc = sample_filter_check_ids(f->trace_ids, TRACE_DIGITS, err);
	for (size_t i = 0; i < s->call_site.count && !rc; i++)
		rc = report_option(&f->sites, str_of("under"),
				   s->call_site.v[i], err);
	return rc;
}

bool sample_filter_is_set(const struct sample_filter *f)
{
	return f->frame_count || f->span_ids->count || f->trace_ids->count ||
	       f->has_sites;
}

/* Work on one profile. */
struct sample_filtering {
	const struct sample_filter *f;
	struct pprof *p;
	const struct limits *limits;
	struct growth_meter meter;
	uint64_t *functions; /* by function: which frames of the filter it is */
	bool *stacks;        /* which are kept */
	bool *label_sets;
};

/* Find out for each function which frames of the filter it is. */
static int sample_filter_judge(struct sample_filtering *x, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < x->p->functions.count && !rc; i++) {
		struct str name = pprof_str(x->p, x->p->functions.v[i].name);

		for (size_t k = 0; k < x->f->frame_count; k++) {
			const struct sample_frame *frame = &x->f->frames[k];

			if (frame->regex ? regex_matches(frame->regex, name) :
					   str_eq(frame->name, name))
				x->functions[i] |= (uint64_t)1 << k;
		}
		rc = limits_meter(x->limits, &x->meter,
				  x->f->frame_count * REGEX_WORK, 0, err);
	}
	for (size_t k = 0; k < x->f->frame_count && !rc; k++)
		rc = regex_check_steps(x->f->frames[k].regex,
				       "expression of functions", err);
	return rc;
}

/* Return which frames of the filter a stack has. */
static uint64_t sample_filter_frames(const struct sample_filtering *x,
				     struct pprof_run stack)
{
	const struct pprof *p = x->p;
	uint64_t has = 0;

	for (uint32_t i = 0; i < stack.count; i++) {
		const struct pprof_location *l =
			&p->locations.v[p->frames.v[stack.first + i]];

		for (uint32_t k = 0; k < l->lines.count; k++)
			has |= x->functions[p->lines.v[l->lines.first + k]
						    .function];
	}
	return has;
}

/* Mark the stacks that are kept. */
static int sample_filter_mark_stacks(struct sample_filtering *x,
				     struct err *err)
{
	uint64_t wanted = 0;
	uint64_t excluded = 0;
	int rc = sample_filter_judge(x, err);

	for (size_t k = 0; k < x->f->frame_count; k++) {
		uint64_t bit = (uint64_t)1 << k;

		*(x->f->frames[k].is_excluded ? &excluded : &wanted) |= bit;
	}
	for (size_t i = 0; i < x->p->stacks.count && !rc; i++) {
		struct pprof_run stack = x->p->stacks.v[i];
		uint64_t has = sample_filter_frames(x, stack);

		x->stacks[i] = (has & wanted) == wanted && !(has & excluded);
		rc = limits_meter(x->limits, &x->meter, 1 + stack.count, 0,
				  err);
	}
	return rc;
}

/* Whether a text is one of the ids; their digits may be upper case. */
static bool sample_filter_has_id(const struct request_texts *ids,
				 struct str text)
{
	for (size_t i = 0; i < ids->count; i++) {
		if (ids->v[i].len == text.len &&
		    !strncasecmp(ids->v[i].ptr, text.ptr, text.len))
			return true;
	}
	return false;
}

/* Whether a set of labels has one of the ids by one of these keys. */
static bool sample_filter_has_label(const struct sample_filtering *x,
				    struct pprof_run set,
				    const struct request_texts *ids,
				    const char *key, const char *other)
{
	for (uint32_t i = 0; i < set.count; i++) {
		const struct pprof_label *l = &x->p->labels.v[set.first + i];
		struct str name = pprof_str(x->p, l->key);

		if (!l->is_number &&
		    (str_is(name, key) || str_is(name, other)) &&
		    sample_filter_has_id(ids, pprof_str(x->p, l->str)))
			return true;
	}
	return false;
}

/* Mark the sets of labels that are kept. */
static int sample_filter_mark_labels(struct sample_filtering *x,
				     struct err *err)
{
	const struct request_texts *spans = x->f->span_ids;
	const struct request_texts *traces = x->f->trace_ids;
	int rc = 0;

	for (size_t i = 0; i < x->p->label_sets.count && !rc; i++) {
		struct pprof_run set = x->p->label_sets.v[i];

		x->label_sets[i] =
			(!spans->count ||
			 sample_filter_has_label(x, set, spans, "span_id",
						 "profile_id")) &&
			(!traces->count ||
			 sample_filter_has_label(x, set, traces, "trace_id",
						 "trace_id"));
		rc = limits_meter(
			x->limits, &x->meter,
			1 + set.count * (spans->count + traces->count), 0, err);
	}
	return rc;
}

/* Remove samples by their frames and labels. */
static int sample_filter_keep(const struct sample_filter *f, struct pprof *p,
			      const struct limits *limits, struct err *err)
{
	struct sample_filtering x = { .f = f, .p = p, .limits = limits };
	int rc = limits_spend(limits,
			      p->functions.count * sizeof(uint64_t) +
				      p->stacks.count + p->label_sets.count,
			      err);

	if (rc)
		return rc;
	x.functions = mem_zalloc(p->functions.count + 1, sizeof(uint64_t));
	x.stacks = mem_zalloc(p->stacks.count + 1, sizeof(bool));
	x.label_sets = mem_zalloc(p->label_sets.count + 1, sizeof(bool));
	rc = sample_filter_mark_stacks(&x, err);
	if (!rc)
		rc = sample_filter_mark_labels(&x, err);
	if (!rc)
		pprof_keep(p, x.stacks, x.label_sets);
	mem_free(x.functions);
	mem_free(x.stacks);
	mem_free(x.label_sets);
	return rc;
}

/* Remove samples by the functions with which their stacks begin. */
static int sample_filter_keep_sites(struct sample_filter *f, struct pprof *p,
				    const struct limits *limits,
				    struct err *err)
{
	struct report r;
	int rc;

	/* The report itself is not used: its options filter the profile. */
	f->sites.limits = *limits;
	rc = report_init(&r, REPORT_TRACES, p, &f->sites, err);
	if (!rc)
		report_fini(&r);
	return rc;
}

int sample_filter_apply(struct sample_filter *f, struct pprof *p,
			const struct limits *limits, struct err *err)
{
	int rc = sample_filter_keep(f, p, limits, err);

	return rc || !f->has_sites ?
		       rc :
		       sample_filter_keep_sites(f, p, limits, err);
}

void sample_filter_fini(struct sample_filter *f)
{
	for (size_t i = 0; i < f->frame_count; i++)
		regex_free(f->frames[i].regex);
}
