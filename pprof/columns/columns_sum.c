/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/columns/columns_sum.h"

#include "pprof/columns/columns_keys.h"
#include "pprof/columns/rows.h"
#include "pprof/dictionary/borrow.h"
#include "pprof/dictionary/layout.h"
#include "pprof/profile/index_map.h"
#include "pprof/proto/fields.h"

enum {
	/*
	 * All samples of the sum are looked at for each part, so parts with fewer
	 * than one of so many are sums of their own.
	 */
	PART_LEAST = 16,
};

/*
 * A sum: rows (stored profiles) are added up in the profile `p`. Texts,
 * functions, lines and labels of p are borrowed from the dictionary. Other
 * elements are added to p when a row first needs them. Merging the profiles one
 * by one would add them in the same order, so merging p has the same result
 * (docs/decisions.md, 51).
 */
struct columns_sum {
	/* Dictionary of the rows; NULL: no rows yet. */
	const struct dictionary *d;
	struct pprof p;
	bool is_merged; /* p was merged, and has no values now … */
	bool continues; /* … and if it gets some, merge_add_more() adds them */
	size_t added;   /* samples of rows that were added to p since then */
	struct place_map samples;   /* from keys of d to samples of p */
	struct place_map locations; /* from locations of d to locations of p */
	struct place_map mappings;  /* from mappings of d to mappings of p */

	/*
	 * Shape (order of the fields of Profile, layout.h), the same for all
	 * rows.
	 */
	uint32_t shape;
	/*
	 * Layout (mappings with their load addresses) of the row being added.
	 */
	uint32_t layout;
	/*
	 * How the merge treats the values of each sample type of `p`. Never
	 * MERGE_SUBTRACT, because the sum itself subtracts values when it adds
	 * a row.
	 */
	enum merge_op ops[TYPES_MAX];
};

struct columns_sum *columns_sum_new(void)
{
	return mem_new(struct columns_sum);
}

/* Make the borrowed vectors empty again; the dictionary owns their arrays. */
static void give_back(struct columns_sum *s)
{
	struct pprof *p = &s->p;

	vec_give_back(&p->strings.strings);
	vec_give_back(&p->functions);
	vec_give_back(&p->lines);
	vec_give_back(&p->labels);
	vec_give_back(&p->label_sets);
}

void columns_sum_free(struct columns_sum *s)
{
	if (!s)
		return;
	give_back(s);
	pprof_fini(&s->p);
	vec_fini(&s->samples.to);
	vec_fini(&s->locations.to);
	vec_fini(&s->mappings.to);
	mem_free(s);
}

/*
 * Does not count the borrowed arrays, which the cache of tables accounts for.
 */
size_t columns_sum_memory(const struct columns_sum *s)
{
	return sizeof(*s) + vec_memory(&s->p.frames) +
	       vec_memory(&s->p.stacks) + vec_memory(&s->p.samples) +
	       vec_memory(&s->p.values) + vec_memory(&s->p.locations) +
	       vec_memory(&s->samples.to) + vec_memory(&s->locations.to) +
	       vec_memory(&s->mappings.to);
}

void columns_sum_forget(struct columns_sum *s)
{
	give_back(s);
	s->d = NULL;
	s->is_merged = false;
	s->continues = false;
	s->added = 0;
}

/* Merge what has not been merged yet. */
static int sum_rows_merge(struct columns_sum *s, struct merge *to,
			  struct err *err)
{
	if (!s->d || s->is_merged)
		return 0;
	return s->continues ? merge_add_more(to, &s->p, s->ops, err) :
			      merge_add_sum(to, &s->p, s->ops, err);
}

/* Give the borrowed arrays back, also after an error. */
int columns_sum_flush(struct columns_sum *s, struct merge *to, struct err *err)
{
	int rc = sum_rows_merge(s, to, err);

	columns_sum_forget(s);
	return rc;
}

int columns_sum_flush_part(struct columns_sum *s, struct merge *to,
			   struct err *err)
{
	struct pprof *p = &s->p;
	bool pays = s->added * PART_LEAST >= p->samples.count;
	int rc = pays ? sum_rows_merge(s, to, err) :
			columns_sum_flush(s, to, err);

	s->added = 0;
	if (rc || !s->d)
		return rc;
	s->is_merged = true;
	s->continues = true;
	p->duration_ns = 0;
	if (p->values.count)
		memset(p->values.v, 0, p->values.count * sizeof(*p->values.v));
	for (size_t t = 0; t < p->types.count; t++)
		s->ops[t] = MERGE_SKIP;
	return 0;
}

/*
 * Set a sample type or the period type: the operands of its field in the shape
 * are type and unit.
 */
static void take_type(struct pprof_type *to, const struct shape_op *op)
{
	to->type = op->operands[0];
	to->unit = op->operands[1];
}

/*
 * Set the member of the profile for one operation of the shape, that is, one
 * field with its operands.
 */
static void take_header(struct pprof *p, const struct shape_op *op)
{
	switch (op->field) {
	case PROFILE_SAMPLE_TYPE:
		take_type(vec_add(&p->types), op);
		break;
	case PROFILE_PERIOD_TYPE:
		take_type(&p->period_type, op);
		break;
	case PROFILE_DROP_FRAMES:
		p->drop_frames = op->operands[0];
		break;
	case PROFILE_KEEP_FRAMES:
		p->keep_frames = op->operands[0];
		break;
	case PROFILE_DEFAULT_TYPE:
		p->default_type = op->operands[0];
		break;
	case PROFILE_DOC_URL:
		p->doc_url = op->operands[0];
		break;
	case PROFILE_COMMENT:
		for (size_t i = 0; i < op->count; i++)
			*vec_add(&p->comments) = op->operands[i];
		break;
	default:
		break;
	}
}

/*
 * Return the mapping of p that stands for a mapping of the dictionary. If p has
 * none yet, add it with its load address in the current row. This is the
 * address that a merge would take: that of the first profile.
 */
static uint32_t meet_mapping(struct columns_sum *s, uint32_t mapping)
{
	const struct dictionary *d = s->d;
	const struct dict_mapping *m = &d->mappings.v[mapping];
	struct pprof_run layout = d->layouts.v[s->layout];
	uint32_t *to = &s->mappings.to.v[mapping];
	struct dict_binding b = { 0 };

	if (*to != PPROF_NONE)
		return *to;
	for (uint32_t i = 0; i < layout.count; i++) {
		if (d->bindings.v[layout.first + i].mapping == mapping)
			b = d->bindings.v[layout.first + i];
	}
	*to = (uint32_t)s->p.mappings.count;
	*vec_add(&s->p.mappings) = (struct pprof_mapping){
		.start = b.start,
		.limit = b.start + m->size,
		.offset = m->offset,
		.file = m->file,
		.build_id = m->build_id,
		.has_functions = b.flags & DICT_HAS_FUNCTIONS,
		.has_filenames = b.flags & DICT_HAS_FILENAMES,
		.has_lines = b.flags & DICT_HAS_LINES,
		.has_inlines = b.flags & DICT_HAS_INLINES,
	};
	return *to;
}

/*
 * Note the program of a row: the first mapping of a profile. It must be first in
 * the sum, too, so it is added before all samples.
 */
static void meet_program(struct columns_sum *s, uint32_t mapping)
{
	const struct dict_mapping *m = &s->d->mappings.v[mapping];

	if (!s->p.mappings.count)
		(void)meet_mapping(s, mapping);
	else if (s->mappings.to.v[mapping] != 0)
		pprof_note_program(&s->p, dict_str(s->d, m->file),
				   dict_str(s->d, m->build_id));
}

/*
 * Return the location of p that stands for a location of the dictionary. If p
 * has none yet, add it with an absolute address.
 */
static uint32_t meet_location(struct columns_sum *s, uint32_t location)
{
	uint32_t *to = &s->locations.to.v[location];
	struct pprof_location l;

	if (*to != PPROF_NONE)
		return *to;
	l = s->d->locations.v[location];
	if (l.mapping != PPROF_NONE) {
		l.mapping = meet_mapping(s, l.mapping);
		l.address += s->p.mappings.v[l.mapping].start;
	}
	*to = (uint32_t)s->p.locations.count;
	*vec_add(&s->p.locations) = l;
	return *to;
}

/*
 * Add a sample for a key that has none yet. Its values are 0. Returns the index
 * of the sample.
 */
static uint32_t meet_key(struct columns_sum *s, uint32_t key)
{
	const struct dict_node *nodes = s->d->nodes.v;
	struct pprof_sample k = s->d->keys.v[key];
	struct pprof *p = &s->p;
	uint32_t place = (uint32_t)p->samples.count;
	struct pprof_run stack = { .first = (uint32_t)p->frames.count };

	for (uint32_t n = k.stack; n != DICT_ROOT; n = nodes[n].parent)
		*vec_add(&p->frames) = meet_location(s, nodes[n].location);
	stack.count = (uint32_t)p->frames.count - stack.first;
	*vec_add(&p->stacks) = stack;
	*vec_add(&p->samples) =
		(struct pprof_sample){ .stack = place, .labels = k.labels };
	vec_reserve(&p->values, p->types.count);
	for (size_t t = 0; t < p->types.count; t++)
		p->values.v[p->values.count++] = 0;
	s->samples.to.v[key] = place;
	return place;
}

/* Start a new sum with the row's sample types, comments, time and period. */
static void sum_rows_begin(struct columns_sum *s, const struct dictionary *d,
			   const struct row *row)
{
	struct pprof *p = &s->p;
	struct layout_walk_shape w;
	struct shape_op op;
	enum dialect dialect;

	s->d = d;
	s->shape = row->shape;
	placemap_reset(&s->samples, d->keys.count);
	placemap_reset(&s->locations, d->locations.count);
	placemap_reset(&s->mappings, d->mappings.count);
	pprof_reset(p);
	/*
	 * pprof_reset() allocates the arrays of lines and labels: free them
	 * before the arrays of the dictionary are borrowed.
	 */
	vec_fini(&p->lines);
	vec_fini(&p->labels);
	vec_borrow(&p->strings.strings, &d->strings.strings);
	vec_borrow(&p->functions, &d->functions);
	vec_borrow(&p->lines, &d->lines);
	vec_borrow(&p->labels, &d->labels);
	vec_borrow(&p->label_sets, &d->label_sets);
	w = layout_walk_shape(d, row->shape, &dialect);
	while (layout_next_shape(&w, &op))
		take_header(p, &op);
	p->time_ns = row->time_ns;
	p->period = row->period;
	for (size_t t = 0; t < p->types.count; t++)
		s->ops[t] = MERGE_SKIP;
}

/*
 * Whether the row can be added to the sum with the same result as merging the
 * profiles. The table, shape and period of the row must be those of the sum.
 * The row and the sum must each have a time other than 0 (to a merge, 0 means
 * "no time"). A sample type must not be averaged in the sum but added in the
 * row, nor the reverse.
 */
static bool sum_rows_has_room_for(const struct columns_sum *s,
				  const struct dictionary *d,
				  const struct row *row,
				  const enum merge_op *ops)
{
	if (s->d != d || s->shape != row->shape || s->p.period != row->period)
		return false;
	if (!s->is_merged && (!s->p.time_ns || !row->time_ns))
		return false;
	for (size_t t = 0; t < row->types; t++) {
		bool was = s->ops[t] == MERGE_AVERAGE;
		bool is = ops[t] == MERGE_AVERAGE;

		if (s->ops[t] != MERGE_SKIP && ops[t] != MERGE_SKIP &&
		    was != is)
			return false;
	}
	return true;
}

/*
 * Add the values of sample type t of a row, or subtract them if `minus`. Mostly
 * only one type of a row is wanted, so this case has its own simple loop. As a
 * merge does, leaves out samples whose value is 0.
 */
static void add_column(struct columns_sum *s, const struct row *row, size_t t,
		       bool minus)
{
	const int64_t *v = row->values + t * row->stride;
	size_t width = row->types;

	for (size_t i = 0; i < row->samples; i++) {
		uint32_t place;
		int64_t *to;

		if (!v[i])
			continue;
		place = s->samples.to.v[row->keys[i]];
		if (place == PPROF_NONE)
			place = meet_key(s, row->keys[i]);
		to = &s->p.values.v[place * width + t];
		*to = minus ? wrap_sub(*to, v[i]) : wrap_add(*to, v[i]);
	}
}

/* Add one sample of a row, in all wanted sample types. */
static void sum_rows_add_sample(struct columns_sum *s, const struct row *row,
				size_t i, const enum merge_op *ops)
{
	uint32_t place = PPROF_NONE;

	for (size_t t = 0; t < row->types; t++) {
		int64_t v = row->values[t * row->stride + i];
		int64_t *to;

		if (ops[t] == MERGE_SKIP || !v)
			continue;
		if (place == PPROF_NONE) {
			place = s->samples.to.v[row->keys[i]];
			if (place == PPROF_NONE)
				place = meet_key(s, row->keys[i]);
		}
		to = &s->p.values.v[place * row->types + t];
		*to = ops[t] == MERGE_SUBTRACT ? wrap_sub(*to, v) :
						 wrap_add(*to, v);
	}
}

/*
 * Add a row to p. Values of a sample type with MERGE_SUBTRACT are subtracted
 * from p here, so a later merge of p only adds or averages.
 */
static void sum_rows_add_row(struct columns_sum *s, const struct row *row,
			     const enum merge_op *ops)
{
	size_t wanted = 0;
	size_t last = 0;

	for (size_t t = 0; t < row->types; t++) {
		if (ops[t] == MERGE_SKIP)
			continue;
		s->ops[t] = ops[t] == MERGE_AVERAGE ? MERGE_AVERAGE : MERGE_ADD;
		wanted++;
		last = t;
	}
	if (wanted == 1) {
		add_column(s, row, last, ops[last] == MERGE_SUBTRACT);
		return;
	}
	for (size_t i = 0; i < row->samples; i++)
		sum_rows_add_sample(s, row, i, ops);
}

int columns_sum_add(struct columns_sum *s, const struct codec_rows *rows,
		    size_t i, const enum merge_op *ops, struct merge *to,
		    struct err *err)
{
	const struct row *row = &rows->group->rows[i];
	struct pprof_run layout = rows->d->layouts.v[row->layout];
	int rc = 0;

	if (!columns_keys_can_sum(rows, i))
		return err_set(
			err, ERR_UNSUPPORTED,
			"the rows of the profile cannot be added up; it must be decoded");
	if (s->d && !sum_rows_has_room_for(s, rows->d, row, ops))
		rc = columns_sum_flush(s, to, err);
	if (rc)
		return rc;
	if (!s->d)
		sum_rows_begin(s, rows->d, row);
	else if (s->is_merged || row->time_ns < s->p.time_ns)
		s->p.time_ns = row->time_ns;
	s->is_merged = false;
	s->added += row->samples;
	s->p.duration_ns = wrap_add(s->p.duration_ns, row->duration_ns);
	s->layout = row->layout;
	if (layout.count)
		meet_program(s, rows->d->bindings.v[layout.first].mapping);
	sum_rows_add_row(s, row, ops);
	return 0;
}

int columns_sum_all_keys(struct columns_sum *s, const struct codec_rows *rows,
			 size_t i, struct merge *to, struct err *err)
{
	const struct row *row = &rows->group->rows[i];

	if (!row->types || !columns_keys_can_sum(rows, i))
		return err_set(
			err, ERR_UNSUPPORTED,
			"the keys of the profile are not those of its rows");
	sum_rows_begin(s, rows->d, row);
	s->layout = row->layout;
	for (uint32_t k = 0; k < rows->d->keys.count; k++)
		(void)meet_key(s, k);
	return columns_sum_flush(s, to, err);
}
