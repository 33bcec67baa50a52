/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sample labels: to Pyroscope's API, the text labels of samples are labels of
 * series, because Pyroscope splits profiles by them. A label that the series itself
 * has counts for all of its samples. Ids of spans and traces are no such labels.
 *
 * Ownership: borrows everything.
 * Threads: pure functions; those of the test may be called by any thread.
 */
#ifndef PYROSCOPE_NAMES_SAMPLE_LABEL_H
#define PYROSCOPE_NAMES_SAMPLE_LABEL_H

#include "base/bytes.h"

/* Tells whether samples of any profile may have a label of this name. */
struct sample_label_test {
	bool (*may_have)(void *ctx, struct str name);
	void *ctx;
};

/* Whether the samples of a series that lacks a label may have it. */
bool sample_label_is_possible(const struct sample_label_test *t,
			      struct str name);

/* Whether labels of samples with this name are labels to Pyroscope. */
bool sample_label_is_shown(struct str name);

#endif
