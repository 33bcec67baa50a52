/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module version: removes the major version of a Go module from the names of
 * functions (https://go.dev/ref/mod#major-version-suffixes). A program that moves
 * from example.com/a to example.com/a/v2 has other names for all functions of the
 * module, so a comparison would call each of them new or gone.
 *
 * Threads: one thread at a time per profile.
 */
#ifndef PPROF_FILTER_MODULE_VERSION_H
#define PPROF_FILTER_MODULE_VERSION_H

#include "pprof/profile/profile.h"

/*
 * Remove "/v2", "/v3" and so on from the paths in function names, also in those of
 * type arguments, and ".v2" from paths of gopkg.in, whose dot may be written "%2e".
 */
void module_version_remove(struct pprof *p);

#endif
