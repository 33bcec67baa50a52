/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles of this process: for /debug/pprof/profile by the eBPF collector, which
 * looks at this process alone; for /debug/pprof/heap see self_heap.h.
 *
 * Ownership: a self profiler is freed after the web server has stopped.
 * Threads: any; one CPU profile at a time.
 */
#ifndef CMD_SERVE_SELF_PROFILE_H
#define CMD_SERVE_SELF_PROFILE_H

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

#endif
