/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/names/demangle.h"

#include <libiberty/demangle.h>
#include <stdlib.h>

bool demangle_name(const char *name, struct buf *out)
{
	char *text;
	size_t len;

	/* Names of C++ and Rust begin so; the rest need not be looked at. */
	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R') ||
	    strnlen(name, DEMANGLE_INPUT_MAX) == DEMANGLE_INPUT_MAX)
		return false;
	text = cplus_demangle(name, DMGL_ANSI | DMGL_AUTO);
	len = text ? strlen(text) : 0;
	if (len && len <= DEMANGLE_RESULT_MAX)
		buf_add(out, text, len);
	free(text);
	return len && len <= DEMANGLE_RESULT_MAX;
}
