/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/query/compare_files.h"

#include "cmd/cli/file_reader.h"
#include "cmd/query/report_flags.h"
#include "pprof/report/report.h"

/* Files, while they are read. */
struct files {
	const struct compare_files *o;
	struct file_reader reader;
	struct compare compare;
	struct compare_type values;
	size_t type;   /* index of the sample type */
	bool has_type; /* the first file was read */
	int side;
	size_t profiles[ESTIMATE_SIDES];
};

/* The texts of a sample type or of the period. */
static struct value_type type_texts(const struct pprof *p, struct pprof_type t)
{
	return (struct value_type){ .type = pprof_str(p, t.type),
				    .unit = pprof_str(p, t.unit) };
}

/* Decide from the first file what is compared. */
static int compare_files_begin(struct files *f, const struct pprof *p,
			       struct err *err)
{
	struct compare *c = &f->compare;
	struct value_type type;
	struct value_type period;
	int rc =
		pprof_type_index(p, f->o->options->sample_index, &f->type, err);

	if (rc)
		return rc;
	type = type_texts(p, p->types.v[f->type]);
	period = type_texts(p, p->period_type);
	f->values = compare_type_of(&type, &period, p->duration_ns > 0);
	c->by = f->o->by_kind ? compare_by_kind(f->values.kind) : f->o->by;
	f->has_type = true;
	return 0;
}

/* merge_collected() callback. */
static void compare_files_take(void *ctx, uint32_t sample, int64_t value)
{
	struct files *f = ctx;
	uint32_t column =
		(uint32_t)f->profiles[f->side] * 2 + (uint32_t)f->side;

	cells_add(&f->compare.buckets, sample, column, value);
	cells_add(&f->compare.instances, sample, (uint32_t)f->side, value);
}

/* file_reader callback: a file is a bucket. */
static int compare_files_added(void *ctx, const struct pprof *p,
			       struct err *err)
{
	struct files *f = ctx;
	struct compare *c = &f->compare;
	uint32_t column =
		(uint32_t)f->profiles[f->side] * 2 + (uint32_t)f->side;
	double divisor = 1;
	int rc = f->has_type ? 0 : compare_files_begin(f, p, err);

	if (rc)
		return rc;
	if (c->by == COMPARE_RATE) {
		if (p->duration_ns <= 0)
			return err_set(
				err, ERR_INVALID,
				"the profile has no duration, so its values have no rate: use --by=level");
		divisor = (double)p->duration_ns / 1e9;
	}
	merge_collected(f->reader.merge, f->type, 1, compare_files_take, f);
	*compare_divisor(c, false, column) = divisor;
	*compare_divisor(c, true, (uint32_t)f->side) += divisor;
	f->profiles[f->side]++;
	return 0;
}

/* Read the files of both sides. */
static int compare_files_read(struct files *f, struct err *err)
{
	int rc = 0;

	for (f->side = 0; f->side < ESTIMATE_SIDES && !rc; f->side++) {
		const struct compare_files *o = f->o;

		for (size_t i = 0; i < o->counts[f->side] && !rc; i++)
			rc = file_reader_read(&f->reader, o->paths[f->side][i],
					      err);
		if (!rc && !f->profiles[f->side])
			rc = err_set(err, ERR_NOTFOUND,
				     "%s contains no profiles",
				     o->paths[f->side][0]);
	}
	return rc;
}

/* Compare what was read. */
static int compare_files_finish(struct files *f, struct buf *out,
				struct err *err)
{
	struct pprof *p = merge_number(f->reader.merge, f->type);
	struct report_options o = *f->o->options;
	struct compare_result result;
	struct report r;
	struct compare_head head = {
		.type = pprof_str(p, p->types.v[0].type),
		.unit = pprof_str(p, p->types.v[0].unit),
		.kind = value_kind_name(f->values.kind),
		.profiles = { f->profiles[ESTIMATE_BASE],
			      f->profiles[ESTIMATE_NEW] },
		.nodes = &r.nodes,
		.limits = &o.limits,
	};
	struct json j = json_init(out);
	int rc;

	f->compare.period = compare_type_period(&f->values, p->period);
	o.sample_index = (struct str){ 0 };
	rc = report_init(&r, REPORT_TOP, p, &o, err);
	if (rc)
		return rc;
	report_flags_warn(&r.unmatched);
	rc = compare_run(&f->compare, p, &r.nodes, &o.limits, &result, err);
	if (!rc) {
		rc = compare_json(&head, &f->compare, &result, &j, err);
		compare_result_fini(&result);
	}
	report_fini(&r);
	return rc;
}

int compare_files(const struct compare_files *o, struct buf *out,
		  struct err *err)
{
	struct files f = { .o = o,
			   .compare = { .runs = true,
					.alpha = o->alpha,
					.min_samples = o->min_samples } };
	int rc;

	file_reader_init(&f.reader);
	f.reader.added = compare_files_added;
	f.reader.ctx = &f;
	merge_collect(f.reader.merge);
	rc = compare_files_read(&f, err);
	if (!rc)
		rc = compare_files_finish(&f, out, err);
	compare_fini(&f.compare);
	file_reader_fini(&f.reader);
	return rc;
}
