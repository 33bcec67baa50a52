/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes the rows of a group of profiles. Format: docs/format/columns.md.
 *
 * Threads: one thread per coder.
 */
#ifndef PPROF_ROWS_GROUP_DECODE_H
#define PPROF_ROWS_GROUP_DECODE_H

#include "pprof/rows/group.h"

/*
 * Decode rows 0 to q->end - 1 of a stored group into `*g`. Every number is
 * checked against the dictionary d. Values of rows before q->begin, and of
 * types that are not wanted, are undefined. ERR_CORRUPT: the group is damaged;
 * ERR_TOOBIG: a section is too large.
 */
NODISCARD int colgroup_decode(struct colgroup_coder *c,
			      const struct dictionary *d,
			      const struct colgroup_request *q,
			      struct colgroup *g, struct err *err);

/* The number of sample types of a stored group; 0 if it is damaged. */
size_t colgroup_types(struct colgroup_coder *c, struct bytes stored);

/* Return the number of samples in rows 0 to end - 1. */
size_t colgroup_count_samples(const struct colgroup *g, size_t end);

#endif
