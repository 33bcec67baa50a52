/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes a stripe's dictionary. Format: docs/format/columns.md.
 *
 * Threads: any; there is no shared state.
 */
#ifndef PPROF_DICTIONARY_DICT_DECODE_H
#define PPROF_DICTIONARY_DICT_DECODE_H

#include "pprof/dictionary/dictionary.h"

/*
 * Decode a complete dictionary into `*d`, which dict_init() prepared. Every
 * number is checked, so that code that uses `*d` need not check again.
 * ERR_CORRUPT: the dictionary is damaged; ERR_TOOBIG: it is larger than any
 * that an encoder writes. The caller frees `*d`, also after an error.
 */
NODISCARD int dict_decode(struct bytes stored, struct dictionary *d,
			  struct err *err);

#endif
