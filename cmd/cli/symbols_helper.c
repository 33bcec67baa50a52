/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cli/symbols_helper.h"

struct symbolizer *symbols_helper_new(const char *debug_dir, bool public_only)
{
	static char program[] = "/proc/self/exe";
	static char command[] = SYMBOLS_HELPER;
	static char open[] = SYMBOLS_OPENER;
	static char *const argv[] = { program, command, NULL };
	static char *const opener[] = { program, open, NULL };

	return symbolizer_new(argv, public_only ? opener : NULL, debug_dir);
}
