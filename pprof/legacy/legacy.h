/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Legacy: reads the profile formats older than profile.proto. google/pprof
 * still reads them (legacy_profile.go, legacy_java_profile.go) and some
 * programs still write these formats: CPU profiles of gperftools; heap, growth
 * and fragmentation profiles of tcmalloc and of Go's ?debug=1; counts of
 * goroutines and threads; threadz; contention; and the profiles of Java. Unlike
 * pprof, everprof also reads jemalloc's heap_v2.
 *
 * Ownership: the parser owns the profile until its next use; no string of the
 * profile borrows from the input.
 * Threads: one thread per parser.
 */
#ifndef PPROF_LEGACY_LEGACY_H
#define PPROF_LEGACY_LEGACY_H

#include "base/err.h"
#include "pprof/profile/profile.h"

/*
 * A parser for all legacy formats. It keeps its compiled regular expressions
 * from one profile to the next.
 */
struct legacy;

/*
 * Create a parser that refuses profiles which would need more than `max` bytes
 * of memory. The caller frees it with legacy_free().
 */
struct legacy *legacy_new(size_t max);

/* Free a parser and its profile. NULL is a no-op. */
void legacy_free(struct legacy *l);

/* Return the memory of the parser and its profile, in bytes. */
size_t legacy_memory(const struct legacy *l);

/* Change the memory bound, in bytes, for the next profiles. */
void legacy_set_max(struct legacy *l, size_t max);

/*
 * Try all formats and store the parsed profile in *out, owned by the parser.
 * ERR_UNSUPPORTED: the input is in none of the formats; ERR_INVALID: the input
 * is in one of the formats but malformed, and the message says how; ERR_LIMIT:
 * the profile needs more memory than allowed.
 */
NODISCARD int legacy_parse(struct legacy *l, struct bytes raw,
			   struct pprof **out, struct err *err);

#endif
