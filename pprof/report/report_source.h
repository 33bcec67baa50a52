/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights by source line, with the text of the line where its file is
 * available.
 *
 * Ownership: borrows the report.
 * Threads: one thread per report.
 */
#ifndef PPROF_REPORT_REPORT_SOURCE_H
#define PPROF_REPORT_REPORT_SOURCE_H

#include "pprof/report/report.h"

/*
 * Append a listing by function and source line, with source text where the
 * option source_root has the file. ERR_INVALID: symbol is not a valid
 * expression; ERR_NOTFOUND: symbol matches no function; ERR_LIMIT, ERR_TIMEOUT,
 * ERR_TOOBIG.
 */
int report_source(struct report *r, struct buf *out, struct err *err);

/*
 * Writes the same as JSON: {"functions":[{"name","file","flat","cum","found",
 * "lines":[{"line","flat","cum","text"}]}],"more":n}; "found" says whether the
 * text of the file was found. Errors as for report_source().
 */
int report_source_json(struct report *r, struct json *j, struct err *err);

#endif
