/* SPDX-License-Identifier: Apache-2.0 */
/* The file helper of a symbolizer. */
#include "symbols/symbolizer.h"

int main(void)
{
	return symbolizer_help();
}
