/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves a stored group to the current stripe of an encoder, without rebuilding
 * its profiles: numbers in the dictionary of the group's old stripe are
 * replaced by numbers in the current dictionary.
 *
 * Ownership: all memory belongs to the encoder (encoder.h).
 * Threads: one thread at a time, as for the encoder.
 */
#ifndef PPROF_COLUMNS_TRANSCODE_H
#define PPROF_COLUMNS_TRANSCODE_H

#include "pprof/columns/encoder.h"

/*
 * Encode a stored group again, with the table of the current stripe, and append
 * it to `out`. The old table must stay open until a group with another old
 * table is adopted, columns_adopt_end() is called, or the encoder is freed.
 * ERR_CORRUPT: the group is damaged; ERR_UNSUPPORTED: the current table would
 * become too large, or the old table has too many mappings.
 */
int columns_adopt(struct codec_encoder *e, const struct codec_group *group,
		  struct buf *out, struct err *err);

/*
 * Forget the old table of the group that was adopted last, and free the
 * translation from it.
 */
void columns_adopt_end(struct codec_encoder *e);

#endif
