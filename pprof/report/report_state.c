/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/report/report_state.h"

#include <time.h>

#include "pprof/profile/measure.h"

/*
 * The functions that write reports may append to a full buffer, which only sets
 * out->over; this function turns out->over into an error once, at the end.
 */
int report_size(const struct buf *out, struct err *err)
{
	return out->over ?
		       err_set(err, ERR_TOOBIG,
			       "the report is larger than %zu bytes (--query.memory)",
			       out->max) :
		       0;
}

int64_t report_weight(const struct report *r, size_t sample)
{
	return pprof_values(r->p, sample)[r->value];
}
