/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/names/demangle.h"

#include <libiberty/demangle.h>
#include <stdlib.h>

bool demangle_name(const char *name, struct buf *out)
{
	char *text;
	size_t len;

	/*
	 * Mangled names of C++ and Rust begin with _Z or _R; other names need
	 * not be parsed.
	 */
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
