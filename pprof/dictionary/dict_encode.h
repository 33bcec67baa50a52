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
 * Allocate the state for so many functions and locations, all unknown. To be
 * freed by dict_guess_fini().
 */
void dict_guess_init(struct dict_guess *g, size_t functions, size_t locations);

/* Free the arrays of the state. */
void dict_guess_fini(struct dict_guess *g);

/*
 * Append the stored form of all that was added after a mark to out
 * (docs/format/columns.md). With the mark of an empty dictionary that is the
 * whole table. level is zstd's.
 */
void dict_encode(const struct dictionary *d, const struct dict_mark *from,
		 int level, struct buf *out);

#endif
