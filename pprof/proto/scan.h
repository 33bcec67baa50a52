/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scan: decides whether bytes are a valid profile and extracts sample types,
 * totals, times and the hash, in one bounds-checked pass. The pass builds no
 * profile in memory, except of a legacy format (pprof/legacy/legacy.h).
 *
 * Whether bytes are valid is decided as by google/pprof's profile.ParseData on
 * the decompressed bytes (proto.go's decoder and postDecode, profile.go's
 * CheckValid, and its legacy formats), with two exceptions: profiles with more
 * than 256 sample types are refused, and heap profiles of jemalloc, which pprof
 * refuses, are accepted.
 * Source: github.com/google/pprof/profile.
 *
 * Ownership: a result points into the scanned bytes and into the scanner; it is
 * valid until the scanner's next use.
 * Threads: one thread per scanner.
 */
#ifndef PPROF_PROTO_SCAN_H
#define PPROF_PROTO_SCAN_H

#include "base/err.h"
#include "model/types.h"

/* The names of more labels are not told. */
#define SCAN_LABELS_MAX 64

/* A scanner; it keeps its memory from one profile to the next. */
struct scanner;

/* The result of a scan. */
struct scan {
	struct typeset types;
	/* Sum of the values of each sample type; may wrap around. */
	int64_t totals[TYPES_MAX];
	uint64_t sample_count;
	int64_t time_ns;
	int64_t duration_ns;
	int64_t period;
	uint64_t hash; /* hash_bytes() of the scanned bytes */
	/* The names of the text labels that samples have. */
	struct str label_names[SCAN_LABELS_MAX];
	size_t label_name_count;
	bool more_label_names; /* there are others, too */
};

/* Create a scanner. The caller frees it with scanner_free(). */
struct scanner *scanner_new(void);

/* Free a scanner. NULL is a no-op. */
void scanner_free(struct scanner *s);

/*
 * Scan decompressed bytes and fill `*out`. ERR_INVALID: the bytes are no
 * profile, and the message says why; ERR_TOOBIG: a profile in a legacy format
 * needs too much memory.
 */
NODISCARD int scanner_run(struct scanner *s, struct bytes raw, struct scan *out,
			  struct err *err);

#endif
