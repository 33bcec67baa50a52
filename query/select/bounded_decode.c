/* SPDX-License-Identifier: Apache-2.0 */
#include "query/select/bounded_decode.h"

/* Least number of bytes to reserve for decoding. */
#define DECODE_MIN (int64_t)(64 * KIB)

/*
 * Take memory for decoding `len` bytes, minus the memory that the decoder has
 * already. The largest estimate is tried first, because it nearly always
 * suffices; if the budget has too little memory, smaller estimates are tried.
 * *taken is set to the bytes taken.
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
	 * ERR_LIMIT means that the memory was not enough: retry with four times
	 * as much, until the budget has too little.
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
