/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns discovered targets into target specs: the labels of a target before
 * relabelling, and the URL, interval and stored labels that follow from the
 * labels after it. Pure.
 *
 * As in Prometheus a target has its own labels, those of its group, then those
 * of the job: job, __scheme__, __scrape_interval__, __scrape_timeout__, and
 * __param_<name> for each of params. Each profile type adds __name__,
 * __profile_path__ and, if it has a duration, __param_seconds. After
 * relabelling __address__ and __scheme__ must make a URL, instance defaults to
 * the address, and labels that begin with __ are not stored, except __name__
 * and the tenant.
 *
 * Ownership: struct job_labels lives in the arena that the caller gives; it
 * copies what it needs of the configuration.
 * Threads: one thread for each struct job_labels while types are added.
 */
#ifndef SCRAPE_DISCOVERED_H
#define SCRAPE_DISCOVERED_H

#include "base/table.h"
#include "discovery/target_group.h"
#include "scrape/scrape_config.h"
#include "scrape/target/target.h"

/* The labels that the configuration of a job gives to all its targets. */
struct job_labels {
	struct label_list defaults; /* for targets that do not set them */
	struct param *params;
	size_t param_count;
	struct label_list *types; /* one list for each type */
	size_t type_count;
	size_t type_room; /* allocated length of types */
	bool has_index;   /* type 0 is the page /debug/pprof/ */
	size_t max_body;  /* bytes; 0: no limit */
};

/*
 * Collect the labels of a job and of its enabled profile types into *out, whose
 * memory comes from the arena.
 */
void job_labels_make(const struct scrape_config *c, struct arena *a,
		     struct job_labels *out);

/*
 * Find the number of a type that an index page names; an unknown type is added
 * to the job. known maps type names to numbers: an empty table at the first
 * call, which the caller keeps between calls and releases.
 */
size_t job_labels_type(struct job_labels *job, const struct scrape_config *c,
		       struct arena *a, struct table *known,
		       const struct indexed_type *type);

/* Whether the type is the index page itself rather than a profile type. */
static inline bool job_labels_is_index(const struct job_labels *job,
				       size_t type)
{
	return job->has_index && type == 0;
}

/*
 * Add to *out the labels that a target has for one profile type before
 * relabelling. Labels that are already there win, but for __param_<name> of the
 * job's own params, as in Prometheus.
 */
void discovered_labels(const struct job_labels *job,
		       const struct target_group *g,
		       const struct label_list *target, size_t type,
		       struct labels_builder *out);

/*
 * Make the spec of a target from the labels after relabelling; b is modified.
 * ERR_INVALID: the labels do not make a target: address, scheme, interval,
 * timeout, type or URL is wrong. Errors of labels_build() are passed on. On
 * success the caller owns *out (target_spec_fini()).
 */
NODISCARD int target_spec_make(const struct job_labels *job, size_t type,
			       struct labels_builder *b,
			       struct target_spec *out, struct err *err);

#endif
