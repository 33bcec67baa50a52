/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profile visit: shows stored profiles, without their values, to a visitor, one
 * after another. A profile that is stored as columns is shown as a row, any
 * other is fetched and decoded.
 *
 * Ownership: borrows the query work and the visitor's context; owns the rest.
 * Threads: one thread per visit.
 */
#ifndef QUERY_SELECT_PROFILE_VISIT_H
#define QUERY_SELECT_PROFILE_VISIT_H

#include "pprof/columns/columns.h"
#include "pprof/proto/decode.h"
#include "query/select/query_work.h"
#include "tsdb/query/querier.h"

/* The functions to call for each profile: either row() or decoded(). */
struct profile_visitor {
	/*
	 * Called with a profile that is stored as columns. `rows` stays valid
	 * until the next call of this function has returned, or the visit is
	 * freed.
	 */
	void (*row)(void *ctx, const struct codec_rows *rows, size_t row);
	/*
	 * Called with any other profile; `p` is valid until the function
	 * returns.
	 */
	void (*decoded)(void *ctx, const struct pprof *p);
	/* Memory that ctx holds, in bytes; NULL: it is not counted. */
	size_t (*memory)(const void *ctx);
	void *ctx;
};

/* A visit of many profiles. */
struct profile_visit {
	struct query_work *work;
	struct profile_visitor visitor;
	struct querier_row row;  /* the row that was shown last */
	struct decoder *decoder; /* for profiles that are not columns */
	struct profile fetched;  /* the profile that is being decoded */
	int64_t taken;           /* bytes taken from the budget */
	size_t unread;           /* number of profiles that could not be read */
};

/* Begin a visit. `memory` is the limit of the decoder in bytes. */
void profile_visit_init(struct profile_visit *v,
			const struct profile_visitor *visitor, size_t memory,
			struct query_work *work);

/*
 * Free the visit. The memory taken for it returns to the budget at
 * query_settle() or query_release().
 */
void profile_visit_fini(struct profile_visit *v);

/*
 * Show the visitor the profile of a series at time `ms`. A profile that is
 * damaged or missing is counted in `unread` and not shown. Returns ERR_TIMEOUT
 * after the deadline, ERR_CLOSED when everprof is stopping, and ERR_LIMIT when
 * the memory budget is used up.
 */
NODISCARD int profile_visit_show(struct profile_visit *v, struct querier *q,
				 size_t series, int64_t ms, struct err *err);

#endif
