/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Push time: the parameters `from` and `until` of POST /ingest.
 *
 * Threads: any.
 */
#ifndef PUSH_WIRE_PUSH_TIME_H
#define PUSH_WIRE_PUSH_TIME_H

#include "base/bytes.h"
#include "base/err.h"

/*
 * Parse a time: seconds, milliseconds, microseconds or nanoseconds since 1970,
 * which differ by their size, or a time as in queries, such as now-10s. An
 * empty text gives 0. The error names the parameter.
 */
NODISCARD int push_time_parse(const char *parameter, struct str text,
			      int64_t now_ms, int64_t *ms, struct err *err);

#endif
