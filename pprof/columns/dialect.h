/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the dialect in which a profile was written. To test a dialect, the
 * encoder makes a replay: it writes the profile again from the columns. In the
 * right dialect the replay equals the profile, or is so similar that a small
 * patch restores the profile.
 *
 * Ownership: all memory belongs to the encoder (encoder.h).
 * Threads: one thread at a time, as for the encoder.
 */
#ifndef PPROF_COLUMNS_DIALECT_H
#define PPROF_COLUMNS_DIALECT_H

#include "pprof/columns/encoder.h"
#include "pprof/rows/group.h"

/*
 * Find the dialect of the profile `raw` and set row->shape; the other members
 * of `*row` are set already. Appends a patch (the bytes by which the profile
 * differs from its replay) to the group if there is a difference, and stores
 * the length of the patch in `*patch`, 0 without a patch. ERR_UNSUPPORTED: no
 * dialect is close enough.
 */
NODISCARD int encoder_find_dialect(struct codec_encoder *e, struct bytes raw,
				   struct row *row, uint32_t *patch,
				   struct err *err);

#endif
