/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comparisons of a real fleet with itself (bench/busy_fleet.py), where nothing has
 * changed: how many find a change, and how many of the changes that are made are
 * found. Prints the figures, and fails if they are worse than docs/comparing.md
 * says.
 *
 * usage: compare_fleet FOLDER [SPLITS]
 */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/file_slurp.h"
#include "base/gzip.h"
#include "pprof/compare/compare.h"
#include "pprof/merge/merge.h"
#include "pprof/proto/decode.h"

#define FILE_LARGEST ((size_t)64 << 20)
#define INSTANCES    64
#define WINDOW_MS    300000

/* A value of one sample of a profile. */
struct drop {
	uint32_t sample;
	int64_t value;
};

struct taken {
	int64_t ms;
	uint32_t instance;
	size_t first; /* its values in fleet.drops */
	size_t end;
};

/* An instance was started again at some time in between. */
struct restart {
	uint32_t instance;
	int64_t after;
	int64_t before;
};

struct fleet {
	struct merge *merge;
	struct decoder *decoder;
	struct gzip *gzip;
	char *jobs[INSTANCES]; /* the name without its number */
	uint32_t instances;
	VEC(struct taken) profiles;
	VEC(struct drop) drops;
	struct pprof *p;
	struct nodes nodes;
	size_t type;
	struct buf body; /* of the file that is being read */
	struct buf raw;
	VEC(struct restart) restarts;
	uint32_t *leaf;    /* by stack: the function that is running */
	int64_t allocated; /* by the instance that is being read */
	int64_t heap_ms;
};

/* xorshift64*, so that a run can be repeated. */
static uint64_t luck = 88172645463325252u;

static double chance(void)
{
	luck ^= luck >> 12;
	luck ^= luck << 25;
	luck ^= luck >> 27;
	return (double)(luck * 0x2545f4914f6cdd1du >> 11) * 0x1p-53;
}

static void take(void *ctx, uint32_t sample, int64_t value)
{
	struct fleet *f = ctx;

	*vec_add(&f->drops) = (struct drop){ sample, value };
}

static void must(int rc, const char *what, const struct err *err)
{
	if (!rc)
		return;
	fprintf(stderr, "%s: %s\n", what, err->msg);
	exit(1);
}

/* Decode a file. The profile is valid until the next call. */
static struct pprof *decode_file(struct fleet *f, const char *path)
{
	struct pprof *p;
	struct err err;

	buf_reset(&f->body);
	buf_reset(&f->raw);
	must(file_drain(path, &f->body, &err), path, &err);
	must(gzip_decompress(f->gzip, buf_bytes(&f->body), &f->raw, &err), path,
	     &err);
	must(decoder_run(f->decoder, buf_bytes(&f->raw), &p, &err), path, &err);
	return p;
}

/* A CPU profile of an instance. */
static void load_cpu(struct fleet *f, const char *path, int64_t ms)
{
	struct taken t = { .ms = ms, .instance = f->instances };
	struct pprof *p = decode_file(f, path);
	struct err err;

	must(merge_add(f->merge, p, NULL, &err), path, &err);
	must(pprof_type_index(p, (struct str){ 0 }, &f->type, &err), path,
	     &err);
	t.first = f->drops.count;
	merge_collected(f->merge, f->type, 1, take, f);
	t.end = f->drops.count;
	*vec_add(&f->profiles) = t;
}

/* A heap of an instance: it was started again if it has allocated less than before. */
static void load_heap(struct fleet *f, const char *path, int64_t ms)
{
	struct pprof *p = decode_file(f, path);
	int64_t total = 0;

	for (size_t i = 0; i < p->samples.count; i++)
		total += pprof_values(p, i)[0];
	if (total < f->allocated)
		*vec_add(&f->restarts) =
			(struct restart){ f->instances, f->heap_ms, ms };
	f->allocated = total;
	f->heap_ms = ms;
}

/* Load all profiles of a type, in the order of their times. */
static int load_type(struct fleet *f, const char *folder, const char *type,
		     void (*load)(struct fleet *f, const char *path,
				  int64_t ms))
{
	char path[4096];
	struct dirent **files;
	int n;
	int loaded = 0;

	snprintf(path, sizeof(path), "%s/%s", folder, type);
	n = scandir(path, &files, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		if (*files[i]->d_name != '.') {
			snprintf(path, sizeof(path), "%s/%s/%s", folder, type,
				 files[i]->d_name);
			load(f, path, atoll(files[i]->d_name));
			loaded++;
		}
		free(files[i]);
	}
	if (n >= 0)
		free(files);
	return loaded;
}

static void load_instance(struct fleet *f, const char *folder, const char *name)
{
	char path[2048];

	if (f->instances == INSTANCES)
		return;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (!load_type(f, path, "profile", load_cpu))
		return;
	f->allocated = 0;
	load_type(f, path, "heap", load_heap);
	f->jobs[f->instances] = mem_strdup(name);
	if (strrchr(f->jobs[f->instances], '-'))
		*strrchr(f->jobs[f->instances], '-') = 0;
	f->instances++;
}

/* Find the function that is running in each stack, by its number in the merge. */
static void find_leaves(struct fleet *f)
{
	size_t most = 0;

	for (size_t i = 0; i < f->p->samples.count; i++) {
		size_t id = (size_t)pprof_values(f->p, i)[0] - 1;

		most = id > most ? id : most;
	}
	f->leaf = mem_zalloc(most + 1, sizeof(*f->leaf));
	for (size_t i = 0; i < f->p->samples.count; i++) {
		const struct pprof_run *stack = pprof_stack(f->p, i);
		size_t id = (size_t)pprof_values(f->p, i)[0] - 1;
		struct pprof_run lines;

		if (!stack->count)
			continue;
		lines = f->nodes.locations.v[f->p->frames.v[stack->first]];
		f->leaf[id] = f->nodes.of_lines.v[lines.first];
	}
}

static void load_fleet(struct fleet *f, const char *folder)
{
	struct dirent **entries;
	int n = scandir(folder, &entries, NULL, alphasort);

	f->merge = merge_new();
	merge_collect(f->merge);
	f->decoder = decoder_new((size_t)1 << 30);
	f->gzip = gzip_new();
	f->body = buf_init(FILE_LARGEST);
	f->raw = buf_init(FILE_LARGEST);
	for (int i = 0; i < n; i++) {
		if (*entries[i]->d_name != '.')
			load_instance(f, folder, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	if (!f->profiles.count) {
		fprintf(stderr, "%s has no profiles\n", folder);
		exit(1);
	}
	f->p = merge_number(f->merge, f->type);
	nodes_init(&f->nodes, f->p, GRANULARITY_FUNCTIONS, false);
	find_leaves(f);
	printf("%zu profiles of %u instances, %zu stacks, %zu functions\n",
	       f->profiles.count, f->instances, f->p->samples.count,
	       f->nodes.v.count);
}

/*
 * A change that is made: the samples of a function, without its callees, become
 * fewer by this part in the base.
 */
struct change {
	uint32_t node;
	double part; /* 0: nothing is changed */
};

/* How much a change leaves of a value of the base. */
static int64_t left_of(const struct fleet *f, const struct change *x,
		       const struct drop *d)
{
	int64_t period = f->p->period;
	int64_t left = 0;

	if (x->part <= 0 || f->leaf[d->sample] != x->node)
		return d->value;
	for (int64_t hit = 0; hit < d->value / period; hit++)
		left += chance() < x->part ? 0 : period;
	return left;
}

/* Add a profile to a side, as queries do; `from` is where the first bucket begins. */
static void add_profile(const struct fleet *f, struct compare *c,
			const struct taken *t, uint32_t side, int64_t width,
			const struct change *x)
{
	int64_t at = (t->ms + 5000) / width - c->first[side];
	uint32_t bucket = (uint32_t)at * 2 + side;
	uint32_t instance = t->instance * 2 + side;

	*compare_divisor(c, false, bucket) += 10;
	*compare_divisor(c, true, instance) += 10;
	for (size_t i = t->first; i < t->end; i++) {
		const struct drop *d = &f->drops.v[i];
		int64_t v = side ? d->value : left_of(f, x, d);

		cells_add(&c->buckets, d->sample, bucket, v);
		cells_add(&c->instances, d->sample, instance, v);
	}
}

static struct compare empty_comparison(const struct fleet *f)
{
	return (struct compare){ .by = COMPARE_SHARE,
				 .period = (double)f->p->period,
				 .alpha = 0.01,
				 .min_samples = 10 };
}

static struct compare_result judged(const struct fleet *f, struct compare *c)
{
	static const struct limits none;
	struct compare_result r;
	struct err err;

	must(compare_run(c, f->p, &f->nodes, &none, &r, &err), "compare", &err);
	return r;
}

static size_t sure_count(const struct compare_result *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->rows.count; i++)
		n += r->rows.v[i].flat.sure || r->rows.v[i].cum.sure;
	return n;
}

/*
 * Changes that are said to be visible are made, one in a comparison, and counted if
 * they are seen.
 */
struct power {
	int made;
	int seen;
};

/*
 * Choose a function of at least 100 samples and a change that the comparison says is
 * just visible. Returns whether there is one. Removing the part q of a share p leaves
 * the share p(1-q)/(1-pq).
 */
static bool choose_change(const struct compare_result *r, struct change *x)
{
	size_t first =
		r->rows.count ? (size_t)(chance() * (double)r->rows.count) : 0;

	for (size_t i = 0; i < r->rows.count; i++) {
		const struct compare_row *row =
			&r->rows.v[(first + i) % r->rows.count];
		double p = row->flat.e.ratio[ESTIMATE_BASE];
		double v = row->flat.visible;

		x->node = row->node;
		x->part = v / (p * (1 - p) + v * p);
		if (row->flat.p_all <= 1 && row->flat.samples >= 100 && p > 0 &&
		    x->part < 0.95)
			return true;
	}
	return false;
}

/* Count whether a change is seen: the function weighs more in the new side. */
static void count_power(struct power *w, const struct compare_result *r,
			const struct change *x)
{
	w->made++;
	for (size_t i = 0; i < r->rows.count; i++) {
		const struct compare_row *row = &r->rows.v[i];

		w->seen += row->node == x->node && row->flat.sure &&
			   row->flat.e.delta > 0;
	}
}

/* Print how many changes were seen; returns whether they are enough. */
static bool print_power(const struct power *w, int percent)
{
	printf("  changes that are said to be visible: %d, of which %d are seen (%.1f %%; wanted %d %%)\n",
	       w->made, w->seen, w->made ? 100.0 * w->seen / w->made : 0,
	       percent);
	return w->made && w->seen * 100 >= w->made * percent;
}

/* Whether a profile belongs to the job of an instance; every sixth time, all do. */
static bool is_of(const struct fleet *f, const struct taken *t, uint32_t like,
		  bool all)
{
	return all || !strcmp(f->jobs[t->instance], f->jobs[like]);
}

static int64_t first_ms(const struct fleet *f)
{
	int64_t first = INT64_MAX;

	for (size_t i = 0; i < f->profiles.count; i++)
		first = f->profiles.v[i].ms < first ? f->profiles.v[i].ms :
						      first;
	return first;
}

static int64_t last_ms(const struct fleet *f)
{
	int64_t last = 0;

	for (size_t i = 0; i < f->profiles.count; i++)
		last = f->profiles.v[i].ms > last ? f->profiles.v[i].ms : last;
	return last;
}

/* One side of a split, by chance that can be repeated. */
struct split {
	uint32_t like;
	bool all;
	int64_t width;
	uint64_t luck;
};

static struct compare_result judge_split(const struct fleet *f,
					 const struct split *s,
					 const struct change *x)
{
	struct compare c = empty_comparison(f);
	struct compare_result r;
	uint64_t after = luck;

	c.first[0] = c.first[1] = first_ms(f) / s->width;
	for (size_t k = 0; k < f->profiles.count; k++) {
		const struct taken *t = &f->profiles.v[k];
		bool side;

		if (!is_of(f, t, s->like, s->all))
			continue;
		/* The sides are the same ones, whatever is changed in them. */
		luck = s->luck + k * 0x9e3779b97f4a7c15u;
		(void)chance();
		side = chance() < 0.5;
		luck = after;
		add_profile(f, &c, t, side, s->width, x);
		after = luck;
	}
	r = judged(f, &c);
	compare_fini(&c);
	return r;
}

/*
 * Split the profiles of a job, or of all, at random: both sides are of the same
 * programs, so each change is a false one, unless it was made.
 */
static bool random_splits(const struct fleet *f, int splits)
{
	struct power power = { 0 };
	int flagged = 0;
	int judgements = 0;

	for (int i = 0; i < splits; i++) {
		struct split s = { .like = (uint32_t)i % f->instances,
				   .all = i % 6 == 5,
				   .width = i % 6 == 5 ? 21000 : 30000,
				   .luck = (uint64_t)i + 1 };
		struct change x = { 0 };
		struct compare_result r = judge_split(f, &s, &x);

		judgements += !r.few_buckets;
		flagged += sure_count(&r) > 0;
		if (!r.few_buckets && choose_change(&r, &x)) {
			compare_result_fini(&r);
			r = judge_split(f, &s, &x);
			count_power(&power, &r, &x);
		}
		compare_result_fini(&r);
	}
	printf("random splits: %d, of which %d could be judged, %d with a change\n",
	       splits, judgements, flagged);
	return print_power(&power, 95) && flagged <= splits / 100 &&
	       judgements > splits / 2;
}

/*
 * Whether no instance of the job was started in [from, to). All are started just
 * before the first profile, and their first minutes are unlike those after.
 */
static bool ran(const struct fleet *f, uint32_t like, int64_t from, int64_t to)
{
	if (from <= first_ms(f))
		return false;
	for (size_t i = 0; i < f->restarts.count; i++) {
		const struct restart *r = &f->restarts.v[i];

		if (!strcmp(f->jobs[r->instance], f->jobs[like]) &&
		    r->after < to && r->before >= from)
			return false;
	}
	return true;
}

/* Two windows of a job that follow each other. */
static struct compare_result judge_windows(const struct fleet *f, uint32_t like,
					   int64_t at, const struct change *x)
{
	struct compare c = empty_comparison(f);
	struct compare_result r;
	int64_t width = 15000;

	c.first[0] = at / width;
	c.first[1] = (at + WINDOW_MS) / width;
	for (size_t k = 0; k < f->profiles.count; k++) {
		const struct taken *t = &f->profiles.v[k];
		int64_t off = t->ms - at;

		if (off >= 0 && off < 2 * WINDOW_MS && is_of(f, t, like, false))
			add_profile(f, &c, t, off >= WINDOW_MS, width, x);
	}
	r = judged(f, &c);
	compare_fini(&c);
	return r;
}

/* Counts over all pairs of windows. */
struct found {
	int compared;
	int judgements;
	int bursty;
	int flagged;
	int plain; /* with a change, and not bursty */
	struct power power;
};

/* Compare two windows, with and without a change that is made. */
static void compare_windows(const struct fleet *f, uint32_t like, int64_t at,
			    struct found *n)
{
	struct change x = { 0 };
	struct compare_result r = judge_windows(f, like, at, &x);

	n->compared++;
	n->judgements += !r.few_buckets;
	n->bursty += r.bursty;
	if (sure_count(&r)) {
		n->flagged++;
		n->plain += !r.bursty;
		printf("  %s at %llds: %zu changes%s\n", f->jobs[like],
		       (long long)(at - first_ms(f)) / 1000, sure_count(&r),
		       r.bursty ? " (bursty)" : "");
	}
	if (!r.few_buckets && !r.bursty && choose_change(&r, &x)) {
		compare_result_fini(&r);
		r = judge_windows(f, like, at, &x);
		count_power(&n->power, &r, &x);
	}
	compare_result_fini(&r);
}

/*
 * Compare windows that follow each other, in blocks of 15 s, shorter than a query
 * would choose: windows of fleets without a restart are short.
 */
static bool windows(const struct fleet *f)
{
	struct found n = { 0 };

	for (uint32_t like = 0; like < f->instances; like++) {
		if (like && !strcmp(f->jobs[like], f->jobs[like - 1]))
			continue;
		for (int64_t at = first_ms(f); at + 2 * WINDOW_MS < last_ms(f);
		     at += WINDOW_MS / 2) {
			if (ran(f, like, at, at + 2 * WINDOW_MS))
				compare_windows(f, like, at, &n);
		}
	}
	printf("windows of 2 x %d s without a restart: %d, of which %d could be judged and %d are bursty, %d with a change, %d of them not bursty\n",
	       WINDOW_MS / 1000, n.compared, n.judgements, n.bursty, n.flagged,
	       n.plain);
	return print_power(&n.power, 90) && n.plain <= (n.compared + 34) / 35 &&
	       n.judgements > n.compared / 2;
}

int main(int argc, char **argv)
{
	struct fleet f = { 0 };
	int splits = argc > 2 ? atoi(argv[2]) : 1000;
	bool good;

	if (argc < 2) {
		fprintf(stderr, "usage: %s FOLDER [SPLITS]\n", argv[0]);
		return 2;
	}
	load_fleet(&f, argv[1]);
	good = random_splits(&f, splits);
	good &= windows(&f);
	printf("%s\n", good ? "good" : "worse than promised");
	return !good;
}
