/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ad-hoc receive: takes an uploaded file, tells its format by its contents, and keeps
 * its profiles in the ad-hoc store: profiles of pprof (all formats that pprof reads),
 * recordings of Java Flight Recorder, the text of perf script, and folded stacks; each
 * may be compressed with gzip or zstd.
 *
 * Ownership: everything is borrowed for the call.
 * Threads: any.
 */
#ifndef ADHOC_ADHOC_RECEIVE_H
#define ADHOC_ADHOC_RECEIVE_H

#include "adhoc/adhoc_store.h"

/* What was uploaded. */
struct adhoc_order {
	struct str name; /* of the file; empty: it has none */
	struct str user; /* who uploads it */
	struct bytes body;
	struct ingest_share *share; /* accounts for the memory of the body … */
	int64_t held;               /* … and has so many bytes already */
	int64_t deadline_ns;        /* on clock_mono_ns() */
};

/*
 * Take a file. ERR_INVALID: it has no known format, or nothing in it; ERR_TOOBIG: it, or
 * a profile in it, is too large; ERR_LIMIT: there is no memory for it now; ERR_NOSPACE:
 * there is no room on disk, or in the store; ERR_TIMEOUT. *out is in the arena.
 */
NODISCARD int adhoc_receive(struct adhoc_store *s, const struct adhoc_order *o,
			    struct arena *arena, struct adhoc_meta *out,
			    struct err *err);

#endif
