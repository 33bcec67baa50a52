/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coverage: when the machine of a series was sampled, as the heartbeats of the
 * eBPF collector tell (docs/ebpf.md, "Heartbeats"). A program that was not
 * running has no profile, and neither has one on a machine that nobody sampled:
 * only heartbeats tell zero from unknown.
 *
 * A series has heartbeats if it has the name and the job of the collector's
 * profiles, and all labels of the heartbeats but for the name. If several series
 * of heartbeats fit, those with most labels count.
 *
 * Ownership: coverage_fini() frees everything; the database and the work are
 * borrowed.
 * Threads: one thread per query.
 */
#ifndef QUERY_SELECT_COVERAGE_H
#define QUERY_SELECT_COVERAGE_H

#include "base/table.h"
#include "base/vec.h"
#include "query/select/query_work.h"
#include "tsdb/query/querier.h"

/* A span of time without a gap, in ms. */
struct time_span {
	int64_t from;
	int64_t to;    /* exclusive */
	int64_t reach; /* the largest `to` of this span and those before it */
};

/* When the machine of some series was sampled. */
struct coverage_node {
	struct labels *labels; /* of its heartbeats */
	/*
	 * By their begins. They overlap if a clock was set back, or if two
	 * collectors have sampled the machine, whose profiles are added up: the
	 * time counts twice then.
	 */
	VEC(struct time_span) spans;
	int64_t last_from; /* the interval that ends last */
	int64_t last_to;
	int64_t interval; /* the longer one of the last two intervals */
};

/* Heartbeats that were read: those that have some labels, and others. */
struct coverage_asked {
	struct labels *key;
	size_t first; /* the machines that were found; next to each other */
	size_t count;
};

/* The machines of the series of one query. */
struct coverage {
	struct tsdb *db;
	struct query_work *work;
	int64_t from; /* the range in which heartbeats are read */
	int64_t to;
	struct querier *q; /* NULL: nobody asks for heartbeats */
	int64_t taken;     /* bytes taken from the budget for it */
	struct err lost;   /* why heartbeats could not be read; code 0: none */
	VEC(struct coverage_node) nodes;
	VEC(struct coverage_asked) asked;
	struct table by_key; /* finds `asked` */
};

/*
 * Begin without a machine. Heartbeats come after the profiles of their interval,
 * so this is called before a querier of profiles is opened: otherwise, programs
 * whose profiles the querier does not have yet would seem idle.
 */
void coverage_init(struct coverage *c, struct tsdb *db, struct query_work *work,
		   int64_t from, int64_t to);

/* Free everything. */
void coverage_fini(struct coverage *c);

/*
 * Read the heartbeats of a series, unless they have been read. *out is NULL if it
 * has none in the range; it is valid until the next call. Errors as for
 * query_select(); heartbeats that cannot be read are left out.
 */
NODISCARD int coverage_find(struct coverage *c, struct labels *series,
			    const struct coverage_node **out, struct err *err);

/* Return why heartbeats are missing in what was found; NULL: none are. */
const struct err *coverage_lost(const struct coverage *c);

/* Return for how many milliseconds of [from, to) the machine was sampled. */
int64_t coverage_overlap(const struct coverage_node *n, int64_t from,
			 int64_t to);

/* Return for how many milliseconds the machine was sampled in all. */
int64_t coverage_length(const struct coverage_node *n);

/* Whether the machine was sampled at this time. */
bool coverage_has(const struct coverage_node *n, int64_t ms);

/*
 * Return until when the last interval tells what happens, in an answer that ends
 * at `to`: until `to`, while the next heartbeat may still be on its way, and the
 * gap is at most `fill_ms`; else until its own end.
 */
int64_t coverage_held(const struct coverage_node *n, int64_t to,
		      int64_t fill_ms);

/* Whether a time is before all heartbeats of the range. */
bool coverage_is_later(const struct coverage_node *n, int64_t ms);

#endif
