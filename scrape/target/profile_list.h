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
#ifndef SCRAPE_TARGET_PROFILE_LIST_H
#define SCRAPE_TARGET_PROFILE_LIST_H

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

struct profile_list {
	_Atomic uint32_t refs;
	struct arena arena;
	struct indexed_type v[TYPE_INDEX_MAX];
	size_t count;
};

/* ERR_INVALID: the page names no types, or too many; *out is the caller's. */
NODISCARD int profile_list_parse(struct bytes page, struct profile_list **out,
				 struct err *err);
struct profile_list *profile_list_ref(struct profile_list *t); /* NULL: NULL */
void profile_list_unref(struct profile_list *t); /* NULL is a no-op */

/* In the same order; NULL is equal to nothing else. */
bool profile_list_eq(const struct profile_list *a,
		     const struct profile_list *b);

#endif
