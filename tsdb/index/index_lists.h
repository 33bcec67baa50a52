/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Write the postings lists of an index, in batches of label names.
 *
 * Ownership, threads: those of the writer.
 */
#ifndef TSDB_INDEX_INDEX_LISTS_H
#define TSDB_INDEX_INDEX_LISTS_H

#include "tsdb/index/index_writer_private.h"
#include "tsdb/io/blob.h"

/*
 * Write all lists: first that of all series, then, in batches of names, those
 * of each label.
 */
NODISCARD int index_put_postings(struct index_writer *w,
				 const struct blob *blob, struct err *err);

#endif
