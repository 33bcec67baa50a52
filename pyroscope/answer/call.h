/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call: one request of Pyroscope's API and its answer, in the wire format of
 * protocol buffers. Who has received it, and in which form, is not known here.
 *
 * Ownership: everything is borrowed for the call.
 * Threads: one thread per call.
 */
#ifndef PYROSCOPE_ANSWER_CALL_H
#define PYROSCOPE_ANSWER_CALL_H

#include "base/arena.h"
#include "pyroscope/names/profile_query.h"
#include "pyroscope/wire/request.h"
#include "query/select/query_work.h"
#include "symbols/names/symbolizer.h"
#include "tsdb/query/querier.h"

/* A call. */
struct pyroscope_call {
	struct tsdb *db;
	struct symbolizer *symbolizer; /* NULL: reports have no more names */
	struct query_work *work;       /* limits of memory and time */
	struct arena *arena;           /* for the warning */
	/* Whether the client understands names of labels such as a.b. */
	bool all_names;
	/* Files that were uploaded to look at; NULL: none are taken. */
	struct adhoc_store *adhoc;
	struct str user;            /* who asks */
	struct ingest_share *share; /* of an upload: accounts for its memory */
	struct profile_request request;
	struct buf *out; /* the answer is appended */
	/* What the answer lacks, in a sentence; NULL: nothing. */
	const char *warning;
	/*
	 * Until when samples are looked at for lists, on clock_mono_ns(); 0: nobody
	 * has begun.
	 */
	int64_t samples_until_ns;
};

/* Return what tells which labels samples may have; valid as long as the call. */
struct sample_label_test call_sample_labels(const struct pyroscope_call *c);

/* The time range of a request; 0 and 0 is all time. */
void call_range(const struct pyroscope_call *c, int64_t *from, int64_t *to);

/*
 * Open a querier and select the series of a query in a range; *q has to be closed
 * in any case. Errors as for query_select().
 */
NODISCARD int call_select(struct pyroscope_call *c, struct profile_query *query,
			  int64_t from, int64_t to, struct querier **q,
			  struct err *err);

/*
 * Call fn() for each series of a query in a range, but heartbeats, as
 * querier_walk() does, which also says what is selected, and the errors.
 */
NODISCARD int call_walk(struct querier *q, struct profile_query *query,
			int64_t from, int64_t to, querier_walk_fn fn, void *ctx,
			struct err *err);

/* Append a label to `out` as the message LabelPair, in field `number`. */
void call_write_label(struct buf *out, uint32_t number, struct str name,
		      struct str value);

/* Note what a querier could not read, for the warning. */
void call_note_lost(struct pyroscope_call *c, const struct querier *q);

#endif
