/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports: what a person or a program wants to see of a profile. Options,
 * numbers, order and text are those of `go tool pprof` (google/pprof's
 * internal/driver and internal/report) for the reports that it has.
 *
 * Ownership: making a report changes the profile that it is given (filters
 * cut it down); a report borrows it and the texts of the options.
 * Threads: one thread a report.
 */
#ifndef PPROF_REPORT_H
#define PPROF_REPORT_H

#include "base/json.h"
#include "pprof/render/report_state.h"
#include "pprof/report_options.h"

/*
 * p is a merge's result (texts and stacks stand in it once). ERR_INVALID:
 * a bad option. report_fini() on success.
 */
NODISCARD int report_init(struct report *r, enum report_kind kind,
			  struct pprof *p, const struct report_options *o,
			  struct err *err);
void report_fini(struct report *r);
size_t report_memory(const struct report *r);

/* A report by name: as a document of its own, as JSON, or both. */
struct report_type {
	const char *name;
	enum report_kind kind;
	const char *content_type; /* of the document */
	const char *file;         /* a name for it, if it is to be saved */
	int (*write)(struct report *r, struct buf *out, struct err *err);
	int (*json)(struct report *r, struct json *j, struct err *err);
};

/*
 * ERR_INVALID: there is no such report, but these; others: what the caller has
 * beside them.
 */
int report_unknown(struct str name, const char *others, struct err *err);

/* NULL: there is no such report. */
const struct report_type *report_find(struct str name);

/* For the reports themselves. */

#endif
