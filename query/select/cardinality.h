/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cardinality: which profile types, labels and label values have the most
 * series, as in Prometheus' /api/v1/status/tsdb.
 *
 * Ownership: borrows the database and the work.
 * Threads: one thread per request.
 */
#ifndef QUERY_SELECT_CARDINALITY_H
#define QUERY_SELECT_CARDINALITY_H

#include "base/json.h"
#include "query/select/query_work.h"

struct tsdb;

/*
 * Write the members seriesCountByMetricName, labelValueCountByLabelName and
 * seriesCountByLabelValuePair, each with the `limit` largest counts. All stored
 * series are counted. ERR_LIMIT when the memory budget is used up, and
 * ERR_TIMEOUT or ERR_CLOSED when time runs out; nothing is then written.
 */
NODISCARD int cardinality_json(struct tsdb *db, struct query_work *work,
			       int64_t limit, struct json *j, struct err *err);

#endif
