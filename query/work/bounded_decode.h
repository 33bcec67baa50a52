/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding within what is left of all queries' memory.
 *
 * Ownership: the profile belongs to the decoder.
 * Threads: one thread a decoder.
 */
#ifndef QUERY_WORK_BOUNDED_DECODE_H
#define QUERY_WORK_BOUNDED_DECODE_H

#include "base/budget.h"
#include "pprof/decode.h"

/*
 * Decode raw as decoder_run(). What it takes beyond what the decoder has is
 * reserved while it works, and the caller's to account for afterwards.
 * ERR_LIMIT: there is not so much left.
 */
NODISCARD int bounded_decode(struct decoder *d, struct budget *memory,
			     struct bytes raw, struct pprof **out,
			     struct err *err);

#endif
