/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compactor: makes one block of several parts, the parts left as they are.
 *
 * Ownership: the block that it makes is the caller's reference.
 * Threads: one compaction is one thread's; another may cancel it.
 */
#ifndef TSDB_COMPACT_COMPACTOR_H
#define TSDB_COMPACT_COMPACTOR_H

#include "tsdb/compact/rewriter.h"
#include "tsdb/part/part.h"

struct compaction {
	const struct block_env *env;
	const struct part *parts; /* older first: of two at one time it stays */
	size_t count;
	struct ulid ulid;  /* of the block to be */
	bool reencode;     /* all groups; else only those that overlap */
	uint64_t link_min; /* values files below it are copied together */
	bool salvage;      /* as in struct rewriter_options */
	struct rewrite_loss *loss; /* added to */
	struct metric *damaged;
	const _Atomic int *cancel; /* not 0: stop; may be NULL */
};

/*
 * Ranges must be flushed and take no more samples. *out is NULL when nothing
 * is left (everything was deleted). On failure no trace is left. ERR_CLOSED:
 * cancelled.
 */
NODISCARD int compactor_run(const struct compaction *c, struct block **out,
			    struct err *err);

#endif
