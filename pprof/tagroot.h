/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Label values as outermost frames, so that a profile is told apart by them:
 * pprof's tagroot (internal/driver's tagroot.go).
 *
 * Threads: one thread at a time.
 */
#ifndef PPROF_TAGROOT_H
#define PPROF_TAGROOT_H

#include "pprof/profile.h"

/*
 * keys: label keys, by commas, the first one outermost. A sample without such
 * a label gets a frame without name. False: no sample has any of them.
 */
bool pprof_tagroot(struct pprof *p, struct str keys, struct str unit);

#endif
