/* SPDX-License-Identifier: Apache-2.0 */
#include "query/work/bounded_decode.h"

#define DECODE_MIN (int64_t)(64 * KIB) /* for the smallest profile */

/*
 * Reserve memory for decoding `len` bytes, less what the decoder holds already
 * and will reuse. The generous estimate comes first, so that decoding rarely
 * has to be repeated; a smaller one is tried when the budget lacks it. *taken
 * is the number of bytes reserved.
 */
static int bounded_decode_reserve(struct decoder *d, struct budget *memory,
				  size_t len, int64_t *taken, struct err *err)
{
	static const int times[] = { 6, 4, 3 };
	int64_t have = (int64_t)decoder_memory(d);
	int rc = ERR_LIMIT;

	for (size_t i = 0; i < ARRAY_SIZE(times) && rc; i++) {
		*taken = (int64_t)len * times[i] - have;
		*taken = *taken < DECODE_MIN ? DECODE_MIN : *taken;
		rc = budget_take(memory, *taken, err);
	}
	return rc;
}

int bounded_decode(struct decoder *d, struct budget *memory, struct bytes raw,
		   struct pprof **out, struct err *err)
{
	size_t len = raw.len;
	int rc = ERR_LIMIT;

	/*
	 * ERR_LIMIT means that the reservation was too small: retry with four
	 * times as much, until the budget has no more.
	 */
	for (; rc == ERR_LIMIT; len *= 4) {
		int64_t taken;
		int over = bounded_decode_reserve(d, memory, len, &taken, err);

		if (over)
			return over;
		decoder_set_max(d, decoder_memory(d) + (size_t)taken);
		rc = decoder_run(d, raw, out, err);
		budget_give(memory, taken);
	}
	return rc;
}
