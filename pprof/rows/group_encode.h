/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes the rows of a group of profiles, column by column. Format:
 * docs/format/columns.md.
 *
 * Threads: one thread per coder.
 */
#ifndef PPROF_ROWS_GROUP_ENCODE_H
#define PPROF_ROWS_GROUP_ENCODE_H

#include "pprof/rows/group.h"

/*
 * Append the stored form of the group g to `out`. The keys of g are numbers of
 * the dictionary d. `level` is the zstd compression level.
 */
void colgroup_encode(struct colgroup_coder *c, const struct dictionary *d,
		     const struct colgroup *g, int level, struct buf *out);

#endif
