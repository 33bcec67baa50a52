/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heap profiles of this process, for /debug/pprof/heap: which functions have
 * allocated memory, and hold it. The sample types are those of Go's heap
 * profiles.
 *
 * Ownership: appends to the caller's buffer.
 * Threads: any.
 */
#ifndef CMD_SERVE_SELF_HEAP_H
#define CMD_SERVE_SELF_HEAP_H

#include "base/buf.h"
#include "base/err.h"
#include "symbols/names/symbolizer.h"

/*
 * Append the profile as gzip'd profile.proto. Functions have names as far as the
 * symbolizer finds them until the deadline (ns of clock_mono_ns()).
 * ERR_UNSUPPORTED: allocations are not sampled.
 */
NODISCARD int self_heap_profile(struct symbolizer *symbolizer,
				int64_t deadline_ns, struct buf *out,
				struct err *err);

#endif
