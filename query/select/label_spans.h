/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Label spans: for each job, the time span in which its profiles have a certain
 * value of a label, or a certain build ID. A value that begins later than its
 * job is a new version. Series with a label `exe` are of all programs of a
 * machine: there, each program of a workload is a job of its own.
 *
 * Ownership: owns its texts.
 * Threads: one thread per query.
 */
#ifndef QUERY_SELECT_LABEL_SPANS_H
#define QUERY_SELECT_LABEL_SPANS_H

#include "base/arena.h"
#include "base/table.h"
#include "base/vec.h"
#include "model/labels.h"

/* A value of a label in one job, and the time span in which series have it. */
struct label_span {
	uint32_t group; /* number of the job and label, in label_spans.groups */
	struct str value;
	int64_t first;
	int64_t last;
	size_t series;
	/*
	 * The series that was counted last, so that each series is counted
	 * once; only its address is used.
	 */
	const struct labels *counted;
};

/* The series of one profile type and job, for one label. */
struct label_group {
	struct str type;
	struct str job;
	struct str exe; /* label of one program of a machine; empty: none */
	/* The program and where it runs, as a key; empty: the whole job. */
	struct str workload;
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
 * Record that the series with the labels `ls` has the value `value` of the
 * label `name`, or the build ID `value` if `name` is empty, from `first` to
 * `last`, in ms. A series is recognised by the address `ls`, which must not
 * change while its spans are added; the spans of one series are added before
 * those of the next.
 */
void label_spans_add(struct label_spans *s, struct labels *ls, struct str name,
		     struct str value, int64_t first, int64_t last);

/* Return the memory of the spans, in bytes. */
size_t label_spans_memory(const struct label_spans *s);

/* Free the spans. */
void label_spans_fini(struct label_spans *s);

#endif
