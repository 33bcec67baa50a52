/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/report/report_flamegraph.h"

#include <math.h>

#include "pprof/compare/compare_json.h"
#include "pprof/report/flame.h"
#include "pprof/report/report.h"
#include "pprof/report/report_forms.h"

/* Significant digits of an interval: it is an estimate. */
#define FLAME_DIGITS 4

/* The texts of a node, as indexes in a table of distinct texts. */
struct texts {
	uint32_t name; /* PPROF_NONE: not looked up yet */
	uint32_t file;
	uint32_t binary;
};

/*
 * The texts of all nodes of the report. The table is shared by all trees of an
 * answer: the JSON contains each text once.
 */
struct names {
	struct strtab strings;
	struct texts *of; /* by node */
};

/* Set all names to PPROF_NONE: all their bits are 1. */
static void names_init(struct names *n, const struct report *r)
{
	size_t size = (r->nodes.v.count + 1) * sizeof(*n->of);

	*n = (struct names){ .of = mem_alloc(size) };
	memset(n->of, 0xff, size);
	(void)strtab_intern(&n->strings, str_of(""));
}

static void names_fini(struct names *n)
{
	strtab_fini(&n->strings);
	mem_free(n->of);
}

/* Whether a tree node is a frame, and not the root or "(other)". */
static bool is_frame(const struct flame_node *n)
{
	return n->node != FLAME_ROOT && n->node != FLAME_OTHER;
}

/*
 * Return the texts of a tree node. A node of the report may occur many times in
 * the tree; its texts are looked up once.
 */
static struct texts find_texts(struct names *n, const struct report *r,
			       const struct flame_node *f)
{
	const struct node *node;
	struct texts *t;

	if (!is_frame(f))
		return (struct texts){ .name = strtab_intern(
					       &n->strings, flame_name(r, f)) };
	node = &r->nodes.v.v[f->node];
	t = &n->of[f->node];
	if (t->name == PPROF_NONE) {
		t->name = strtab_intern(&n->strings, node->text);
		t->file =
			strtab_intern(&n->strings, pprof_str(r->p, node->file));
		t->binary = strtab_intern(&n->strings,
					  pprof_str(r->p, node->binary));
	}
	return *t;
}

/*
 * Write an array of one int64_t member of struct flame_node, given by its
 * offset, for all nodes.
 */
static void write_column(const struct flame *f, const char *name, size_t offset,
			 struct json *j)
{
	json_key(j, name);
	json_begin(j, '[');
	for (size_t i = 0; i < f->v.count; i++) {
		const char *at = (const char *)&f->v.v[i] + offset;
		int64_t v;

		memcpy(&v, at, sizeof(v));
		json_int(j, v);
	}
	json_end(j, ']');
}

/* Write the arrays of indexes in "strings". */
static void write_texts(struct names *names, const struct report *r,
			const struct flame *f, struct json *j)
{
	static const struct {
		const char *key;
		size_t offset;
	} columns[] = {
		{ "name", offsetof(struct texts, name) },
		{ "file", offsetof(struct texts, file) },
		{ "binary", offsetof(struct texts, binary) },
	};

	for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
		json_key(j, columns[c].key);
		json_begin(j, '[');
		for (size_t i = 0; i < f->v.count; i++) {
			struct texts t = find_texts(names, r, &f->v.v[i]);
			uint32_t v;

			memcpy(&v, (char *)&t + columns[c].offset, sizeof(v));
			json_int(j, v);
		}
		json_end(j, ']');
	}
}

/* Write the table of texts, after all trees. */
static void write_strings(const struct names *n, struct json *j)
{
	json_key(j, "strings");
	json_begin(j, '[');
	for (size_t i = 0; i < n->strings.strings.count; i++)
		json_str(j, n->strings.strings.v[i]);
	json_end(j, ']');
}

/* Write for each node whether it is inlined into its caller. */
static void write_inlined(const struct flame *f, struct json *j)
{
	json_key(j, "inlined");
	json_begin(j, '[');
	for (size_t i = 0; i < f->v.count; i++)
		json_int(j, i && f->v.v[i].inlined);
	json_end(j, ']');
}

/* Write the index of each node's parent; -1 for the root. */
static void write_parents(const struct flame *f, struct json *j)
{
	json_key(j, "parent");
	json_begin(j, '[');
	for (size_t i = 0; i < f->v.count; i++)
		json_int(j, i ? (int64_t)f->v.v[i].parent : -1);
	json_end(j, ']');
}

#define COLUMN(field) offsetof(struct flame_node, field)

/* Write the columns of a tree, and what was left out of it. */
static void write_tree(struct names *names, const struct report *r,
		       const struct flame *f, struct json *j)
{
	write_texts(names, r, f, j);
	write_parents(f, j);
	write_inlined(f, j);
	write_column(f, "self", COLUMN(self), j);
	write_column(f, "total_of", COLUMN(total), j);
	if (f->has_base) {
		write_column(f, "self_a", COLUMN(self_a), j);
		write_column(f, "total_of_a", COLUMN(total_a), j);
	}
	json_key(j, "left_out");
	json_begin(j, '{');
	json_key(j, "nodes");
	json_int(j, (int64_t)f->left_out);
	json_key(j, "weight");
	json_int(j, f->weight_left_out);
	json_end(j, '}');
}

/* The samples of each node of a tree: those whose path passes through it. */
struct flame_samples {
	struct pprof_run *of; /* by node */
	/* Those of a node and of its descendants are together. */
	uint32_t *samples;
};

/*
 * List the samples of the nodes. The nodes are in depth-first order, so that the
 * samples of a node and its descendants are one run, if they are sorted by the
 * node in which their path ends.
 */
static void flame_list_samples(const struct flame *f, const uint32_t *ends,
			       size_t samples, struct flame_samples *out)
{
	size_t count = f->v.count;
	uint32_t *next = mem_zalloc(count + 1, sizeof(*next));
	uint32_t at = 0;

	out->of = mem_zalloc(count, sizeof(*out->of));
	out->samples = mem_zalloc(samples + 1, sizeof(*out->samples));
	for (size_t i = 0; i < samples; i++) {
		if (ends[i] != PPROF_NONE)
			out->of[ends[i]].count++;
	}
	for (size_t n = 0; n < count; n++) {
		out->of[n].first = next[n] = at;
		at += out->of[n].count;
	}
	for (uint32_t i = 0; i < samples; i++) {
		if (ends[i] != PPROF_NONE)
			out->samples[next[ends[i]]++] = i;
	}
	for (size_t n = count; n > 1; n--)
		out->of[f->v.v[n - 1].parent].count += out->of[n - 1].count;
	mem_free(next);
}

/*
 * Keep one of the nodes that have the same samples, as all nodes of a chain of
 * calls have: they are one question. Sets group[n] to the number of node n among
 * those that are kept, and returns how many these are.
 */
static size_t flame_join_chains(struct flame_samples *s, size_t count,
				uint32_t *group)
{
	size_t kept = 0;

	for (size_t n = 0; n < count; n++) {
		struct pprof_run run = s->of[n];

		/* Only a parent and its first child can begin at one sample. */
		if (!kept || s->of[kept - 1].first != run.first ||
		    s->of[kept - 1].count != run.count)
			s->of[kept++] = run;
		group[n] = (uint32_t)kept - 1;
	}
	return kept;
}

/* The verdicts on the nodes of a tree. */
struct flame_verdicts {
	uint32_t *group;  /* by node: its place in the other arrays */
	double *interval; /* in the unit of the values; NaN: not tested */
	bool *sure;
};

/* The flame graph of a comparison while it is written. */
struct compared_flame {
	const struct report *r;
	struct compare *compare;
	/* By sample; the new side is scaled to the base. */
	int64_t *sums[ESTIMATE_SIDES];
	uint32_t *ends;               /* see struct flame_sides */
	double unit;                  /* by what the base is divided */
	struct compare_result result; /* of the last tree, without its rows */
};

/* Compare the nodes of a tree, and keep what was found. */
static int compare_tree(struct compared_flame *x, const struct flame *f,
			struct flame_verdicts *v, struct err *err)
{
	const struct report *r = x->r;
	struct flame_samples s;
	struct compare_groups groups;
	int rc;

	flame_list_samples(f, x->ends, r->p->samples.count, &s);
	groups = (struct compare_groups){
		flame_join_chains(&s, f->v.count, v->group), s.of, s.samples
	};
	x->compare->groups = &groups;
	rc = compare_run(x->compare, r->p, &r->nodes, &r->o->limits, &x->result,
			 err);
	x->compare->groups = NULL;
	for (size_t i = 0; i < f->v.count; i++)
		v->interval[i] = (double)NAN;
	for (size_t i = 0; i < x->result.rows.count; i++) {
		const struct compare_row *row = &x->result.rows.v[i];

		v->sure[row->node] = row->cum.sure;
		if (row->cum.p_all <= 1 && x->unit > 0)
			v->interval[row->node] =
				estimate_interval(&row->cum.e) * x->unit;
	}
	compare_result_fini(&x->result);
	mem_free(s.of);
	mem_free(s.samples);
	return rc;
}

/* Write the verdicts as two columns. */
static void write_verdicts(const struct flame_verdicts *v, size_t count,
			   struct json *j)
{
	json_key(j, "interval");
	json_begin(j, '[');
	for (size_t i = 0; i < count; i++)
		json_rounded(j, v->interval[v->group[i]], FLAME_DIGITS);
	json_end(j, ']');
	json_key(j, "sure");
	json_begin(j, '[');
	for (size_t i = 0; i < count; i++)
		json_int(j, v->sure[v->group[i]]);
	json_end(j, ']');
}

/*
 * Set the weights of the samples, and the total and the unit of the report. The
 * caller frees the arrays, also on errors.
 */
static int compared_weigh(struct compared_flame *w, struct report *r,
			  struct err *err)
{
	const struct compare *c = w->compare;
	double per[ESTIMATE_SIDES]; /* what the sides are divided by */
	size_t samples = r->p->samples.count;
	double totals[ESTIMATE_SIDES] = { 0 };
	int rc =
		limits_spend(&r->o->limits, samples * 8 * sizeof(int64_t), err);

	for (int s = 0; s < ESTIMATE_SIDES; s++)
		w->sums[s] = mem_zalloc(samples + 1, sizeof(int64_t));
	w->ends = mem_zalloc(samples + 1, sizeof(*w->ends));
	if (rc)
		return rc;
	compare_sums(c, r->p, w->sums);
	for (size_t i = 0; i < samples; i++) {
		totals[ESTIMATE_BASE] += (double)w->sums[ESTIMATE_BASE][i];
		totals[ESTIMATE_NEW] += (double)w->sums[ESTIMATE_NEW][i];
	}
	for (int s = 0; s < ESTIMATE_SIDES; s++)
		per[s] = c->by == COMPARE_SHARE ? totals[s] :
						  compare_divisor_sum(c, s);
	w->unit = per[ESTIMATE_BASE];
	/* The values of the samples were their numbers in the cells. */
	r->total = llround(totals[ESTIMATE_BASE]);
	/* A side of which nothing is left, or whose time is unknown, has no scale. */
	if (!(w->unit > 0) || !(per[ESTIMATE_NEW] > 0))
		return 0;
	if (c->by != COMPARE_SHARE)
		r->rate_seconds = w->unit;
	pprof_scale_sum(w->sums[ESTIMATE_NEW], samples, 1,
			w->unit / per[ESTIMATE_NEW]);
	return 0;
}

static void compared_fini(struct compared_flame *w)
{
	for (int s = 0; s < ESTIMATE_SIDES; s++)
		mem_free(w->sums[s]);
	mem_free(w->ends);
}

/* Build one tree of a comparison, and write its columns and its verdicts. */
static int build_compared_tree(struct names *names, struct compared_flame *x,
			       enum flame_walk walk, struct json *j,
			       struct err *err)
{
	const struct flame_sides sides = { x->sums[ESTIMATE_BASE],
					   x->sums[ESTIMATE_NEW], x->ends };
	struct flame_verdicts v = { 0 };
	struct flame f;
	int rc = flame_init_sides(&f, x->r, walk, x->r->o->max_nodes, &sides,
				  err);

	/* The lists of samples and the verdicts. */
	if (!rc)
		rc = limits_spend(
			&x->r->o->limits,
			f.v.count * (sizeof(struct pprof_run) +
				     sizeof(uint32_t) + sizeof(*v.group) +
				     sizeof(*v.interval) + sizeof(*v.sure)) +
				x->r->p->samples.count * sizeof(uint32_t),
			err);
	if (!rc) {
		v.group = mem_zalloc(f.v.count, sizeof(*v.group));
		v.interval = mem_zalloc(f.v.count, sizeof(*v.interval));
		v.sure = mem_zalloc(f.v.count, sizeof(*v.sure));
		rc = compare_tree(x, &f, &v, err);
	}
	if (!rc) {
		write_tree(names, x->r, &f, j);
		write_verdicts(&v, f.v.count, j);
	}
	mem_free(v.group);
	mem_free(v.interval);
	mem_free(v.sure);
	flame_fini(&f);
	return rc;
}

/* Build one tree and write its columns. `x`: the comparison, or NULL. */
static int build_tree(struct names *names, const struct report *r,
		      enum flame_walk walk, struct compared_flame *x,
		      struct json *j, struct err *err)
{
	struct flame f;
	int rc;

	if (x)
		return build_compared_tree(names, x, walk, j, err);
	rc = flame_init(&f, r, walk, r->o->max_nodes, err);
	if (!rc)
		write_tree(names, r, &f, j);
	flame_fini(&f);
	return rc;
}

/*
 * Write all members but the last ones of a comparison. The callers of the pivot
 * are a second tree, next to that of the callees.
 */
static int write_graph(struct report *r, struct compared_flame *x,
		       struct json *j, struct err *err)
{
	enum flame_walk walk = flame_walk_of(r->o);
	struct names names;
	int rc;

	names_init(&names, r);
	report_head_json(r, j);
	rc = build_tree(&names, r, walk, x, j, err);
	if (!rc && walk == FLAME_CALLEES) {
		json_key(j, "callers");
		json_begin(j, '{');
		rc = build_tree(&names, r, FLAME_CALLERS, x, j, err);
		json_end(j, '}');
	}
	write_strings(&names, j);
	names_fini(&names);
	return rc;
}

int report_flamegraph_json(struct report *r, struct json *j, struct err *err)
{
	int rc;

	json_begin(j, '{');
	rc = write_graph(r, NULL, j, err);
	json_end(j, '}');
	return rc;
}

int report_flamegraph_errors(struct report *r, struct compare *c,
			     struct json *j, struct err *err)
{
	struct compared_flame x = { .r = r, .compare = c };
	int rc = compared_weigh(&x, r, err);

	json_begin(j, '{');
	if (!rc)
		rc = write_graph(r, &x, j, err);
	compare_doubts_json(c, &x.result, j);
	json_end(j, '}');
	compared_fini(&x);
	return rc;
}
