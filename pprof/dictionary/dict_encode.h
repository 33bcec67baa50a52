/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes a stripe's dictionary. Format: docs/format/columns.md.
 *
 * Ownership: appends to the caller's buffer.
 * Threads: any; there is no shared state.
 */
#ifndef PPROF_DICTIONARY_DICT_ENCODE_H
#define PPROF_DICTIONARY_DICT_ENCODE_H

#include "pprof/dictionary/dict_streams.h"
#include "pprof/dictionary/dictionary.h"

/*
 * Allocate the arrays of `*g`, which predict what is written next, for the
 * given numbers of functions and locations. To be freed by dict_guess_fini().
 */
void dict_guess_init(struct dict_guess *g, size_t functions, size_t locations);

/* Free the arrays of `*g`. */
void dict_guess_fini(struct dict_guess *g);

/*
 * Append to `out` the stored form of all elements that were added after the
 * mark `from` (docs/format/columns.md). With the mark of an empty dictionary,
 * this is the whole table. `level` is the zstd compression level.
 */
void dict_encode(const struct dictionary *d, const struct dict_mark *from,
		 int level, struct buf *out);

#endif
