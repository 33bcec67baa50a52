/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics in Prometheus' text exposition format 0.0.4.
 *
 * A registry holds families (name, HELP, TYPE), a family its children by
 * label pair. Values are 64-bit integers; a family with a scale is printed
 * multiplied by it (nanoseconds counted, seconds shown).
 *
 * Ownership: the registry owns families and children; they live as long as it.
 * Threads: registering and writing lock inside; adding is one atomic.
 */
#ifndef BASE_METRICS_H
#define BASE_METRICS_H

#include <stdatomic.h>

#include "base/buf.h"

struct metrics;

/* One child: a counter or gauge. */
struct metric {
	_Atomic int64_t value;
};

struct histogram;

/* What identifies a child: at most two labels; NULL ends the list. */
struct metric_labels {
	const char *name[2];
	const char *value[2];
};

typedef int64_t (*metric_fn)(void *ctx);

struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);

/*
 * The child of the family with these labels (NULL: none), made if need be.
 * name and help must be string constants, and a family's help always the same.
 */
struct metric *metrics_counter(struct metrics *m, const char *name,
			       const char *help,
			       const struct metric_labels *labels);
struct metric *metrics_gauge(struct metrics *m, const char *name,
			     const char *help,
			     const struct metric_labels *labels);

/* A gauge or counter whose value is asked for when it is shown. */
void metrics_gauge_fn(struct metrics *m, const char *name, const char *help,
		      metric_fn fn, void *ctx);
void metrics_counter_fn(struct metrics *m, const char *name, const char *help,
			metric_fn fn, void *ctx);

/* A histogram of durations in seconds, 1 ms to 60 s. */
struct histogram *metrics_histogram(struct metrics *m, const char *name,
				    const char *help,
				    const struct metric_labels *labels);

/* Show this family's values multiplied by scale. */
void metrics_scale(struct metrics *m, const char *name, double scale);

static inline void metric_add(struct metric *m, int64_t n)
{
	atomic_fetch_add_explicit(&m->value, n, memory_order_relaxed);
}

static inline void metric_set(struct metric *m, int64_t v)
{
	atomic_store_explicit(&m->value, v, memory_order_relaxed);
}

static inline int64_t metric_get(const struct metric *m)
{
	return atomic_load_explicit(&m->value, memory_order_relaxed);
}

void histogram_observe(struct histogram *h, int64_t ns);

/* Append the whole exposition, families by name. */
void metrics_write(struct metrics *m, struct buf *out);

#endif
