/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flame levels: a flame tree as bars, level by level, as Grafana Pyroscope and
 * Grafana exchange flame graphs. The bars of a level are in order from left to
 * right; a bar begins where the bars of its parent's own weight end.
 *
 * Source: github.com/grafana/pyroscope, pkg/model/flamegraph.go and
 * flamegraph_diff.go; Grafana's levelsToTree.
 *
 * Ownership: flame_levels_fini() frees everything; names are copied.
 * Threads: one thread per report.
 */
#ifndef PPROF_REPORT_FLAME_LEVELS_H
#define PPROF_REPORT_FLAME_LEVELS_H

#include "pprof/profile/strtab.h"
#include "pprof/report/flame.h"

/*
 * Numbers of a bar: its distance from the end of the bar before it in the level
 * (or from 0), total, self, and the index of its name. A difference has the first
 * three for each side, that of the base first.
 */
enum {
	FLAME_BAR = 4,
	FLAME_BAR_DIFF = 7
};

/* The bars of a tree. */
struct flame_levels {
	/* The names: string i + 1 is name i. Name 0 is "total", of the root. */
	struct strtab strings;
	VEC(int64_t) values; /* FLAME_BAR or FLAME_BAR_DIFF for each bar */
	VEC(size_t) starts;  /* where the levels begin in `values` */
	int64_t total;       /* of the root; of both sides together */
	int64_t base_total;  /* of a difference: of each side */
	int64_t now_total;
	int64_t max_self;
};

/*
 * Make the levels of a tree. Bars without weight are left out, as Grafana would
 * put them on a wrong parent. The folded children of a node are its last bar, by
 * the name "other". ERR_LIMIT, ERR_TIMEOUT: the limits of the report. The caller
 * calls flame_levels_fini() in any case.
 */
NODISCARD int flame_levels_init(struct flame_levels *l, const struct report *r,
				const struct flame *f, struct err *err);

/* Free everything. */
void flame_levels_fini(struct flame_levels *l);

/* Return the values of a level. */
static inline struct pprof_run flame_level(const struct flame_levels *l,
					   size_t level)
{
	size_t end = level + 1 < l->starts.count ? l->starts.v[level + 1] :
						   l->values.count;

	return (struct pprof_run){ (uint32_t)l->starts.v[level],
				   (uint32_t)(end - l->starts.v[level]) };
}

#endif
