/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves a stored group from another stripe's dictionary to that of the current
 * stripe, without rebuilding its profiles.
 *
 * Ownership: all memory belongs to the encoder (encoder.h).
 * Threads: one thread at a time, as for the encoder.
 */
#ifndef PPROF_COLUMNS_TRANSCODE_H
#define PPROF_COLUMNS_TRANSCODE_H

#include "pprof/columns/encoder.h"

/*
 * Re-encode a group with the current stripe's table and append it to out. The
 * group's table must stay open until a group of another table is adopted,
 * columns_adopt_end() is called, or the encoder is freed. ERR_CORRUPT: the
 * group is damaged; ERR_UNSUPPORTED: too much of the group is new, or its table
 * has too many mappings.
 */
int columns_adopt(struct codec_encoder *e, const struct codec_group *group,
		  struct buf *out, struct err *err);

/*
 * Forget the table of the last adopted group, and free the translation from it.
 */
void columns_adopt_end(struct codec_encoder *e);

#endif
