/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of a comparison as JSON (docs/api.md, report=compare).
 *
 * Threads: pure functions.
 */
#ifndef PPROF_COMPARE_COMPARE_JSON_H
#define PPROF_COMPARE_COMPARE_JSON_H

#include "base/json.h"
#include "pprof/compare/compare.h"

/* What was compared, and how much of it is written. */
struct compare_head {
	struct str type; /* the sample type, and the unit of its values */
	struct str unit;
	const char *kind; /* flow, counter or state */
	double bucket_s;  /* length of a bucket; 0: each is a run of its own */
	size_t profiles[ESTIMATE_SIDES];
	size_t damaged; /* profiles that could not be read */
	const struct nodes *nodes;
	size_t max; /* number of rows to write, at most; 0: all */
	const struct limits *limits;
};

/*
 * Parse such a name. ERR_INVALID: there is no such name.
 */
NODISCARD int compare_by_parse(struct str s, enum compare_by *out,
			       struct err *err);

/*
 * Write the members that say why the verdicts may be less than they seem, into the
 * object that is open in j.
 */
void compare_doubts_json(const struct compare *c,
			 const struct compare_result *r, struct json *j);

/*
 * Write an object: how the comparison was made, its total, and its rows. Returns
 * errors of the limits, which are asked from time to time.
 */
NODISCARD int compare_json(const struct compare_head *head,
			   const struct compare *c,
			   const struct compare_result *r, struct json *j,
			   struct err *err);

#endif
