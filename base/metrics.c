/* SPDX-License-Identifier: Apache-2.0 */
#include "base/metrics.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/mutex.h"

/*
 * Upper bounds of a histogram's buckets, in milliseconds; one more bucket
 * counts longer durations.
 */
static const int64_t bounds_ms[] = { 1,    2,    5,     10,    25,
				     50,   100,  250,   500,   1000,
				     2500, 5000, 10000, 30000, 60000 };

/*
 * A histogram: the number of observations in each bucket, and the sum of all
 * observed durations. The counts are not cumulative, so that an observation
 * changes only one bucket; write_histogram() adds them up.
 */
struct histogram {
	_Atomic int64_t buckets[ARRAY_SIZE(bounds_ms) + 1];
	_Atomic int64_t sum_ns;
};

/*
 * The value for one combination of label values. The value is in `histogram` if
 * that member is not NULL, else in `metric`.
 */
struct child {
	/* Labels of the child, which owns their values. */
	struct metric_labels labels;
	struct metric metric;
	struct histogram *histogram;
	struct child *next;
};

/* All children of one metric name. */
struct family {
	const char *name;
	const char *help;
	enum metric_kind kind;
	double scale; /* factor for written values; 0 means 1 */
	struct child *children;
	struct family *next;
};

/*
 * Metrics that are read from elsewhere (struct metric_snapshot), and the
 * children whose values are set from the snapshot before each write.
 */
struct source {
	struct metric_snapshot snapshot;
	/* Children to set, one for each row of the snapshot. */
	struct metric **children;
	struct source *next;
};

/*
 * A registry. The lock protects the lists; values are atomics, which change
 * without the lock.
 */
struct metrics {
	struct mutex mu;
	struct family *families; /* all families, sorted by name */
	struct source *sources;
};

struct metrics *metrics_new(void)
{
	struct metrics *m = mem_new(struct metrics);

	mutex_init(&m->mu);
	return m;
}

/* Free a family and its children, with their copies of label values. */
static void family_free(struct family *f)
{
	while (f->children) {
		struct child *c = f->children;

		f->children = c->next;
		for (size_t i = 0; i < ARRAY_SIZE(c->labels.value); i++)
			mem_free(c->labels.value[i]);
		mem_free(c->histogram);
		mem_free(c);
	}
	mem_free(f);
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	while (m->families) {
		struct family *f = m->families;

		m->families = f->next;
		family_free(f);
	}
	while (m->sources) {
		struct source *src = m->sources;

		m->sources = src->next;
		mem_free(src->children);
		mem_free(src);
	}
	mutex_destroy(&m->mu);
	mem_free(m);
}

/* Find or create a family, keeping the list sorted by name. */
static struct family *family_locked(struct metrics *m, const char *name,
				    const char *help, enum metric_kind kind)
	REQUIRES(m->mu)
{
	struct family **at = &m->families;
	struct family *f;

	while (*at && strcmp((*at)->name, name) < 0)
		at = &(*at)->next;
	if (*at && !strcmp((*at)->name, name))
		return *at;
	f = mem_new(struct family);
	f->name = name;
	f->help = help;
	f->kind = kind;
	f->next = *at;
	*at = f;
	return f;
}

/* Whether two label lists have the same names and values in the same order. */
static bool metrics_same_labels(const struct metric_labels *a,
				const struct metric_labels *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(a->name); i++) {
		if (!a->name[i] != !b->name[i])
			return false;
		if (a->name[i] && (strcmp(a->name[i], b->name[i]) != 0 ||
				   strcmp(a->value[i], b->value[i]) != 0))
			return false;
	}
	return true;
}

/*
 * Find or create a child; a family has so few children that a linear search
 * suffices.
 */
static struct child *child_locked(struct family *f,
				  const struct metric_labels *labels)
{
	static const struct metric_labels none;
	struct child **at = &f->children;
	struct child *c;

	if (!labels)
		labels = &none;
	for (; *at; at = &(*at)->next) {
		if (metrics_same_labels(&(*at)->labels, labels))
			return *at;
	}
	c = mem_new(struct child);
	/* A NULL name ends the list; a value without a name is ignored. */
	for (size_t i = 0; i < ARRAY_SIZE(c->labels.value); i++) {
		if (!labels->name[i])
			break;
		c->labels.name[i] = labels->name[i];
		c->labels.value[i] = mem_strdup(labels->value[i]);
	}
	*at = c;
	return c;
}

/*
 * Find or create a child under the lock. Registering twice is not an error:
 * several modules may share a metric.
 */
static struct child *child_of(struct metrics *m, const char *name,
			      const char *help, enum metric_kind kind,
			      const struct metric_labels *labels)
{
	struct child *c;

	mutex_lock(&m->mu);
	c = child_locked(family_locked(m, name, help, kind), labels);
	if (kind == METRIC_HISTOGRAM && !c->histogram)
		c->histogram = mem_new(struct histogram);
	mutex_unlock(&m->mu);
	return c;
}

struct metric *metrics_counter(struct metrics *m, const char *name,
			       const char *help,
			       const struct metric_labels *labels)
{
	return &child_of(m, name, help, METRIC_COUNTER, labels)->metric;
}

struct metric *metrics_gauge(struct metrics *m, const char *name,
			     const char *help,
			     const struct metric_labels *labels)
{
	return &child_of(m, name, help, METRIC_GAUGE, labels)->metric;
}

/* Create the metric that `row` describes, with the row's scale. */
static struct metric *metrics_add_row(struct metrics *m,
				      const struct metric_row *row)
{
	struct metric_labels labels = { { row->label }, { row->value } };
	struct child *c = child_of(m, row->name, row->help, row->kind, &labels);

	if (row->scale != 0)
		metrics_scale(m, row->name, row->scale);
	return &c->metric;
}

void metrics_register(struct metrics *m, const struct metric_row *rows,
		      size_t count, void *owner)
{
	for (size_t i = 0; i < count; i++) {
		struct metric *child = metrics_add_row(m, &rows[i]);

		/* NOLINTNEXTLINE(bugprone-sizeof-expression): of the pointer */
		memcpy((char *)owner + rows[i].offset, &child, sizeof(child));
	}
}

void metrics_register_snapshot(struct metrics *m,
			       const struct metric_snapshot *s)
{
	struct source *src = mem_new(struct source);

	src->snapshot = *s;
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): of the pointers */
	src->children = mem_zalloc(s->count, sizeof(*src->children));
	for (size_t i = 0; i < s->count; i++)
		src->children[i] = metrics_add_row(m, &s->rows[i]);
	mutex_lock(&m->mu);
	src->next = m->sources;
	m->sources = src;
	mutex_unlock(&m->mu);
}

struct histogram *metrics_histogram(struct metrics *m, const char *name,
				    const char *help,
				    const struct metric_labels *labels)
{
	return child_of(m, name, help, METRIC_HISTOGRAM, labels)->histogram;
}

void metrics_scale(struct metrics *m, const char *name, double scale)
{
	mutex_lock(&m->mu);
	for (struct family *f = m->families; f; f = f->next) {
		if (!strcmp(f->name, name))
			f->scale = scale;
	}
	mutex_unlock(&m->mu);
}

void histogram_observe(struct histogram *h, int64_t ns)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(bounds_ms) && ns > bounds_ms[i] * 1000000)
		i++;
	atomic_fetch_add(&h->buckets[i], 1);
	atomic_fetch_add(&h->sum_ns, ns);
}

/*
 * Append a label value as the format requires: newline, quote and backslash are
 * escaped.
 */
static void write_escaped(struct buf *out, const char *value)
{
	for (; *value; value++) {
		if (*value == '\n') {
			buf_str(out, "\\n");
			continue;
		}
		if (*value == '"' || *value == '\\')
			buf_byte(out, '\\');
		buf_byte(out, (uint8_t)*value);
	}
}

/*
 * Append `name` and `suffix`, then in braces the labels and, unless `le` is
 * NULL, a label "le" (the upper bound of a bucket). Braces are left out when
 * there are no labels.
 */
static void metrics_write_name(struct buf *out, const char *name,
			       const char *suffix,
			       const struct metric_labels *labels,
			       const char *le)
{
	bool any = false;

	buf_str(out, name);
	buf_str(out, suffix);
	for (size_t i = 0; i < ARRAY_SIZE(labels->name) && labels->name[i];
	     i++) {
		buf_str(out, any ? "," : "{");
		buf_str(out, labels->name[i]);
		buf_str(out, "=\"");
		write_escaped(out, labels->value[i]);
		buf_byte(out, '"');
		any = true;
	}
	if (le)
		buf_printf(out, "%sle=\"%s\"", any ? "," : "{", le);
	buf_str(out, any || le ? "} " : " ");
}

/*
 * Append the lines of a histogram. Buckets are cumulative in the exposition.
 * Other threads may record observations meanwhile, so _count is computed from
 * the bucket counts that were read, and always agrees with them.
 */
static void write_histogram(struct buf *out, const struct family *f,
			    const struct child *c)
{
	struct histogram *h = c->histogram;
	int64_t count = 0;
	char le[32];

	for (size_t i = 0; i <= ARRAY_SIZE(bounds_ms); i++) {
		count += atomic_load(&h->buckets[i]);
		if (i < ARRAY_SIZE(bounds_ms))
			snprintf(le, sizeof(le), "%g",
				 (double)bounds_ms[i] / 1000);
		else
			snprintf(le, sizeof(le), "+Inf");
		metrics_write_name(out, f->name, "_bucket", &c->labels, le);
		buf_printf(out, "%lld\n", (long long)count);
	}
	metrics_write_name(out, f->name, "_sum", &c->labels, NULL);
	buf_printf(out, "%.9g\n", (double)atomic_load(&h->sum_ns) / 1e9);
	metrics_write_name(out, f->name, "_count", &c->labels, NULL);
	buf_printf(out, "%lld\n", (long long)count);
}

/* Append the value of one child. */
static void write_child(struct buf *out, const struct family *f,
			const struct child *c)
{
	int64_t v;

	if (c->histogram) {
		write_histogram(out, f, c);
		return;
	}
	v = metric_get(&c->metric);
	metrics_write_name(out, f->name, "", &c->labels, NULL);
	if (f->scale != 0)
		buf_printf(out, "%.9g\n", (double)v * f->scale);
	else
		buf_printf(out, "%lld\n", (long long)v);
}

/* Take one snapshot, and set the values that come from it. */
static void source_read(const struct source *src)
{
	const struct metric_snapshot *s = &src->snapshot;
	char *snapshot = mem_alloc(s->size);

	s->take(s->ctx, snapshot);
	for (size_t i = 0; i < s->count; i++) {
		int64_t v;

		memcpy(&v, snapshot + s->rows[i].offset, sizeof(v));
		metric_set(src->children[i], v);
	}
	mem_free(snapshot);
}

void metrics_write(struct metrics *m, struct buf *out)
{
	static const char *const kinds[] = { "counter", "gauge", "histogram" };

	mutex_lock(&m->mu);
	for (const struct source *src = m->sources; src; src = src->next)
		source_read(src);
	for (struct family *f = m->families; f; f = f->next) {
		buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", f->name,
			   f->help, f->name, kinds[f->kind]);
		for (struct child *c = f->children; c; c = c->next)
			write_child(out, f, c);
	}
	mutex_unlock(&m->mu);
}
