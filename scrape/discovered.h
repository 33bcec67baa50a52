/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a target's labels are before relabelling, and what the labels after it
 * come to. Pure.
 *
 * As Prometheus: a target's own labels, those of its group, then what the job
 * says: job, __scheme__, __scrape_interval__, __scrape_timeout__, and a
 * __param_<name> for each of params; for each profile type __name__,
 * __profile_path__, and __param_seconds. After relabelling __address__ and
 * __scheme__ must make a URL, instance defaults to the address, and labels
 * that begin with __ are not stored, but for __name__.
 *
 * Ownership: job labels are copies, which live in the arena given.
 * Threads: one thread a set.
 */
#ifndef SCRAPE_DISCOVERED_H
#define SCRAPE_DISCOVERED_H

#include "base/table.h"
#include "discovery/target_group.h"
#include "scrape/scrape_config.h"
#include "scrape/target/target.h"

/* What the configuration of a job says about all its targets. */
struct job_labels {
	struct label_list defaults; /* for those that have them not */
	struct param *params;
	size_t param_count;
	struct label_list *types; /* by enabled profile type */
	size_t type_count;
	size_t type_room;
	bool has_index; /* type 0 is the page that names the others */
	size_t max_body;
};

void job_labels_make(const struct scrape_config *c, struct arena *a,
		     struct job_labels *out);

/*
 * The number of a type that an index names: one that is there, or a new one.
 * known: an empty table at first, the caller's, of what is there by name.
 */
size_t job_labels_type(struct job_labels *job, const struct scrape_config *c,
		       struct arena *a, struct table *known,
		       const struct indexed_type *type);

/* Whether that type is not one, but the page that names them. */
static inline bool job_labels_is_index(const struct job_labels *job,
				       size_t type)
{
	return job->has_index && type == 0;
}

/* Set the labels of a target of a type. */
void discovered_labels(const struct job_labels *job,
		       const struct target_group *g,
		       const struct label_list *target, size_t type,
		       struct labels_builder *out);

/*
 * What the labels are after relabelling: b's are used up. ERR_INVALID,
 * ERR_DENIED: why this is no target. The caller owns *out.
 */
NODISCARD int target_spec_make(const struct job_labels *job, size_t type,
			       struct labels_builder *b,
			       struct target_spec *out, struct err *err);

#endif
