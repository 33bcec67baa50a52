/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The option `under` of reports: keep the part of the profile below one box of
 * a flame graph, which is given by the names on the path to it.
 *
 * Ownership: changes the profile of the report.
 * Threads: one thread per report.
 */
#ifndef PPROF_REPORT_REPORT_UNDER_H
#define PPROF_REPORT_REPORT_UNDER_H

#include "pprof/report/report_state.h"

/*
 * Keep only the stacks whose outermost frames have the names that the option
 * `under` lists. Frames have the names that the report shows, so r->nodes must
 * have been built. If no stack is kept, "under" is added to r->unmatched.
 * ERR_LIMIT, ERR_TIMEOUT: the report's limits refused to continue.
 */
NODISCARD int report_keep_under(struct report *r, struct err *err);

#endif
