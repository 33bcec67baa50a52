/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes: when programs changed in a time range, to be shown on a graph. A
 * change is a new value of a label such as "version", a new build ID of series
 * that have no such label, or a restart. Build IDs are read from some profiles
 * (build_search.h); nothing else of a profile is read. Restarts show as counters
 * that fall. Of targets whose selected profiles have no counters, heap profiles
 * are looked at in their place.
 *
 * Ownership: changes_fini() frees everything; the options are borrowed.
 * Threads: one thread per query.
 */
#ifndef QUERY_HISTORY_CHANGES_H
#define QUERY_HISTORY_CHANGES_H

#include "base/arena.h"
#include "base/json.h"
#include "base/table.h"
#include "base/vec.h"
#include "query/merge/build_search.h"
#include "query/select/query_spec.h"

enum {
	/* Largest number of changes in an answer. */
	CHANGES_MAX = 200,
	/* Largest number of instances that are listed with a change. */
	CHANGE_INSTANCES_MAX = 20,
};

/* Options of a search for changes. */
struct changes_options {
	const struct query_spec *spec; /* the series and the time range */
	int64_t step_ms;               /* changes of one step share an entry */
	/*
	 * Names of the labels whose new values are changes, separated by
	 * commas.
	 */
	struct str labels;
	size_t decode_memory; /* largest size of a decoded profile, in bytes */
};

/* The kinds of changes. */
enum change_kind {
	CHANGE_LABEL,
	CHANGE_BUILD_ID,
	CHANGE_RESTART,
};

/* One change. */
struct change {
	int64_t ms;
	enum change_kind kind;
	struct str name;      /* name of the label; else empty */
	VEC(struct str) jobs; /* jobs of the series that changed */
	/* Their programs, of series that are programs of a machine. */
	VEC(struct str) programs;
	/* The instances that restarted; empty if there are too many. */
	VEC(struct str) instances;
	bool many_instances;
	VEC(struct str) from;
	VEC(struct str) to;
	size_t series;
};

/* The changes of a time range. */
struct changes {
	const struct changes_options *o;
	struct query_work *work;
	struct label_spans spans;
	struct build_search builds;
	VEC(struct change) found; /* sorted by time */
	size_t left_out;          /* number of changes beyond CHANGES_MAX */
	int64_t taken;
	/*
	 * Targets whose restarts are looked for in heap profiles: hashes of
	 * their labels.
	 */
	VEC(uint64_t) targets;
	struct table target_index;
};

/*
 * Find the changes. ERR_INVALID: the step is not above 0; ERR_LIMIT,
 * ERR_TIMEOUT and ERR_CLOSED: the query has no more memory or time. Call
 * changes_fini() on success and failure alike.
 */
NODISCARD int changes_find(struct changes *c, struct tsdb *db,
			   struct query_work *work,
			   const struct changes_options *o, struct err *err);

/*
 * Write [{"time","kind","name","jobs":[],"programs":[],"instances":[],"from":[],
 * "to":[],"series"}].
 */
void changes_json(const struct changes *c, struct json *j);

/* Free the changes. */
void changes_fini(struct changes *c);

#endif
