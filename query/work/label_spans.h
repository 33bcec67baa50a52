/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Label spans: from when to when the profiles of a job have a value of a label,
 * or a build ID. A value that begins later than its job is a new version.
 *
 * Ownership: owns its texts.
 * Threads: one thread per query.
 */
#ifndef QUERY_WORK_LABEL_SPANS_H
#define QUERY_WORK_LABEL_SPANS_H

#include "base/arena.h"
#include "base/table.h"
#include "base/vec.h"
#include "model/labels.h"

/* A value of a label in one job: from when to when series have it. */
struct label_span {
	uint32_t group; /* number of the job and label, in label_spans.groups */
	struct str value;
	int64_t first;
	int64_t last;
	size_t series;
	/* The series that was counted last; only its address is used. */
	const struct labels *counted;
};

/* The series of one profile type and job, for one label. */
struct label_group {
	struct str type;
	struct str job;
	struct str name; /* name of the label; empty: the build ID */
	int64_t first;   /* time of the first profile */
};

/* All spans. */
struct label_spans {
	struct arena text;
	VEC(struct label_group) groups;
	VEC(struct label_span) v;
	struct table group_index;
	struct table index;
};

/*
 * Add that the series with the labels `ls` has a value of a label (or, with an
 * empty name, a build ID) from `first` to `last`, in ms. The spans of one series
 * are added one after another, and its labels stay where they are meanwhile.
 */
void label_spans_add(struct label_spans *s, struct labels *ls, struct str name,
		     struct str value, int64_t first, int64_t last);

/* Returns the memory of the spans, in bytes. */
size_t label_spans_memory(const struct label_spans *s);

/* Free the spans. */
void label_spans_fini(struct label_spans *s);

#endif
