/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reduces a CPU profile to a profile for profile-guided optimisation. It has
 * only the data that `go build -pgo` reads: functions, lines, and the calls
 * between functions. Labels and addresses are removed and equal stacks added
 * up, so that the profile of a month is small enough to be checked in with the
 * source.
 *
 * Source: cmd/compile/internal/pgo, which requires a sample type samples/count
 * or cpu/nanoseconds, and the start lines of functions.
 *
 * Ownership: the result belongs to the merge that the caller passes.
 * Threads: one thread at a time per profile and merge.
 */
#ifndef PPROF_REPORT_PGO_H
#define PPROF_REPORT_PGO_H

#include "base/err.h"
#include "pprof/merge/merge.h"

/*
 * Reduce p into the empty merge m, and store the result in *out, which m
 * owns. Changes p. ERR_INVALID: p is no CPU profile, or not of a Go program, or
 * the Go compiler would refuse it because functions have no start lines (docs/decisions.md, 44).
 */
NODISCARD int pprof_pgo(struct merge *m, struct pprof *p, struct pprof **out,
			struct err *err);

#endif
