/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Select series of an index by matchers, and list label names and values. Its
 * public functions are in index.h.
 *
 * Ownership: what is found is the caller's.
 * Threads: any.
 */
#ifndef TSDB_INDEX_INDEX_SELECT_H
#define TSDB_INDEX_INDEX_SELECT_H

#include "tsdb/index/index_private.h"

NODISCARD int find_list(const struct index *ix, struct str name,
			struct str value, uint64_t *list, struct err *err);

#endif
