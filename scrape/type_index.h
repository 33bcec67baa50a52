/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Type index: the profile types that a target's /debug/pprof/ page names.
 *
 * Go's net/http/pprof links each as href='<name>?debug=1' (since Go 1.0; in
 * double quotes before 1.11), custom profiles among them. What is no profile
 * of samples is left out: cmdline, symbol, trace.
 *
 * Ownership: reference counted. Threads: immutable.
 */
#ifndef SCRAPE_TYPE_INDEX_H
#define SCRAPE_TYPE_INDEX_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/err.h"

enum {
	TYPE_INDEX_MAX = 64,
	TYPE_INDEX_BODY_MAX = 1 << 20
};

struct indexed_type {
	struct str name;
	struct str path; /* below the page, encoded as it stood there */
};

struct type_index {
	_Atomic uint32_t refs;
	struct arena arena;
	struct indexed_type v[TYPE_INDEX_MAX];
	size_t count;
};

/* ERR_INVALID: the page names no types, or too many; *out is the caller's. */
NODISCARD int type_index_parse(struct bytes page, struct type_index **out,
			       struct err *err);
struct type_index *type_index_ref(struct type_index *t); /* NULL: NULL */
void type_index_unref(struct type_index *t);             /* NULL is a no-op */

/* In the same order; NULL is equal to nothing else. */
bool type_index_eq(const struct type_index *a, const struct type_index *b);

#endif
