/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JFR labels: the labels that the program gave to its threads, which Pyroscope's agent
 * sends beside a recording. Samples refer to a set of labels by a context.
 * Source: github.com/grafana/jfr-parser, pprof/jfr_labels.proto (LabelsSnapshot).
 *
 * Ownership: borrows the message; jfr_labels_fini() frees the index.
 * Threads: one thread at a time.
 */
#ifndef CONVERT_JFR_JFR_LABELS_H
#define CONVERT_JFR_JFR_LABELS_H

#include "base/table.h"
#include "base/vec.h"
#include "base/wire.h"
#include "convert/conversion/convert_meter.h"
#include "convert/conversion/stack_build.h"

/* An entry of a map whose keys are numbers. */
struct jfr_map_entry {
	int64_t key;
	struct bytes value;
};

/* Such a map. */
struct jfr_map {
	VEC(struct jfr_map_entry) entries;
	struct table index;
};

/* The labels. The zero value has none. */
struct jfr_labels {
	struct jfr_map contexts;
	struct jfr_map texts;
};

/* Read the message. ERR_INVALID: it is malformed. Errors of the meter. */
NODISCARD int jfr_labels_read(struct jfr_labels *l, struct bytes message,
			      struct convert_meter *m, struct err *err);

/* Return a text; empty: there is none. */
struct str jfr_labels_text(const struct jfr_labels *l, int64_t key);

/* Add the labels of a context to the label set that is being built. Errors of the meter. */
NODISCARD int jfr_labels_add(const struct jfr_labels *l, int64_t context,
			     struct convert_meter *m, struct stack_build *b,
			     struct err *err);

/* Return the memory of the index, in bytes. */
size_t jfr_labels_memory(const struct jfr_labels *l);

/* Free the index. */
void jfr_labels_fini(struct jfr_labels *l);

#endif
