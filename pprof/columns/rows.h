/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Defines struct codec_rows, the rows of a decoded group. A row is one profile.
 * Code that sums or searches profiles gets the rows from storage, which does
 * not look at them (model/codec.h).
 *
 * Ownership: borrows the table and the group.
 * Threads: one thread per reader.
 */
#ifndef PPROF_COLUMNS_ROWS_H
#define PPROF_COLUMNS_ROWS_H

#include "pprof/columns/columns.h"
#include "pprof/rows/group.h"

/* A decoded group, and the dictionary that its numbers refer to. */
struct codec_rows {
	const struct dictionary *d;
	const struct colgroup *group;
};

#endif
