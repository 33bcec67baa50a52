/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scan: is this a profile, and what does it hold? One bounds-checked walk,
 * without building anything.
 *
 * The verdict is that of google/pprof's profile.ParseData on the decompressed
 * bytes (proto.go's decoder and postDecode, profile.go's CheckValid, and its
 * legacy formats), but for more than 256 sample types, and jemalloc's heaps,
 * which it refuses. Source: github.com/google/pprof/profile.
 *
 * Ownership: results borrow from the bytes that were scanned, and from the
 * scanner until its next use.
 * Threads: one thread a scanner.
 */
#ifndef PPROF_SCAN_H
#define PPROF_SCAN_H

#include "base/err.h"
#include "model/types.h"

struct scanner;

struct scan {
	struct typeset types;
	int64_t totals[TYPES_MAX]; /* sums, wrapping as Go's */
	uint64_t sample_count;
	int64_t time_ns;
	int64_t duration_ns;
	int64_t period;
	uint64_t hash; /* hash_bytes() of the bytes */
};

struct scanner *scanner_new(void);
void scanner_free(struct scanner *s);

/* ERR_INVALID says why the bytes are no profile. */
NODISCARD int scanner_run(struct scanner *s, struct bytes raw, struct scan *out,
			  struct err *err);

#endif
