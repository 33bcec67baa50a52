/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects the totals of many profiles from chunk metadata, without reading the
 * bytes of the profiles. The public functions that querier_totals.c defines are
 * declared in tsdb/query/querier.h.
 *
 * Ownership: as for the querier.
 * Threads: one thread at a time for each querier.
 */
#ifndef TSDB_QUERY_QUERIER_TOTALS_H
#define TSDB_QUERY_QUERIER_TOTALS_H

#include "tsdb/query/querier_private.h"

#endif
