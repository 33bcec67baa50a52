/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Find the dialect in which a profile was written: the writer whose bytes come
 * out again, or come so close that a small patch makes up the difference.
 *
 * Ownership, threads: those of the encoder (encoder.h).
 */
#ifndef PPROF_COLUMNS_DIALECT_H
#define PPROF_COLUMNS_DIALECT_H

#include "pprof/columns/encoder.h"
#include "pprof/rows/group.h"

/*
 * Find the dialect that gives the profile's bytes back, or comes near. Where
 * one profile needed a patch the next one will, in the same dialect.
 */
NODISCARD int encoder_find_dialect(struct codec_encoder *e, struct bytes raw,
				   struct row *row, uint32_t *patch,
				   struct err *err);

#endif
