/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remap: from the numbers of one dictionary to those of another, which gets
 * what it lacks; so that groups move to another stripe without becoming
 * profiles in between.
 *
 * Ownership: borrows both dictionaries. Threads: one thread.
 */
#ifndef PPROF_COLUMNS_REMAP_H
#define PPROF_COLUMNS_REMAP_H

#include "pprof/rows/group.h"
#include "pprof/dictionary/intern.h"

struct remap;

/* ERR_UNSUPPORTED: `from` has too many mappings. */
NODISCARD int remap_new(const struct dictionary *from, struct intern *to,
			struct remap **out, struct err *err);
void remap_free(struct remap *r);
size_t remap_memory(const struct remap *r);

/*
 * Change a group's numbers; `to` must have been used for nothing else since
 * remap_new(), nor have been rolled back.
 */
void remap_group(struct remap *r, struct colgroup *g);

#endif
