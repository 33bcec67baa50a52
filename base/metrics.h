/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics in Prometheus' text exposition format 0.0.4.
 *
 * A registry holds families (name, HELP, TYPE), and a family holds one child
 * for each combination of label values. Values are 64-bit integers. If a family
 * has a scale, its values are multiplied by the scale when they are written:
 * for example, durations are counted in nanoseconds and written in seconds.
 *
 * Ownership: the registry owns families and children, which live as long as the
 * registry.
 * Threads: any; registering and writing take the registry's lock, changing a
 * value is a single atomic operation.
 */
#ifndef BASE_METRICS_H
#define BASE_METRICS_H

#include <stdatomic.h>

#include "base/buf.h"

/* A registry: all metrics that one exposition contains. */
struct metrics;

/* One child: the value of a counter or gauge. */
struct metric {
	_Atomic int64_t value;
};

/* One child of a histogram family. */
struct histogram;

enum {
	METRIC_LABELS_MAX = 3
};

/*
 * The labels that identify a child; the first NULL in `name`, or the end of the
 * array, ends the list.
 */
struct metric_labels {
	const char *name[METRIC_LABELS_MAX];
	const char *value[METRIC_LABELS_MAX];
};

enum metric_kind {
	METRIC_COUNTER,
	METRIC_GAUGE,
	METRIC_HISTOGRAM
};

/*
 * One row of a table of metrics. It describes a counter or a gauge, and the
 * member of a struct that holds its value. A metric is added by adding a row.
 * All strings are constants.
 */
struct metric_row {
	const char *name;
	const char *help;
	/*
	 * Offset of the metric's member in its struct. The member is a struct
	 * metric * for metrics_register(), and an int64_t for
	 * metrics_register_snapshot().
	 */
	size_t offset;
	enum metric_kind kind;
	/* factor for written values, as in metrics_scale(); 0 means 1 */
	double scale;
	const char *label; /* name of the only label; NULL: no label */
	const char *value;
};

/*
 * A struct metric_row for the member `member` of the struct `owner`. More
 * members of the row may follow, as in METRIC_ROW(COUNTER, struct s, ok,
 * "name", "help", .scale = 1e-9).
 */
#define METRIC_ROW(kind_, owner, member, name_, help_, ...)                \
	{                                                                  \
		.name = (name_), .help = (help_),                          \
		.offset = offsetof(owner, member), .kind = METRIC_##kind_, \
		##__VA_ARGS__                                              \
	}

/*
 * Metrics whose values are kept elsewhere and read when the metrics are
 * written. take() fills one snapshot, a struct of `size` bytes, and each row's
 * value is the 64-bit integer at the row's offset in the snapshot. take() is
 * called once for each metrics_write(), with the registry's lock held, so it
 * must not use the registry; ctx must live as long as the registry.
 */
struct metric_snapshot {
	const struct metric_row *rows;
	size_t count;
	size_t size;
	void (*take)(void *ctx, void *snapshot);
	void *ctx;
};

/* Create an empty registry; the caller frees it with metrics_free(). */
struct metrics *metrics_new(void);

/* Free a registry with everything in it; NULL is a no-op. */
void metrics_free(struct metrics *m);

/*
 * Return the counter of the family `name` with these labels (NULL: none),
 * creating family and child when they do not exist. The registry owns the child
 * and copies label values; name, help and label names must be string constants.
 * The first call determines a family's help and type.
 */
struct metric *metrics_counter(struct metrics *m, const char *name,
			       const char *help,
			       const struct metric_labels *labels);

/* Return a gauge, as metrics_counter() returns a counter. */
struct metric *metrics_gauge(struct metrics *m, const char *name,
			     const char *help,
			     const struct metric_labels *labels);

/*
 * Create the metrics of a table, and set the `struct metric *` at each row's
 * offset in *owner.
 */
void metrics_register(struct metrics *m, const struct metric_row *rows,
		      size_t count, void *owner);

/* Create metrics that are read from a snapshot; *s is copied. */
void metrics_register_snapshot(struct metrics *m,
			       const struct metric_snapshot *s);

/*
 * Return a histogram of durations in seconds, with buckets from 1 ms to 60 s.
 * It is created and owned as in metrics_counter().
 */
struct histogram *metrics_histogram(struct metrics *m, const char *name,
				    const char *help,
				    const struct metric_labels *labels);

/*
 * Set the scale of an existing family: values of its counters and gauges are
 * multiplied by `scale` when they are written.
 */
void metrics_scale(struct metrics *m, const char *name, double scale);

/* Add n to a counter or gauge. */
static inline void metric_add(struct metric *m, int64_t n)
{
	atomic_fetch_add_explicit(&m->value, n, memory_order_relaxed);
}

/* Set a gauge. */
static inline void metric_set(struct metric *m, int64_t v)
{
	atomic_store_explicit(&m->value, v, memory_order_relaxed);
}

/* Return the current value. */
static inline int64_t metric_get(const struct metric *m)
{
	return atomic_load_explicit(&m->value, memory_order_relaxed);
}

/* Record one duration of `ns` nanoseconds. */
void histogram_observe(struct histogram *h, int64_t ns);

/* Append the whole exposition to `out`, families sorted by name. */
void metrics_write(struct metrics *m, struct buf *out);

#endif
