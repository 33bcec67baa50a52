/* SPDX-License-Identifier: Apache-2.0 */
#include "web/decoding.h"

#define DECODE_MIN (64 * KIB) /* what the smallest profile may take */

/*
 * A guess of what it takes is reserved first, and a larger one when that was
 * not enough.
 */
int decode_within(struct decoder *d, struct budget *memory, struct bytes raw,
		  struct pprof **out, struct err *err)
{
	int64_t guess = (int64_t)raw.len * 6 + (int64_t)DECODE_MIN;
	int rc = ERR_LIMIT;

	while (rc == ERR_LIMIT) {
		int over = budget_take(memory, guess, err);

		if (over)
			return over;
		decoder_set_max(d, decoder_memory(d) + (size_t)guess);
		rc = decoder_run(d, raw, out, err);
		budget_give(memory, guess);
		guess *= 4;
	}
	return rc;
}
