/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/compare/compare_json.h"

#include <math.h>

/* Significant digits of a number: more would claim a precision that is none. */
#define COMPARE_DIGITS 8

static const char *const names[] = {
	[COMPARE_SHARE] = "share",
	[COMPARE_RATE] = "rate",
	[COMPARE_LEVEL] = "level",
};

/* The name of what is compared: share, rate or level; a constant. */
static const char *compare_by_name(enum compare_by by)
{
	return names[by];
}

int compare_by_parse(struct str s, enum compare_by *out, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (str_is(s, names[i])) {
			*out = (enum compare_by)i;
			return 0;
		}
	}
	return err_set(
		err, ERR_INVALID,
		"\"by\" must be auto, share, rate or level, not \"%.*s\"",
		STR_ARG(s));
}

static void write_number(struct json *j, const char *key, double v)
{
	json_key(j, key);
	json_rounded(j, v, COMPARE_DIGITS);
}

/* Write what a test says about a value. */
static void write_verdict(struct json *j, const struct compare_value *v)
{
	write_number(j, "se", sqrt(v->e.variance));
	write_number(j, "df", v->e.degrees);
	write_number(j, "interval", estimate_interval(&v->e));
	write_number(j, "p", v->e.p);
	write_number(j, "p_all", v->p_all);
	write_number(j, "visible", v->visible);
	json_key(j, "sure");
	json_bool(j, v->sure);
	if (!v->e.instances)
		return;
	json_key(j, "agree");
	json_begin(j, '[');
	json_int(j, v->e.agree);
	json_int(j, v->e.instances);
	json_end(j, ']');
	write_number(j, "biggest_part", v->e.biggest_part);
}

/* Write the flat or the cumulative value of a row, or the total. */
static void write_value(struct json *j, const char *key,
			const struct compare_value *v)
{
	json_key(j, key);
	json_begin(j, '{');
	write_number(j, "a", v->e.ratio[ESTIMATE_BASE]);
	write_number(j, "b", v->e.ratio[ESTIMATE_NEW]);
	write_number(j, "delta", v->e.delta);
	json_key(j, "tested");
	json_bool(j, v->p_all <= 1);
	if (v->p_all <= 1)
		write_verdict(j, v);
	json_end(j, '}');
}

static void write_row(const struct compare_row *r, const struct nodes *nodes,
		      struct json *j)
{
	const struct node *n = &nodes->v.v[r->node];

	json_begin(j, '{');
	json_key(j, "name");
	json_str(j, n->text);
	json_key(j, "file");
	json_str(j, pprof_str(nodes->p, n->file));
	write_value(j, "flat", &r->flat);
	write_value(j, "cum", &r->cum);
	json_end(j, '}');
}

void compare_doubts_json(const struct compare *c,
			 const struct compare_result *r, struct json *j)
{
	json_key(j, "few_buckets");
	json_bool(j, r->few_buckets);
	json_key(j, "bursty");
	json_bool(j, r->bursty);
	json_key(j, "drift");
	json_bool(j, c->is_state);
	json_key(j, "few_instances");
	json_bool(j, !r->same_instances && (r->instances[ESTIMATE_BASE] < 3 ||
					    r->instances[ESTIMATE_NEW] < 3));
}

/* Write two counts, that of the base first. */
static void write_sides(struct json *j, const char *key,
			const size_t counts[ESTIMATE_SIDES])
{
	json_key(j, key);
	json_begin(j, '[');
	json_int(j, (int64_t)counts[ESTIMATE_BASE]);
	json_int(j, (int64_t)counts[ESTIMATE_NEW]);
	json_end(j, ']');
}

/* Write what was compared. */
static void write_comparison(const struct compare_head *head,
			     const struct compare *c,
			     const struct compare_result *r, struct json *j)
{
	json_key(j, "sample_type");
	json_str(j, head->type);
	json_key(j, "unit");
	json_str(j, head->unit);
	json_key(j, "kind");
	json_text(j, head->kind);
	json_key(j, "by");
	json_text(j, compare_by_name(c->by));
	write_number(j, "alpha", c->alpha);
	write_sides(j, "profiles", head->profiles);
	json_key(j, "damaged");
	json_int(j, (int64_t)head->damaged);
	write_sides(j, "instances", r->instances);
	json_key(j, "same_instances");
	json_bool(j, r->same_instances);
	write_sides(j, "buckets", r->buckets);
	write_number(j, "bucket_seconds", head->bucket_s * (double)r->joined);
}

int compare_json(const struct compare_head *head, const struct compare *c,
		 const struct compare_result *r, struct json *j,
		 struct err *err)
{
	struct growth_meter meter = { 0 };
	size_t n = head->max && head->max < r->rows.count ? head->max :
							    r->rows.count;
	int rc = 0;

	json_begin(j, '{');
	write_comparison(head, c, r, j);
	compare_doubts_json(c, r, j);
	json_key(j, "tested");
	json_int(j, (int64_t)r->tested);
	json_key(j, "few");
	json_int(j, (int64_t)r->few);
	json_key(j, "functions");
	json_int(j, (int64_t)r->rows.count);
	if (c->by != COMPARE_SHARE)
		write_value(j, "total", &r->total);
	json_key(j, "rows");
	json_begin(j, '[');
	for (size_t i = 0; i < n && !rc; i++) {
		write_row(&r->rows.v[i], head->nodes, j);
		rc = limits_meter(head->limits, &meter, 64, 0, err);
	}
	json_end(j, ']');
	json_end(j, '}');
	return rc;
}
