/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sample labels: the labels that the samples of the collector's profiles can
 * have, of which the configuration chooses some.
 *
 * Threads: any.
 */
#ifndef BPF_COLLECT_SAMPLE_LABELS_H
#define BPF_COLLECT_SAMPLE_LABELS_H

/*
 * A set of labels. Samples that differ in one of the chosen labels are not added
 * up.
 */
enum sample_labels {
	SAMPLE_LABEL_COMM = 1,
	SAMPLE_LABEL_CPU = 2,
	SAMPLE_LABEL_PID = 4,
	SAMPLE_LABEL_THREAD = 8, /* name of the thread */
	SAMPLE_LABEL_TID = 16,
	SAMPLE_LABELS_DEFAULT = SAMPLE_LABEL_COMM | SAMPLE_LABEL_PID,
	SAMPLE_LABELS_COUNT = 5,
};

/* The names of the labels, in the order of the bits. */
#define SAMPLE_LABEL_NAMES                            \
	{                                             \
		"comm", "cpu", "pid", "thread", "tid" \
	}

#endif
