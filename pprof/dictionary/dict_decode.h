/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode a stripe's dictionary. Format: docs/format/columns.md.
 *
 * Ownership: fills the caller's dictionary.
 * Threads: pure functions.
 */
#ifndef PPROF_DICTIONARY_DICT_DECODE_H
#define PPROF_DICTIONARY_DICT_DECODE_H

#include "pprof/dictionary/dictionary.h"

/*
 * Read all of a stored dictionary into *d, which dict_init() made. Every
 * number in it is checked, so that readers of *d need not. ERR_CORRUPT;
 * ERR_TOOBIG: its sections are larger than a writer makes them.
 */
NODISCARD int dict_decode(struct bytes stored, struct dictionary *d,
			  struct err *err);

#endif
