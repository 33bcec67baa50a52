/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile for profile-guided optimisation: what `go build -pgo` reads of a
 * CPU profile (functions, lines, what they call), and nothing else. Labels and
 * addresses are dropped and equal stacks added up, so that a month's profile
 * is a file to be checked in.
 *
 * Source: cmd/compile/internal/pgo: a sample type samples/count or
 * cpu/nanoseconds, and the start lines of functions.
 *
 * Ownership: the result belongs to the merge that is given.
 * Threads: one thread at a time.
 */
#ifndef PPROF_PGO_H
#define PPROF_PGO_H

#include "base/err.h"
#include "pprof/merge.h"

/*
 * Changes p; the result belongs to m, which was empty. ERR_INVALID: it is no
 * CPU profile, or one that the compiler refuses.
 */
NODISCARD int pprof_pgo(struct merge *m, struct pprof *p, struct pprof **out,
			struct err *err);

#endif
