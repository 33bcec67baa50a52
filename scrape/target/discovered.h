/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the labels of a discovered target before relabelling, and makes the
 * target spec (URL, interval, stored labels …) from the labels after
 * relabelling. All functions are pure.
 *
 * As in Prometheus, a target gets labels from its own list, from its group,
 * from its profile type and from its job. The profile type sets __name__,
 * __profile_path__ and, if its profiles have a duration, __param_seconds. The
 * job sets job, __scheme__, __scrape_interval__, __scrape_timeout__, and
 * __param_<name> for each URL parameter. After relabelling, __address__ and
 * __scheme__ must make a URL. A missing label "instance" is set to the address.
 * Labels that begin with __ are not stored, except __name__ and __tenant__.
 *
 * Ownership: struct job_labels lives in the arena that the caller passes; what
 * it needs of the configuration is copied.
 * Threads: while types are added, one thread for each struct job_labels.
 */
#ifndef SCRAPE_TARGET_DISCOVERED_H
#define SCRAPE_TARGET_DISCOVERED_H

#include "base/table.h"
#include "discovery/core/target_group.h"
#include "scrape/target/scrape_config.h"
#include "scrape/target/target.h"

/* The labels that all targets of a job get from its configuration. */
struct job_labels {
	/* labels that a target gets unless it sets them itself */
	struct label_list defaults;
	struct param *params;
	size_t param_count;
	struct label_list *types; /* labels of each profile type */
	size_t type_count;
	size_t type_room; /* allocated length of `types` */
	bool has_index;   /* whether type 0 is the index page /debug/pprof/ */
	size_t max_body;  /* limit of a response body in bytes; 0: no limit */
};

/*
 * Collect the labels of a job and of its enabled profile types into *out, whose
 * memory comes from the arena.
 */
void job_labels_make(const struct scrape_config *c, struct arena *a,
		     struct job_labels *out);

/*
 * Find the index in job->types of a profile type that an index page
 * (/debug/pprof/) names; an unknown type is added to the job. `known` is a
 * table from type names to these indexes. It is empty at the first call; the
 * caller keeps it between calls and releases it.
 */
size_t job_labels_type(struct job_labels *job, const struct scrape_config *c,
		       struct arena *a, struct table *known,
		       const struct indexed_type *type);

/*
 * Whether `type` stands for the index page itself rather than for a profile
 * type.
 */
static inline bool job_labels_is_index(const struct job_labels *job,
				       size_t type)
{
	return job->has_index && type == 0;
}

/*
 * Add to *out the labels before relabelling that a target has for one profile
 * type. Labels that are already in *out stay, except that the job's URL
 * parameters replace __param_<name>, as in Prometheus.
 */
void discovered_labels(const struct job_labels *job,
		       const struct target_group *g,
		       const struct label_list *target, size_t type,
		       struct labels_builder *out);

/*
 * Replace the values of labels before relabelling that may be secrets, for
 * people who look at targets.
 */
void discovered_hide_secrets(struct labels_builder *b);

/*
 * Make the spec of a target from the labels after relabelling; `b` is modified.
 * ERR_INVALID: the labels do not make a target: address, scheme, interval,
 * timeout, type or URL is wrong. Errors of labels_build() are passed on. On
 * success the caller owns *out (target_spec_fini()).
 */
NODISCARD int target_spec_make(const struct job_labels *job, size_t type,
			       struct labels_builder *b,
			       struct target_spec *out, struct err *err);

#endif
