/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profile query: a profile type and a selector of Pyroscope's API, as lists of
 * matchers for the database, and a predicate on label sets for what the database
 * does not know: the service of a series, and shown names.
 *
 * A selector may name the profile type, too ({__profile_type__="…"}). Of a series,
 * only the name of the type is decided here: a merge leaves out profiles that
 * lack the sample type (merge_project()).
 *
 * Ownership: profile_query_fini() frees everything; texts are borrowed.
 * Threads: one thread at a time, because of regular expressions.
 */
#ifndef PYROSCOPE_NAMES_PROFILE_QUERY_H
#define PYROSCOPE_NAMES_PROFILE_QUERY_H

#include "model/selector.h"
#include "pyroscope/names/profile_id.h"
#include "pyroscope/names/sample_label.h"

/* A parsed query. */
struct profile_query {
	struct selector own; /* the selector */
	struct arena arena;  /* of the lists */
	bool has_id;
	struct profile_id id;
	/* The stored names of the profiles; none: any name. */
	struct str names[PROFILE_ALIASES_MAX];
	size_t name_count;
	bool is_empty; /* nothing can match, as it names two profile types */
	/* The matchers of `own` that the predicate decides. */
	struct matcher *virtual_ones;
	size_t virtual_count;
	/*
	 * Those that decide about the samples of series that lack the label, if
	 * samples may have it: the database selects such series, too.
	 */
	struct matcher *sample_matchers;
	size_t sample_count;
	/* Those of parts of the profile type, such as __unit__. */
	struct matcher *type_ones;
	size_t type_count;
	/* A series is selected by any of these lists … */
	struct matcher_list *any;
	size_t any_count;
};

/*
 * Parse a profile type, which may be empty, and a selector. `samples` tells which
 * labels samples may have. ERR_INVALID: one of
 * them is malformed; ERR_UNSUPPORTED: a matcher of __profile_type__ that is not
 * "=", or one of a part of the profile type, such as __unit__, without one. The
 * caller calls profile_query_fini() in any case.
 */
NODISCARD int profile_query_parse(struct profile_query *q,
				  const struct sample_label_test *samples,
				  struct str id, struct str selector,
				  struct err *err);

/* … and if this is true of its labels. ctx is the query. */
bool profile_query_keep(void *ctx, const struct labels *ls);

/* Free everything. */
void profile_query_fini(struct profile_query *q);

#endif
