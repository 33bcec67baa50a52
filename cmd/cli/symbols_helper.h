/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbolizer of commands: this program is its own file helper.
 *
 * Ownership: as symbols/names/symbolizer.h.
 * Threads: as symbols/names/symbolizer.h.
 */
#ifndef CMD_CLI_SYMBOLS_HELPER_H
#define CMD_CLI_SYMBOLS_HELPER_H

#include "symbols/names/symbolizer.h"

/*
 * The command that makes this program the file helper of a symbolizer. It is not
 * in the list of commands, because nobody calls it.
 */
#define SYMBOLS_HELPER "symbols-file-helper"

/* The command that makes it the opener of one, likewise. */
#define SYMBOLS_OPENER "symbols-open-helper"

/* Where debug files are looked for by default. */
#define SYMBOLS_PATH "/usr/lib/debug"

/*
 * As symbolizer_new(), with this program as the file helper and, if `public_only`,
 * as the opener.
 */
struct symbolizer *symbols_helper_new(const char *debug_dir, bool public_only);

#endif
