/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/render/report_state.h"

#include <time.h>

#include "pprof/profile/measure.h"

/*
 * The functions that write reports may append to a full buffer, which only sets
 * out->over; this function turns out->over into an error once, at the end.
 */
int report_size(const struct buf *out, struct err *err)
{
	return out->over ? err_set(err, ERR_TOOBIG,
				   "the report is larger than %zu bytes",
				   out->max) :
			   0;
}

int64_t report_weight(const struct report *r, size_t sample)
{
	return pprof_values(r->p, sample)[r->value];
}

/* As with pprof's -diff_base, the samples of the base have a special label. */
bool report_is_base(const struct pprof *p, size_t sample)
{
	struct pprof_run set = p->label_sets.v[p->samples.v[sample].labels];

	for (uint32_t i = 0; i < set.count; i++) {
		const struct pprof_label *l = &p->labels.v[set.first + i];

		if (!l->is_number &&
		    str_is(pprof_str(p, l->key), PPROF_BASE_KEY) &&
		    str_is(pprof_str(p, l->str), PPROF_BASE_VALUE))
			return true;
	}
	return false;
}
