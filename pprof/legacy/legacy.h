/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Legacy: profiles of the time before profile.proto, which google/pprof still
 * reads (legacy_profile.go, legacy_java_profile.go) and some programs still
 * write: gperftools' CPU profiles; heaps of tcmalloc and of Go's ?debug=1,
 * growth and fragmentation; counts of goroutines and threads; threadz;
 * contention; Java's. And jemalloc's heap_v2, which pprof does not read.
 *
 * Ownership: the parser owns the profile until its next use; no text borrows
 * from the input. Threads: one thread a parser.
 */
#ifndef PPROF_LEGACY_LEGACY_H
#define PPROF_LEGACY_LEGACY_H

#include "base/err.h"
#include "pprof/profile/profile.h"

struct legacy;

/* Profiles that would take more than max bytes are refused. */
struct legacy *legacy_new(size_t max);
void legacy_free(struct legacy *l);
size_t legacy_memory(const struct legacy *l);
void legacy_set_max(struct legacy *l, size_t max);

/*
 * ERR_UNSUPPORTED: none of these formats. ERR_INVALID: one of them, and what
 * is wrong. ERR_LIMIT.
 */
NODISCARD int legacy_parse(struct legacy *l, struct bytes raw,
			   struct pprof **out, struct err *err);

#endif
