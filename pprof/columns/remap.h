/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates numbers of one dictionary to those of another, and adds the
 * elements that the other dictionary lacks. By this, groups move to another
 * stripe without being decoded to profiles (docs/decisions.md, 53).
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
 * interner `to` (intern.h). The caller frees *out by remap_free().
 * ERR_UNSUPPORTED: `from` has too many mappings.
 */
NODISCARD int remap_new(const struct dictionary *from, struct intern *to,
			struct remap **out, struct err *err);

/* Free a translation; r may be NULL. */
void remap_free(struct remap *r);

/* Memory of the translation, in bytes, without the dictionaries. */
size_t remap_memory(const struct remap *r);

/*
 * Translate all dictionary numbers of a decoded group, in place. Since
 * remap_new(), the interner must not have been used for anything else, nor
 * rolled back.
 */
void remap_group(struct remap *r, struct colgroup *g);

#endif
