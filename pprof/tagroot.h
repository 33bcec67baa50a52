/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Label values as outermost frames, so that a profile is told apart by them:
 * pprof's tagroot (internal/driver's tagroot.go).
 *
 * Ownership: changes the profile it is given.
 * Threads: one thread at a time.
 */
#ifndef PPROF_TAGROOT_H
#define PPROF_TAGROOT_H

#include "pprof/effort.h"
#include "pprof/profile/profile.h"

#define TAGROOT_KEYS_MAX 16

/* ERR_INVALID: there are more keys than that; what: how the user calls them. */
NODISCARD int pprof_tagroot_check(struct str keys, const char *what,
				  struct err *err);

/*
 * keys: label keys, by commas, the first one outermost. A sample without such
 * a label gets a frame without name. *found: some sample has one of them. ERR_LIMIT,
 * ERR_TIMEOUT.
 */
NODISCARD int pprof_tagroot(struct pprof *p, struct str keys, struct str unit,
			    const struct effort *effort, bool *found,
			    struct err *err);

#endif
