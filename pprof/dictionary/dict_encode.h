/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encode a stripe's dictionary. Format: docs/format/columns.md.
 *
 * Ownership: appends to the caller's buffer.
 * Threads: pure functions.
 */
#ifndef PPROF_DICTIONARY_DICT_ENCODE_H
#define PPROF_DICTIONARY_DICT_ENCODE_H

#include "pprof/dictionary/dict_streams.h"
#include "pprof/dictionary/dictionary.h"

void dict_guess_init(struct dict_guess *g, size_t functions, size_t locations);

void dict_guess_fini(struct dict_guess *g);

/*
 * The stored form of what came after a mark (the start: all), appended to out;
 * docs/format/columns.md. level: zstd's.
 */
void dict_encode(const struct dictionary *d, const struct dict_mark *from,
		 int level, struct buf *out);

#endif
