/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the readers of all legacy formats. A profile that was read must merge,
 * and the result is encoded and reported.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "pprof/merge/merge.h"
#include "pprof/proto/decode.h"
#include "pprof/proto/encode.h"
#include "pprof/report/report.h"
#include "pprof/report/report_forms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void report(struct pprof *p)
{
	struct report_options o;
	struct buf out = buf_init((size_t)16 * MIB);
	struct report r;

	report_options_init(&o);
	o.granularity = GRANULARITY_ADDRESSES;
	if (!p->types.count || report_init(&r, REPORT_TRACES, p, &o, NULL))
		return;
	if (report_traces_text(&r, &out, NULL) && !out.over)
		abort();
	report_fini(&r);
	buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct decoder *d = decoder_new((size_t)64 * MIB);
	struct bytes raw = { data, size };
	struct pprof *p;

	if (!decoder_run(d, raw, &p, NULL)) {
		struct merge *m = merge_new();
		struct buf out = { 0 };

		if (merge_add(m, p, NULL, NULL))
			abort();
		p = merge_finish(m);
		pprof_encode(p, &out);
		report(p);
		buf_fini(&out);
		merge_free(m);
	}
	decoder_free(d);
	return 0;
}
