/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes the values of a group of profiles. Format: docs/format/columns.md.
 *
 * Ownership: fills the values of the caller's group.
 * Threads: one thread per coder.
 */
#ifndef PPROF_ROWS_VALUE_DECODE_H
#define PPROF_ROWS_VALUE_DECODE_H

#include "base/dec.h"
#include "pprof/rows/group.h"

/*
 * Decode the wanted columns of values into g, whose rows and keys are decoded
 * already. The values must be next in `in`. ERR_CORRUPT: the group is damaged;
 * ERR_TOOBIG: a section is too large.
 */
NODISCARD int colgroup_get_values(struct colgroup_coder *c,
				  const struct dictionary *d,
				  const struct colgroup_request *q,
				  struct dec *in, struct colgroup *g,
				  struct err *err);

#endif
