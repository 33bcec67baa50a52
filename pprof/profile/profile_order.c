/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts, functions, locations and label sets get ranks first, each kind by those of
 * the kinds before, so that stacks are compared as numbers. Then samples are sorted
 * depth by depth, and the objects that they refer to get new numbers.
 */
#include "pprof/profile/profile_order.h"

#include <stdlib.h>

#include "base/radix.h"
#include "pprof/profile/index_map.h"

/* Ranks of objects: how many others are smaller, plus 1. */
struct ordering {
	const struct pprof *p;
	uint32_t *strings;
	uint32_t *functions;
	uint32_t *locations;
	uint32_t *label_sets;
};

/* Samples that are equal up to a depth, which still have to be sorted. */
struct order_group {
	uint32_t first;
	uint32_t count;
	uint32_t depth;
};

static int order_by_number(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int order_by_signed(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

/* Order of texts, by index: that of their bytes. */
static int order_strings(const struct ordering *o, uint32_t a, uint32_t b)
{
	return str_cmp(pprof_str(o->p, a), pprof_str(o->p, b));
}

/* Order of texts of which the ranks are known. */
static int order_by_text(const struct ordering *o, uint32_t a, uint32_t b)
{
	return order_by_number(o->strings[a], o->strings[b]);
}

/* Order of functions: by name, file, start line and system name. */
static int order_functions(const struct ordering *o, uint32_t a, uint32_t b)
{
	const struct pprof_function *f = &o->p->functions.v[a];
	const struct pprof_function *g = &o->p->functions.v[b];
	int order = order_by_text(o, f->name, g->name);

	if (!order)
		order = order_by_text(o, f->file, g->file);
	if (!order)
		order = order_by_signed(f->start_line, g->start_line);
	return order ? order : order_by_text(o, f->system_name, g->system_name);
}

/* Order of lines of source code: by function, line and column. */
static int order_lines(const struct ordering *o, const struct pprof_line *a,
		       const struct pprof_line *b)
{
	int order = order_by_number(o->functions[a->function],
				    o->functions[b->function]);

	if (!order)
		order = order_by_signed(a->line, b->line);
	return order ? order : order_by_signed(a->column, b->column);
}

/* Order of mappings: by file, build ID and place. PPROF_NONE is the first. */
static int order_mappings(const struct ordering *o, uint32_t a, uint32_t b)
{
	const struct pprof *p = o->p;
	const struct pprof_mapping *m;
	const struct pprof_mapping *n;
	int order;

	if (a == PPROF_NONE || b == PPROF_NONE)
		return order_by_number(a != PPROF_NONE, b != PPROF_NONE);
	m = &p->mappings.v[a];
	n = &p->mappings.v[b];
	order = order_by_text(o, m->file, n->file);
	if (!order)
		order = order_by_text(o, m->build_id, n->build_id);
	if (!order)
		order = order_by_number(m->offset, n->offset);
	if (!order)
		order = order_by_number(m->limit - m->start,
					n->limit - n->start);
	return order ? order : order_by_number(m->start, n->start);
}

/* Order of locations: by lines, the outermost first, address and mapping. */
static int order_locations(const struct ordering *o, uint32_t a, uint32_t b)
{
	const struct pprof *p = o->p;
	const struct pprof_location *l = &p->locations.v[a];
	const struct pprof_location *m = &p->locations.v[b];
	uint32_t n = l->lines.count < m->lines.count ? l->lines.count :
						       m->lines.count;
	int order = 0;

	for (uint32_t i = 1; i <= n && !order; i++)
		order = order_lines(
			o, &p->lines.v[l->lines.first + l->lines.count - i],
			&p->lines.v[m->lines.first + m->lines.count - i]);
	if (!order)
		order = order_by_number(l->lines.count, m->lines.count);
	if (!order)
		order = order_by_number(l->address, m->address);
	if (!order)
		order = order_mappings(o, l->mapping, m->mapping);
	return order ? order : order_by_number(l->folded, m->folded);
}

/* Order of labels: by key, then texts before numbers. */
static int order_labels(const struct ordering *o, const struct pprof_label *a,
			const struct pprof_label *b)
{
	int order = order_by_text(o, a->key, b->key);

	if (!order)
		order = order_by_number(a->is_number, b->is_number);
	if (!order)
		order = order_by_text(o, a->str, b->str);
	if (!order)
		order = order_by_signed(a->num, b->num);
	return order ? order : order_by_text(o, a->unit, b->unit);
}

static int order_label_sets(const struct ordering *o, uint32_t a, uint32_t b)
{
	const struct pprof *p = o->p;
	struct pprof_run s = p->label_sets.v[a];
	struct pprof_run t = p->label_sets.v[b];
	int order = 0;

	for (uint32_t i = 0; i < s.count && i < t.count && !order; i++)
		order = order_labels(o, &p->labels.v[s.first + i],
				     &p->labels.v[t.first + i]);
	return order ? order : order_by_number(s.count, t.count);
}

/* How objects of one kind are sorted: by a number, then by comparing them. */
struct order_rule {
	const struct ordering *o;
	uint64_t (*key)(const struct ordering *o, uint32_t i);
	int (*compare)(const struct ordering *o, uint32_t a, uint32_t b);
};

/* The first bytes of a text. */
static uint64_t order_string_key(const struct ordering *o, uint32_t i)
{
	struct str text = pprof_str(o->p, i);
	uint64_t key = 0;

	for (size_t n = 0; n < sizeof(key); n++)
		key = key << 8 | (n < text.len ? (uint8_t)text.ptr[n] : 0);
	return key;
}

/* The rank of the name of a function. */
static uint64_t order_function_key(const struct ordering *o, uint32_t i)
{
	return o->strings[o->p->functions.v[i].name];
}

/* The rank of the outermost function of a location. */
static uint64_t order_location_key(const struct ordering *o, uint32_t i)
{
	struct pprof_run run = o->p->locations.v[i].lines;

	return run.count ? o->functions[o->p->lines.v[run.first + run.count - 1]
						.function] :
			   0;
}

static uint64_t order_label_set_key(const struct ordering *o, uint32_t i)
{
	return o->p->label_sets.v[i].count > 0;
}

static int order_by_rule(const void *a, const void *b, void *ctx)
{
	const struct order_rule *r = ctx;
	const struct radix_item *x = a;
	const struct radix_item *y = b;

	return x->key != y->key ? order_by_number(x->key, y->key) :
				  r->compare(r->o, x->index, y->index);
}

/* Return the ranks of n objects, which the caller frees; equal ones share one. */
static uint32_t *order_rank(struct order_rule *r, size_t n)
{
	struct radix_item *v = mem_zalloc(n + 1, sizeof(*v));
	uint32_t *ranks = mem_zalloc(n + 1, sizeof(*ranks));

	for (uint32_t i = 0; i < n; i++)
		v[i] = (struct radix_item){ r->key(r->o, i), i };
	qsort_r(v, n, sizeof(*v), order_by_rule, r);
	for (uint32_t i = 0; i < n; i++) {
		bool same = i && !order_by_rule(&v[i - 1], &v[i], r);

		ranks[v[i].index] = same ? ranks[v[i - 1].index] : i + 1;
	}
	mem_free(v);
	return ranks;
}

/*
 * Return what a sample is sorted by at a depth: the rank of the frame there, 0 at
 * the end of the stack, and the rank of the labels behind it.
 */
static uint32_t order_key(const struct ordering *o, uint32_t sample,
			  uint32_t depth)
{
	const struct pprof *p = o->p;
	struct pprof_run s = *pprof_stack(p, sample);

	if (depth < s.count)
		return o->locations[p->frames.v[s.first + s.count - 1 - depth]];
	return depth > s.count ? o->label_sets[p->samples.v[sample].labels] : 0;
}

/* Sort a group by what is at its depth. */
static void order_group_sort(const struct ordering *o, struct order_group g,
			     struct radix_item *v, struct radix_item *scratch)
{
	for (uint32_t i = 0; i < g.count; i++)
		v[i].key = order_key(o, v[i].index, g.depth);
	radix_sort(v, g.count, scratch);
}

/*
 * Sort the samples of a profile, depth by depth: those that are equal so far are
 * sorted by their next frames. Each frame of a sample is looked at once. `scratch` has
 * room for all samples.
 */
static int order_samples(const struct ordering *o, struct radix_item *items,
			 struct radix_item *scratch,
			 const struct limits *limits, struct err *err)
{
	VEC(struct order_group) groups = { 0 };
	struct growth_meter meter = { 0 };
	int rc = 0;

	if (o->p->samples.count > 1)
		*vec_add(&groups) = (struct order_group){
			.count = (uint32_t)o->p->samples.count
		};
	while (groups.count && !rc) {
		struct order_group g = groups.v[--groups.count];
		uint32_t end = g.first + g.count;
		uint32_t n;

		rc = limits_meter(limits, &meter, g.count, vec_memory(&groups),
				  err);
		/* Behind the labels, samples are equal. */
		if (g.depth >
		    pprof_stack(o->p, items[g.first].index)->count + 1)
			continue;
		order_group_sort(o, g, items + g.first, scratch);
		for (uint32_t i = g.first; i < end; i += n) {
			n = 1;
			while (i + n < end && items[i + n].key == items[i].key)
				n++;
			if (n > 1)
				*vec_add(&groups) =
					(struct order_group){ i, n,
							      g.depth + 1 };
		}
	}
	vec_fini(&groups);
	return rc;
}

/* Bring the samples of a profile, with their values, into the order of `items`. */
static void order_apply(struct pprof *p, const struct radix_item *items)
{
	size_t width = p->types.count;
	struct pprof_sample *samples =
		mem_dup(p->samples.v, p->samples.count * sizeof(*samples));
	int64_t *values =
		mem_dup(p->values.v, p->values.count * sizeof(*values));

	for (size_t i = 0; i < p->samples.count; i++) {
		p->samples.v[i] = samples[items[i].index];
		memcpy(pprof_values(p, i), values + items[i].index * width,
		       width * sizeof(*values));
	}
	mem_free(samples);
	mem_free(values);
}

static void ordering_fini(struct ordering *o)
{
	mem_free(o->strings);
	mem_free(o->functions);
	mem_free(o->locations);
	mem_free(o->label_sets);
}

/* Compute all ranks; the limits are asked before those of the larger kinds. */
static int ordering_init(struct ordering *o, const struct pprof *p,
			 const struct limits *limits, struct err *err)
{
	int rc;

	*o = (struct ordering){ .p = p };
	o->strings = order_rank(
		&(struct order_rule){ o, order_string_key, order_strings },
		p->strings.strings.count);
	rc = limits_spend(limits, 0, err);
	if (rc)
		return rc;
	o->functions = order_rank(
		&(struct order_rule){ o, order_function_key, order_functions },
		p->functions.count);
	o->locations = order_rank(
		&(struct order_rule){ o, order_location_key, order_locations },
		p->locations.count);
	rc = limits_spend(limits, 0, err);
	if (rc)
		return rc;
	o->label_sets = order_rank(&(struct order_rule){ o, order_label_set_key,
							 order_label_sets },
				   p->label_sets.count);
	return limits_spend(limits, 0, err);
}

/* Sort the samples of a profile. */
static int order_sort(struct pprof *p, const struct limits *limits,
		      struct err *err)
{
	struct ordering o;
	size_t count = p->samples.count;
	struct radix_item *items = NULL;
	int rc = ordering_init(&o, p, limits, err);

	if (!rc) {
		items = mem_zalloc(2 * count + 1, sizeof(*items));
		for (uint32_t i = 0; i < count; i++)
			items[i].index = i;
		rc = order_samples(&o, items, items + count, limits, err);
	}
	if (!rc)
		order_apply(p, items);
	mem_free(items);
	ordering_fini(&o);
	return rc;
}

/* Return the memory that sorting takes, in bytes, with the new tables. */
static size_t order_memory(const struct pprof *p)
{
	size_t ranked = p->strings.strings.count + p->functions.count +
			p->locations.count + p->label_sets.count;

	return 2 * pprof_memory(p) +
	       ranked * (sizeof(uint32_t) + sizeof(struct radix_item)) +
	       p->samples.count * 2 * sizeof(struct radix_item);
}

/* The tables of a profile, with objects in the order of their first use. */
struct renumbering {
	const struct pprof *old;
	struct pprof new; /* only stacks, label sets and what they refer to */
	struct place_map stacks;
	struct place_map locations;
	struct place_map functions;
	struct place_map mappings;
	struct place_map label_sets;
};

/* Return the new number of a function. */
static uint32_t renumber_function(struct renumbering *r, uint32_t function)
{
	uint32_t *to = &r->functions.to.v[function];

	if (*to == PPROF_NONE) {
		*to = (uint32_t)r->new.functions.count;
		*vec_add(&r->new.functions) = r->old->functions.v[function];
	}
	return *to;
}

/* Return the new number of a mapping, or PPROF_NONE. */
static uint32_t renumber_mapping(struct renumbering *r, uint32_t mapping)
{
	uint32_t *to;

	if (mapping == PPROF_NONE)
		return mapping;
	to = &r->mappings.to.v[mapping];
	if (*to == PPROF_NONE) {
		*to = (uint32_t)r->new.mappings.count;
		*vec_add(&r->new.mappings) = r->old->mappings.v[mapping];
	}
	return *to;
}

/* Return the new number of a location. */
static uint32_t renumber_location(struct renumbering *r, uint32_t location)
{
	uint32_t *to = &r->locations.to.v[location];
	struct pprof_location l = r->old->locations.v[location];
	uint32_t first = (uint32_t)r->new.lines.count;

	if (*to != PPROF_NONE)
		return *to;
	for (uint32_t i = 0; i < l.lines.count; i++) {
		struct pprof_line line = r->old->lines.v[l.lines.first + i];

		line.function = renumber_function(r, line.function);
		*vec_add(&r->new.lines) = line;
	}
	l.lines.first = first;
	l.mapping = renumber_mapping(r, l.mapping);
	*to = (uint32_t)r->new.locations.count;
	*vec_add(&r->new.locations) = l;
	return *to;
}

/* Return the new number of a stack. */
static uint32_t renumber_stack(struct renumbering *r, uint32_t stack)
{
	uint32_t *to = &r->stacks.to.v[stack];
	struct pprof_run run = r->old->stacks.v[stack];
	struct pprof_run new = { (uint32_t)r->new.frames.count, run.count };

	if (*to != PPROF_NONE)
		return *to;
	for (uint32_t i = 0; i < run.count; i++) {
		uint32_t location =
			renumber_location(r, r->old->frames.v[run.first + i]);

		*vec_add(&r->new.frames) = location;
	}
	*to = (uint32_t)r->new.stacks.count;
	*vec_add(&r->new.stacks) = new;
	return *to;
}

/* Return the new number of a label set. */
static uint32_t renumber_labels(struct renumbering *r, uint32_t set)
{
	uint32_t *to = &r->label_sets.to.v[set];
	struct pprof_run run = r->old->label_sets.v[set];
	struct pprof_run new = { (uint32_t)r->new.labels.count, run.count };

	if (*to != PPROF_NONE)
		return *to;
	vec_add_all(&r->new.labels, r->old->labels.v + run.first, run.count);
	*to = (uint32_t)r->new.label_sets.count;
	*vec_add(&r->new.label_sets) = new;
	return *to;
}

/* Replace the tables of p by those of r, and free the old ones. */
static void renumber_finish(struct renumbering *r, struct pprof *p)
{
	struct pprof old = *p;

	p->stacks = r->new.stacks;
	p->frames = r->new.frames;
	p->locations = r->new.locations;
	p->lines = r->new.lines;
	p->functions = r->new.functions;
	p->mappings = r->new.mappings;
	p->labels = r->new.labels;
	p->label_sets = r->new.label_sets;
	vec_fini(&old.stacks);
	vec_fini(&old.frames);
	vec_fini(&old.locations);
	vec_fini(&old.lines);
	vec_fini(&old.functions);
	vec_fini(&old.mappings);
	vec_fini(&old.labels);
	vec_fini(&old.label_sets);
	vec_fini(&r->stacks.to);
	vec_fini(&r->locations.to);
	vec_fini(&r->functions.to);
	vec_fini(&r->mappings.to);
	vec_fini(&r->label_sets.to);
}

/* Make room for the new tables, whose arrays must not be NULL. */
static void renumber_begin(struct renumbering *r, const struct pprof *p)
{
	*r = (struct renumbering){ .old = p };
	placemap_reset(&r->stacks, p->stacks.count);
	placemap_reset(&r->locations, p->locations.count);
	placemap_reset(&r->functions, p->functions.count);
	placemap_reset(&r->mappings, p->mappings.count);
	placemap_reset(&r->label_sets, p->label_sets.count);
	vec_reserve(&r->new.stacks, p->stacks.count + 1);
	vec_reserve(&r->new.frames, p->frames.count + 1);
	vec_reserve(&r->new.lines, p->lines.count + 1);
	vec_reserve(&r->new.locations, p->locations.count + 1);
	vec_reserve(&r->new.labels, p->labels.count + 1);
}

/* Number all objects in the order in which the samples refer to them. */
static void order_renumber(struct pprof *p)
{
	struct renumbering r;

	renumber_begin(&r, p);
	/* The first mapping is the program, even if no sample refers to it. */
	if (p->mappings.count)
		(void)renumber_mapping(&r, 0);
	for (size_t i = 0; i < p->samples.count; i++) {
		struct pprof_sample *s = &p->samples.v[i];

		s->stack = renumber_stack(&r, s->stack);
		s->labels = renumber_labels(&r, s->labels);
	}
	renumber_finish(&r, p);
}

int pprof_order(struct pprof *p, const struct limits *limits, struct err *err)
{
	int rc = limits_spend(limits, order_memory(p), err);

	if (!rc)
		rc = order_sort(p, limits, err);
	if (!rc)
		order_renumber(p);
	return rc;
}
