/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transcode a stored group from the dictionary of another stripe to this one,
 * without rebuilding its profiles.
 *
 * Ownership, threads: those of the encoder (encoder.h).
 */
#ifndef PPROF_COLUMNS_TRANSCODE_H
#define PPROF_COLUMNS_TRANSCODE_H

#include "pprof/columns/encoder.h"

int columns_adopt(struct codec_encoder *e, const struct codec_group *group,
		  struct buf *out, struct err *err);

void columns_adopt_end(struct codec_encoder *e);

#endif
