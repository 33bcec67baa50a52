/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Net total: the total of a diff that keeps its sides apart (-diff_base),
 * computed as if the sides had been subtracted from each other (-base). With
 * it, a report shows both sides, but its percentages are those of pprof's
 * -base.
 *
 * Ownership: borrows the report.
 * Threads: one thread per report.
 */
#ifndef PPROF_REPORT_NET_TOTAL_H
#define PPROF_REPORT_NET_TOTAL_H

#include "pprof/report/report_state.h"

/*
 * Add up the values of samples that differ only in the label of the base, which
 * gives the differences between the sides, because base samples have negative
 * values. Return the sum of the absolute values of these differences.
 */
int64_t report_net_total(const struct report *r);

#endif
