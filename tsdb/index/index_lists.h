/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the postings lists of an index (for each label, the series that have
 * it), in batches of label names.
 *
 * Ownership, threads: as for the index writer.
 */
#ifndef TSDB_INDEX_INDEX_LISTS_H
#define TSDB_INDEX_INDEX_LISTS_H

#include "tsdb/index/index_writer_private.h"
#include "tsdb/io/blob.h"

/*
 * Write all postings lists: first the list of all series; then, in batches of
 * label names, one list per label. blob is the index file as written so far.
 */
NODISCARD int index_put_postings(struct index_writer *w,
				 const struct blob *blob, struct err *err);

#endif
