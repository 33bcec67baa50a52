/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Find: searches profiles that are stored as columns for functions by name,
 * without decoding the profiles. A stored profile is a row of a group
 * (model/codec.h).
 *
 * Ownership: a find borrows the expression. It also borrows the table of the
 * row that was tested last, until the next row is tested or the find is freed;
 * the caller holds a reference to that table.
 * Threads: one thread per find.
 */
#ifndef PPROF_COLUMNS_COLUMNS_FIND_H
#define PPROF_COLUMNS_COLUMNS_FIND_H

#include "base/limits.h"
#include "pprof/columns/columns.h"

/*
 * Create a find: a search for functions whose names match the expression,
 * which is borrowed. The limits, which are copied, are asked while names are
 * matched and stacks are searched. The caller frees it with columns_find_free().
 */
struct columns_find *columns_find_new(const struct regex *name,
				      const struct limits *limits);

/* Free a find. NULL is a no-op. */
void columns_find_free(struct columns_find *f);

/* Return the memory of the find, in bytes. */
size_t columns_find_memory(const struct columns_find *f);

/*
 * Set *found to whether the given row has a sample with a matching function.
 * Each function name of a table is matched only once, at the first row that
 * uses the table. The table must stay open until this function has tested a row
 * of another table. Returns an error of the limits. After a match that takes too
 * many steps (regex_gave_up()), no further name is matched.
 */
NODISCARD int columns_find_row(struct columns_find *f,
			       const struct codec_rows *rows, size_t row,
			       bool *found, struct err *err);

/*
 * Set *found to whether a decoded profile has a sample with a function whose
 * name matches. Returns an error of the limits. Also ends early when a match
 * takes too many steps, as columns_find_row() does.
 */
NODISCARD int pprof_has_function(const struct pprof *p,
				 const struct regex *name,
				 const struct limits *limits, bool *found,
				 struct err *err);

#endif
