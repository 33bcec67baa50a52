/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates numbers of one dictionary to those of another, and adds the
 * elements that the other dictionary lacks. With it, groups are moved to
 * another stripe (groups that share one dictionary) without being decoded to
 * profiles (docs/decisions.md, 53).
 *
 * Ownership: borrows both dictionaries and the interner.
 * Threads: one thread at a time.
 */
#ifndef PPROF_COLUMNS_REMAP_H
#define PPROF_COLUMNS_REMAP_H

#include "pprof/dictionary/intern.h"
#include "pprof/rows/group.h"

/* A translation from one dictionary to another. */
struct remap;

/*
 * Create a translation from the dictionary `from` to the dictionary of the
 * interner `to` (intern.h). The caller frees `*out` by remap_free().
 * ERR_UNSUPPORTED: `from` has too many mappings.
 */
NODISCARD int remap_new(const struct dictionary *from, struct intern *to,
			struct remap **out, struct err *err);

/* Free a translation. `r` may be NULL. */
void remap_free(struct remap *r);

/*
 * Translate all dictionary numbers of a decoded group, in place. After
 * remap_new(), the interner must not be used for anything else, and no elements
 * may be removed from its dictionary.
 */
void remap_group(struct remap *r, struct colgroup *g);

#endif
