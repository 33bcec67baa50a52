/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode the rows of a group of profiles.
 * Format: docs/format/columns.md.
 *
 * Ownership: fills the caller's group.
 * Threads: one thread a decoder.
 */
#ifndef PPROF_ROWS_GROUP_DECODE_H
#define PPROF_ROWS_GROUP_DECODE_H

#include "pprof/rows/group.h"

/*
 * Read rows 0 … end - 1 into *g. Every number is checked against d. Values of
 * rows before `begin`, and of types that are not wanted, are left undefined.
 * ERR_CORRUPT.
 */
NODISCARD int colgroup_decode(struct colgroup_coder *c,
			      const struct dictionary *d,
			      const struct colgroup_request *q,
			      struct colgroup *g, struct err *err);

/* How many sample types a stored group has; 0: it is damaged. */
size_t colgroup_types(struct colgroup_coder *c, struct bytes stored);

NODISCARD int colgroup_damaged(struct err *err, const char *what);

/* The samples of the rows that are wanted. */
size_t colgroup_count_samples(const struct colgroup *g, size_t end);

#endif
