/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles of this process: for /debug/pprof/profile by the eBPF collector, which
 * looks at this process alone; for /debug/pprof/heap by sampled allocations
 * (base/mem_profile.h). Both have the mappings of the process.
 *
 * Ownership: a self profiler is freed after the web server has stopped.
 * Threads: any; one CPU profile at a time.
 */
#ifndef CMD_SERVE_SELF_PROFILE_H
#define CMD_SERVE_SELF_PROFILE_H

#include "base/buf.h"
#include "base/err.h"
#include "pprof/proto/decode.h"
#include "symbols/names/symbolizer.h"
#include "web/web.h"

struct self_profiler;

/* Make a profiler. `debug_dir` is as in struct collector_options; borrowed. */
struct self_profiler *self_profiler_new(const char *debug_dir);

/* Let a profile that is being taken end at once. */
void self_profiler_interrupt(struct self_profiler *p);

/* Free a profiler that nobody uses; NULL is a no-op. */
void self_profiler_free(struct self_profiler *p);

/* The profiler as an endpoint of the web server. */
struct web_profiler self_profile_endpoint(struct self_profiler *p);

/*
 * Append the heap profile as gzip'd profile.proto. Functions have names as far as the
 * symbolizer finds them until the deadline (ns of clock_mono_ns()).
 * ERR_UNSUPPORTED: allocations are not sampled.
 */
NODISCARD int self_heap_profile(struct symbolizer *symbolizer,
				int64_t deadline_ns, struct buf *out,
				struct err *err);

/*
 * Add a mapping to the profile for each executable segment, with path and build
 * ID. This program is the first one.
 */
void self_mappings_add(struct pprof *p);

/* Return the number of the mapping of an address, or PPROF_NONE. */
uint32_t self_mappings_find(const struct pprof *p, uint64_t address);

#endif
