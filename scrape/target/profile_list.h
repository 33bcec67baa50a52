/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile list holds the profile types that the page /debug/pprof/ of a
 * target names; it is read for jobs with pprof_config: auto.
 *
 * Go's net/http/pprof links each type as href='<name>?debug=1' (since Go 1.0;
 * in double quotes before 1.11), custom profiles among them. Links to pages
 * that are not profiles of samples (cmdline, symbol, trace) are left out.
 *
 * Ownership: reference counted.
 * Threads: immutable once parsed; references may be taken and dropped by any
 * thread.
 */
#ifndef SCRAPE_TARGET_PROFILE_LIST_H
#define SCRAPE_TARGET_PROFILE_LIST_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/err.h"

enum {
	/* Largest number of types, and largest size of the page in bytes. */
	TYPE_INDEX_MAX = 64,
	TYPE_INDEX_BODY_MAX = 1 << 20
};

/* One type that the page links. */
struct indexed_type {
	struct str name;
	/* link to the profile, relative to the page, URL-encoded */
	struct str path;
};

/* The profile types of a page, in the order of the page, each name once. */
struct profile_list {
	_Atomic uint32_t refs;
	struct arena arena;
	struct indexed_type v[TYPE_INDEX_MAX];
	size_t count;
};

/*
 * Parse a page. ERR_INVALID: the page links no profile types or more than
 * TYPE_INDEX_MAX. The caller owns *out.
 */
NODISCARD int profile_list_parse(struct bytes page, struct profile_list **out,
				 struct err *err);

/* Take a reference; returns `t`. NULL is a no-op. */
struct profile_list *profile_list_ref(struct profile_list *t);

/* Drop a reference; the last one frees the list. NULL is a no-op. */
void profile_list_unref(struct profile_list *t);

/*
 * Whether two lists name the same paths in the same order. NULL equals only
 * NULL.
 */
bool profile_list_eq(const struct profile_list *a,
		     const struct profile_list *b);

#endif
