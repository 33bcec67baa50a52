/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Totals of many profiles, without their bytes. Its public functions are in
 * tsdb/querier.h.
 *
 * Ownership, threads: those of the querier.
 */
#ifndef TSDB_QUERY_QUERIER_TOTALS_H
#define TSDB_QUERY_QUERIER_TOTALS_H

#include "tsdb/query/querier_private.h"

#endif
