/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finder: whether a stored profile has a sample through a function of some
 * name. Of profiles in columns only stacks are read, and each name of a
 * stripe is matched once; others are fetched and decoded.
 *
 * Ownership: borrows request and answer. Threads: one thread.
 */
#ifndef WEB_FINDER_H
#define WEB_FINDER_H

#include "model/regex.h"
#include "pprof/columns.h"
#include "pprof/decode.h"
#include "tsdb/querier.h"
#include "web/context.h"

struct finder {
	struct request *r;
	struct answer *a;
	struct regex *name;
	struct columns_find *find;
	struct decoder *decoder;
	struct profile fetched;
	int64_t taken;
	size_t unread; /* profiles that could not be read */
};

/* pattern: a regular expression, looked for in names. ERR_INVALID. */
NODISCARD int finder_init(struct finder *f, struct str pattern, size_t memory,
			  struct request *r, struct answer *a, struct err *err);
void finder_fini(struct finder *f);

/* ERR_TIMEOUT, ERR_LIMIT; what cannot be read has nothing, and is counted. */
NODISCARD int finder_look(struct finder *f, struct querier *q, size_t series,
			  int64_t ms, bool *found, struct err *err);

#endif
