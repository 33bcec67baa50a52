/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ad-hoc side: a side of a query that is an uploaded file instead of stored profiles:
 * adhoc=ID/PART in place of query and times.
 *
 * Ownership: request and answer are borrowed.
 * Threads: any pool thread.
 */
#ifndef WEB_API_ADHOC_SIDE_H
#define WEB_API_ADHOC_SIDE_H

#include "adhoc/adhoc_store.h"
#include "query/merge/query_merge.h"
#include "web/api/context.h"

/* Return the store. ERR_NOTFOUND: this server takes no files. */
NODISCARD int adhoc_side_store(const struct web *w, struct adhoc_store **out,
			       struct err *err);

/*
 * Whether a side is a file: there is the parameter adhoc with a suffix ("", "_a" or
 * "_b").
 */
bool adhoc_side_is(const struct params *p, const char *suffix);

/* Read the file of a side. ERR_INVALID: there is the parameter query, too; see adhoc_store_read(). */
NODISCARD int adhoc_side_read(const struct web *w, struct request *r,
			      struct answer *a, const char *suffix,
			      struct adhoc_profile *out, struct err *err);

/* Make the file of a side the only profile of a merge. */
NODISCARD int adhoc_side_merge(const struct web *w, struct request *r,
			       struct answer *a, const char *suffix,
			       struct query_merge *g, struct err *err);

#endif
