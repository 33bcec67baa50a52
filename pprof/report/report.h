/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports: tables, graphs and other documents that show the contents of a
 * profile. For the reports that `go tool pprof` has, options, numbers, order
 * and text are the same (google/pprof's internal/driver and internal/report).
 *
 * Ownership: a report borrows the profile and the strings of the options, and
 * changes the profile (filters remove samples and frames).
 * Threads: one thread per report.
 */
#ifndef PPROF_REPORT_REPORT_H
#define PPROF_REPORT_REPORT_H

#include "base/json.h"
#include "pprof/graph/report_options.h"
#include "pprof/report/report_state.h"

/*
 * Prepare a report on p, which must be the result of a merge, where each
 * string and stack occurs once. Applies the filters to p. ERR_INVALID: an
 * option is wrong, and the message names it; ERR_LIMIT, ERR_TIMEOUT: the
 * report's limits refused to continue. The caller calls report_fini() after
 * success only.
 */
NODISCARD int report_init(struct report *r, enum report_kind kind,
			  struct pprof *p, const struct report_options *o,
			  struct err *err);

/* Free the report, but neither the profile nor the options. */
void report_fini(struct report *r);

/*
 * A kind of report with its name. The report can be written as a document, as
 * JSON, or as both.
 */
struct report_type {
	const char *name;
	enum report_kind kind;
	/* Whether the document is written unless JSON is asked for. */
	bool text_first;
	/*
	 * Whether the document is text for people. Control characters in it are
	 * escaped; other documents have the names as the profile has them, as
	 * far as their format permits.
	 */
	bool for_people;
	/* Whether the report shows samples in the order of the profile. */
	bool by_sample;
	const char *content_type; /* media type of the document */
	const char *file;         /* file name for downloads, or NULL */
	/*
	 * Functions that write the report as a document and as JSON; NULL if
	 * the report does not have that form.
	 */
	int (*write)(struct report *r, struct buf *out, struct err *err);
	int (*json)(struct report *r, struct json *j, struct err *err);
};

/*
 * Return ERR_INVALID with a message that there is no report of this name,
 * followed by the names of the existing reports. `others` has further names
 * that the caller accepts.
 */
int report_unknown(struct str name, const char *others, struct err *err);

/* Append the names of all reports to `out`, with a separator between them. */
void report_list_names(struct buf *out, const char *separator);

/* Return the report of this name, a constant, or NULL if there is none. */
const struct report_type *report_find(struct str name);

#endif
