/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Net total: the total of a diff whose base samples are labelled, as if they
 * were not, so that a report can show both sides and still count as pprof's
 * -base does.
 *
 * Ownership: borrows the report.
 * Threads: one thread per report.
 */
#ifndef PPROF_RENDER_NET_TOTAL_H
#define PPROF_RENDER_NET_TOTAL_H

#include "pprof/render/report_state.h"

/*
 * Add up the values of samples that differ only in the label of the base, and
 * return the sum of the absolute values of these differences.
 */
int64_t report_net_total(const struct report *r);

#endif
