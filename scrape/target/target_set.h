/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target set holds the targets of a job: one for each discovered or static
 * target and each profile type, after relabelling. It also lists the targets
 * that were dropped, with the reason. Sets are made as a whole and never
 * changed (docs/decisions.md, 57).
 *
 * Ownership: reference counted. A set holds references on its targets and on
 * the target groups.
 * Threads: immutable once made, except for the members of struct target that
 * have locks of their own.
 */
#ifndef SCRAPE_TARGET_TARGET_SET_H
#define SCRAPE_TARGET_TARGET_SET_H

#include "scrape/target/discovered.h"

/* One target of the job with one profile type: either scraped or dropped. */
struct target_entry {
	const struct target_group *group;
	/* labels of the target within its group */
	const struct label_list *labels;
	uint32_t type; /* index into job.types */
	/* why the target is dropped; NULL: it is scraped */
	const char *dropped;
	struct target *target; /* NULL: the target is dropped */
};

/* The targets of one job. Entries are in the order of the configuration. */
struct target_set {
	_Atomic uint32_t refs;
	struct arena arena; /* owns `job` and the texts of the reasons */
	/*
	 * labels of the job; from them, the labels of a target before
	 * relabelling are computed again when they are to be shown
	 */
	struct job_labels job;
	struct target_groups_list groups;
	struct target_entry *v;
	size_t count;
	size_t cap;
	size_t active; /* number of entries that have a target */
	/*
	 * number of dropped targets, including those beyond
	 * keep_dropped_targets
	 */
	size_t dropped;
	/*
	 * The limit that the job exceeds, so that none of its targets is
	 * scraped; NULL: targets are scraped.
	 */
	const char *refused;
};

/*
 * Make the set of a job from its target groups. Targets whose spec is also in
 * `before` (the previous set of the job, or NULL) are shared with that set, and
 * so keep schedule and health. The configuration is borrowed for the call;
 * references are taken on the groups and the client. The caller owns the
 * result.
 */
struct target_set *target_set_make(const struct scrape_config *c,
				   struct http_config *client,
				   const struct target_groups_list *groups,
				   const struct target_set *before);

/* Take a reference; returns `s`. */
struct target_set *target_set_ref(struct target_set *s);

/* Drop a reference; the last one frees the set. NULL is a no-op. */
void target_set_unref(struct target_set *s);

#endif
