/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP group: the profiles of a request that have the same labels, time and sample
 * types, merged into one.
 *
 * Ownership: otlp_groups_fini() frees everything.
 * Threads: one thread at a time.
 */
#ifndef CONVERT_OTLP_OTLP_GROUP_H
#define CONVERT_OTLP_OTLP_GROUP_H

#include "base/table.h"
#include "base/vec.h"
#include "model/labels.h"
#include "pprof/merge/merge.h"

/* A group. */
struct otlp_group {
	struct labels_builder labels;
	struct buf key;   /* the labels and the time, encoded */
	struct buf types; /* the sample types, encoded */
	int64_t time_ns;
	int64_t duration_ns; /* the longest */
	struct merge *merge; /* NULL: it was encoded */
	VEC(uint32_t) members;
};

/* The groups of a request. */
struct otlp_groups {
	VEC(struct otlp_group) v;
	struct table index;
	size_t memory; /* of all groups, in bytes */
};

/* Profiles of the request, by their numbers. */
struct otlp_members {
	const uint32_t *v;
	size_t count;
};

/*
 * Add a profile to its group. The labels are copied. The caller notes of which
 * profiles of the request it was built. ERR_INVALID: it does not fit to the others of
 * its group, so nothing was added.
 */
NODISCARD int otlp_groups_add(struct otlp_groups *g,
			      const struct labels_builder *labels,
			      const struct pprof *p,
			      const struct otlp_members *members,
			      struct err *err);

/*
 * Whether group number `i` has the same labels and time as another one, and only other
 * sample types.
 */
bool otlp_groups_collide(const struct otlp_groups *g, size_t i);

/* Return the first sample type of a group, valid until it is encoded. */
struct str otlp_groups_type(const struct otlp_group *group);

/*
 * Append the merged profile of group number `i` to `out`, in the format of pprof, and
 * free it.
 */
void otlp_groups_encode(struct otlp_groups *g, size_t i, struct buf *out);

/* Free everything. */
void otlp_groups_fini(struct otlp_groups *g);

#endif
