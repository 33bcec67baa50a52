/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selecting series of an index by matchers, and listing its label names and
 * values. The public functions are declared in index.h.
 *
 * Ownership: the caller owns the results.
 * Threads: any.
 */
#ifndef TSDB_INDEX_INDEX_SELECT_H
#define TSDB_INDEX_INDEX_SELECT_H

#include "tsdb/index/index_private.h"

/*
 * Find the offset of the list of series that have this label value.
 * ERR_NOTFOUND: no series has the label value; `err` is not set. ERR_CORRUPT,
 * ERR_IO: the index cannot be read.
 */
NODISCARD int find_list(const struct index *ix, struct str name,
			struct str value, uint64_t *list, struct err *err);

#endif
