/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows: a group of profiles as model/codec.h passes it on to those who add up
 * columns.
 *
 * Ownership: borrows the table and the group.
 * Threads: one thread a reader.
 */
#ifndef PPROF_COLUMNS_ROWS_H
#define PPROF_COLUMNS_ROWS_H

#include "pprof/columns.h"
#include "pprof/rows/group.h"

struct codec_rows {
	const struct dictionary *d;
	const struct colgroup *group;
};

#endif
