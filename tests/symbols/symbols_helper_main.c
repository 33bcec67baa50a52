/* SPDX-License-Identifier: Apache-2.0 */
/* The file helper of a symbolizer; with an argument, its opener. */
#include "base/defs.h"
#include "symbols/names/symbolizer.h"

int main(int argc, char **argv UNUSED)
{
	return argc > 1 ? symbolizer_help_open() : symbolizer_help();
}
