/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounded decode: decodes a profile with no more memory than is left in the
 * budget of all queries.
 *
 * Ownership: the profile belongs to the decoder.
 * Threads: one thread per decoder.
 */
#ifndef QUERY_SELECT_BOUNDED_DECODE_H
#define QUERY_SELECT_BOUNDED_DECODE_H

#include "base/budget.h"
#include "pprof/proto/decode.h"

/*
 * Decode `raw` as decoder_run() does. Memory that the decoder does not have yet
 * is taken from the budget during decoding, and returned to the budget at the
 * end. The caller must then take decoder_memory() from the budget. Returns
 * ERR_LIMIT when the budget is used up, and the other errors of decoder_run().
 */
NODISCARD int bounded_decode(struct decoder *d, struct budget *memory,
			     struct bytes raw, struct pprof **out,
			     struct err *err);

#endif
