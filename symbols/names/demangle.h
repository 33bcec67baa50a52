/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Demangling: the names of functions of C++ and Rust as they are in the source,
 * without the types of parameters. Names are demangled in the file helper
 * (file_helper.h), because they come from untrusted files.
 *
 * Threads: any.
 */
#ifndef SYMBOLS_NAMES_DEMANGLE_H
#define SYMBOLS_NAMES_DEMANGLE_H

#include "base/buf.h"

enum {
	/* Names that have this many bytes or more are not demangled. */
	DEMANGLE_INPUT_MAX = 16 << 10,
	/* Longer results are not used: templates can make them very long. */
	DEMANGLE_RESULT_MAX = 16 << 10,
};

/*
 * Append the demangled name. Returns false, and appends nothing, if `name` is
 * not mangled, or if `name` or the result is too long.
 */
bool demangle_name(const char *name, struct buf *out);

#endif
