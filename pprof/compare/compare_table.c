/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/compare/compare_table.h"

#include "pprof/profile/profile.h"

/* The number of a sample of p in the cells. */
size_t compare_table_id(const struct pprof *p, size_t sample)
{
	return (size_t)pprof_values(p, sample)[0] - 1;
}

/*
 * Call visit() for the nodes of a sample, each once, the leaf first. `seen` has an
 * element for each node.
 */
static void each_node(struct compare_table *t, size_t sample, uint32_t *seen,
		      void (*visit)(struct compare_table *t, uint32_t node,
				    uint32_t entry))
{
	const struct pprof_run *stack = pprof_stack(t->p, sample);
	uint32_t entry = (uint32_t)sample | COMPARE_LEAF;

	for (uint32_t f = 0; f < stack->count; f++) {
		uint32_t l = t->p->frames.v[stack->first + f];
		struct pprof_run of = t->nodes->locations.v[l];

		for (uint32_t n = 0; n < of.count; n++) {
			uint32_t node = t->nodes->of_lines.v[of.first + n];

			if (seen[node] != sample + 1)
				visit(t, node, entry);
			seen[node] = (uint32_t)sample + 1;
			entry = (uint32_t)sample;
		}
	}
}

static void count_sample(struct compare_table *t, uint32_t node, uint32_t entry)
{
	(void)entry;
	t->node_first[node + 1]++;
}

static void place_sample(struct compare_table *t, uint32_t node, uint32_t entry)
{
	t->node_samples[t->node_first[node]++] = entry;
}

/* List the samples of each node. */
static int list_samples(struct compare_table *t, struct err *err)
{
	size_t nodes = t->nodes->v.count;
	uint32_t *seen = mem_zalloc(nodes + 1, sizeof(*seen));
	size_t samples = t->p->samples.count;
	struct growth_meter meter = { 0 };
	int rc = 0;

	t->node_first = mem_zalloc(nodes + 2, sizeof(*t->node_first));
	for (size_t i = 0; i < samples && !rc; i++) {
		each_node(t, i, seen, count_sample);
		rc = limits_meter(t->limits, &meter,
				  pprof_stack(t->p, i)->count + 1, 0, err);
	}
	for (size_t n = 0; n < nodes; n++)
		t->node_first[n + 1] += t->node_first[n];
	if (!rc)
		rc = limits_spend(t->limits,
				  (t->node_first[nodes] + 3 * nodes) *
					  sizeof(uint32_t),
				  err);
	if (!rc) {
		t->node_samples = mem_zalloc(t->node_first[nodes] + 1,
					     sizeof(*t->node_samples));
		memset(seen, 0, nodes * sizeof(*seen));
		for (size_t i = 0; i < samples && !rc; i++) {
			each_node(t, i, seen, place_sample);
			rc = limits_meter(t->limits, &meter,
					  pprof_stack(t->p, i)->count + 1, 0,
					  err);
		}
		/* Each begin has moved to its end, the begin of the next. */
		memmove(t->node_first + 1, t->node_first,
			nodes * sizeof(*t->node_first));
		t->node_first[0] = 0;
	}
	mem_free(seen);
	return rc;
}

/* Add the cells of a sample to the values of a row; `instances`: all of them. */
static void add_cells(struct compare_table *t, size_t id, bool instances,
		      struct compare_values *to)
{
	const struct cell *v = t->c->buckets.v.v;

	t->cells_read += t->bucket_first[id + 1] - t->bucket_first[id];
	for (uint32_t i = t->bucket_first[id]; i < t->bucket_first[id + 1];
	     i++) {
		uint32_t side = v[i].column & 1;

		to->buckets[side][t->joined[side][v[i].column / 2]] +=
			(double)v[i].value;
	}
	if (!instances)
		return;
	t->cells_read += t->instance_first[id + 1] - t->instance_first[id];
	v = t->c->instances.v.v;
	for (uint32_t i = t->instance_first[id]; i < t->instance_first[id + 1];
	     i++)
		to->instances[v[i].column & 1][v[i].column / 2] +=
			(double)v[i].value;
}

static void values_init(const struct compare_table *t, struct compare_values *v)
{
	for (int s = 0; s < ESTIMATE_SIDES; s++) {
		v->buckets[s] =
			mem_zalloc(t->bucket_count[s] + 1, sizeof(double));
		v->instances[s] =
			mem_zalloc(t->instance_count + 1, sizeof(double));
	}
}

static void values_clear(const struct compare_table *t,
			 struct compare_values *v)
{
	for (int s = 0; s < ESTIMATE_SIDES; s++) {
		memset(v->buckets[s], 0, t->bucket_count[s] * sizeof(double));
		memset(v->instances[s], 0, t->instance_count * sizeof(double));
	}
}

static void values_fini(struct compare_values *v)
{
	for (int s = 0; s < ESTIMATE_SIDES; s++) {
		mem_free(v->buckets[s]);
		mem_free(v->instances[s]);
	}
}

/* The samples of a function. */
struct compare_entries compare_table_node(const struct compare_table *t,
					  size_t node)
{
	return (struct compare_entries){
		t->node_samples + t->node_first[node],
		t->node_first[node + 1] - t->node_first[node],
	};
}

/* The samples of a row: a function, or a group. */
struct compare_entries compare_table_row(const struct compare_table *t,
					 size_t row)
{
	const struct compare_groups *g = t->c->groups;

	return g ? (struct compare_entries){ g->samples + g->of[row].first,
					     g->of[row].count } :
		   compare_table_node(t, row);
}

/* Add up the values of samples; `leaf`: of those that are the row's own. */
void compare_table_add(struct compare_table *t, struct compare_entries e,
		       bool leaf, struct compare_values *to)
{
	/* Nobody asks how the instances of a group moved. */
	bool instances = !t->c->groups || !t->frame.same_instances;

	values_clear(t, to);
	for (size_t i = 0; i < e.count; i++) {
		size_t sample = e.v[i] & ~COMPARE_LEAF;

		if (!leaf || (e.v[i] & COMPARE_LEAF))
			add_cells(t, compare_table_id(t->p, sample), instances,
				  to);
	}
}

/* Add up the values of all samples: what shares are parts of. */
static void add_total(struct compare_table *t)
{
	values_clear(t, &t->total);
	for (size_t i = 0; i < t->p->samples.count; i++)
		add_cells(t, compare_table_id(t->p, i), true, &t->total);
}

/*
 * Join 2^shift buckets to one, which begins at a multiple of its length. Buckets
 * at the ends of the range may be cut off, and weigh less then.
 */
void compare_table_join(struct compare_table *t, unsigned int shift)
{
	struct estimate_frame *f = &t->frame;

	for (int s = 0; s < ESTIMATE_SIDES; s++) {
		int64_t first = t->c->first[s];
		size_t n = t->bucket_count[s];

		for (size_t i = 0; i < n; i++)
			t->joined[s][i] =
				(uint32_t)(((first + (int64_t)i) >> shift) -
					   (first >> shift));
		f->buckets[s].count = n ? t->joined[s][n - 1] + 1 : 0;
		memset(t->divisors[s], 0, n * sizeof(double));
		for (size_t i = 0; i < n; i++)
			t->divisors[s][t->joined[s][i]] +=
				t->c->divisors[s].buckets.v[i];
	}
	add_total(t);
	for (int s = 0; s < ESTIMATE_SIDES; s++) {
		bool share = t->c->by == COMPARE_SHARE;

		f->buckets[s].v = share ? t->total.buckets[s] : t->divisors[s];
		f->instances[s] = (struct estimate_column){
			share ? t->total.instances[s] : t->instance_divisors[s],
			t->instance_count,
		};
	}
	estimate_begin(f);
}

/* The weight of a sample on both sides. */
double compare_table_weight(const struct compare_table *t, size_t sample)
{
	return t->sample_sums[ESTIMATE_BASE][sample] +
	       t->sample_sums[ESTIMATE_NEW][sample];
}

/* Add up the cells of each sample. */
static void sum_samples(struct compare_table *t)
{
	size_t samples = t->p->samples.count;

	for (int s = 0; s < ESTIMATE_SIDES; s++)
		t->sample_sums[s] = mem_zalloc(samples + 1, sizeof(double));
	for (size_t i = 0; i < samples; i++) {
		size_t id = compare_table_id(t->p, i);

		for (uint32_t k = t->bucket_first[id];
		     k < t->bucket_first[id + 1]; k++) {
			const struct cell *v = &t->c->buckets.v.v[k];

			t->sample_sums[v->column & 1][i] += (double)v->value;
		}
	}
}

/* Prepare the cells, the lists of samples and the scratch memory. */
int compare_table_init(struct compare_table *t, struct err *err)
{
	struct compare *c = t->c;
	size_t samples = t->p->samples.count;
	size_t columns = 0;
	size_t ids = cells_samples(&c->buckets);
	int rc;

	for (size_t i = 0; i < samples; i++)
		ids = compare_table_id(t->p, i) >= ids ?
			      compare_table_id(t->p, i) + 1 :
			      ids;
	for (int s = 0; s < ESTIMATE_SIDES; s++) {
		struct compare_divisors *d = &c->divisors[s];

		t->bucket_count[s] = d->buckets.count;
		t->instance_count = d->instances.count > t->instance_count ?
					    d->instances.count :
					    t->instance_count;
		columns += d->buckets.count + d->instances.count;
	}
	/* Sorting may need another copy of the cells. */
	rc = limits_spend(t->limits,
			  (c->buckets.v.count + c->instances.v.count) *
					  sizeof(struct cell) +
				  ids * 2 * sizeof(uint32_t) +
				  samples * ESTIMATE_SIDES * sizeof(double) +
				  columns * 10 * sizeof(double),
			  err);
	if (rc)
		return rc;
	t->bucket_first = cells_sort(&c->buckets, ids);
	t->instance_first = cells_sort(&c->instances, ids);
	sum_samples(t);
	for (int s = 0; s < ESTIMATE_SIDES; s++) {
		struct compare_divisors *d = &c->divisors[s];

		t->joined[s] =
			mem_zalloc(t->bucket_count[s] + 1, sizeof(**t->joined));
		t->divisors[s] =
			mem_zalloc(t->bucket_count[s] + 1, sizeof(double));
		t->instance_divisors[s] =
			mem_zalloc(t->instance_count + 1, sizeof(double));
		if (d->instances.count)
			memcpy(t->instance_divisors[s], d->instances.v,
			       d->instances.count * sizeof(double));
	}
	values_init(t, &t->total);
	values_init(t, &t->values);
	return list_samples(t, err);
}

void compare_table_fini(struct compare_table *t)
{
	mem_free(t->bucket_first);
	mem_free(t->instance_first);
	mem_free(t->node_first);
	mem_free(t->node_samples);
	for (int s = 0; s < ESTIMATE_SIDES; s++) {
		mem_free(t->sample_sums[s]);
		mem_free(t->joined[s]);
		mem_free(t->divisors[s]);
		mem_free(t->instance_divisors[s]);
	}
	values_fini(&t->total);
	values_fini(&t->values);
}
