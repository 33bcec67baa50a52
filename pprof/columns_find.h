/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Find: where functions of stored columns match names, without decoding rows.
 *
 * Ownership: borrows the table and the chunk.
 * Threads: one thread a decoder.
 */
#ifndef PPROF_COLUMNS_FIND_H
#define PPROF_COLUMNS_FIND_H

#include "pprof/columns.h"

struct columns_find *columns_find_new(const struct regex *name);

void columns_find_free(struct columns_find *f);

size_t columns_find_memory(const struct columns_find *f);

void columns_find_forget(struct columns_find *f);

bool columns_find_row(struct columns_find *f, const struct codec_rows *rows,
		      size_t row);

/* The same of a profile. */
bool pprof_has_function(const struct pprof *p, const struct regex *name);

#endif
