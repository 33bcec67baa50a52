/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding within what is left of all queries' memory.
 *
 * Threads: one thread a decoder.
 */
#ifndef WEB_DECODING_H
#define WEB_DECODING_H

#include "base/budget.h"
#include "pprof/decode.h"

/*
 * Decode raw as decoder_run(). What it takes beyond what the decoder has is
 * reserved while it works, and the caller's to account for afterwards.
 * ERR_LIMIT: there is not so much left.
 */
NODISCARD int decode_within(struct decoder *d, struct budget *memory,
			    struct bytes raw, struct pprof **out,
			    struct err *err);

#endif
