/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the dialect in which a profile was written: the one whose replay gives
 * the profile's bytes, or comes so close that a small patch restores them.
 *
 * Ownership: all memory belongs to the encoder (encoder.h).
 * Threads: one thread at a time, as for the encoder.
 */
#ifndef PPROF_COLUMNS_DIALECT_H
#define PPROF_COLUMNS_DIALECT_H

#include "pprof/columns/encoder.h"
#include "pprof/rows/group.h"

/*
 * Set row->shape for the profile `raw`, whose other members are set already.
 * *patch is the length of the patch that was appended to the group, 0 if the
 * replay is exact. ERR_UNSUPPORTED: no dialect is close enough.
 */
NODISCARD int encoder_find_dialect(struct codec_encoder *e, struct bytes raw,
				   struct row *row, uint32_t *patch,
				   struct err *err);

#endif
