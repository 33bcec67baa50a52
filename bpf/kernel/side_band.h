/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Side band: the kernel's reports of processes that start, run another program,
 * map files and end, as perf_event_open(2) gives them for each CPU.
 *
 * Ownership: a side band owns its buffers, until side_band_close().
 * Threads: one thread at a time.
 */
#ifndef BPF_KERNEL_SIDE_BAND_H
#define BPF_KERNEL_SIDE_BAND_H

#include "base/err.h"
#include "bpf/kernel/side_band_record.h"

enum {
	/* Pages of the buffer of a CPU; a power of two. */
	SIDE_BAND_PAGES = 64,
};

struct side_band;

/*
 * Begin to receive reports of all CPUs that are online. ERR_DENIED: the
 * capability CAP_PERFMON is missing, something refuses perf_event_open(), or
 * the limit of locked memory is reached; the message says what to do. Other
 * errors as cpu_list_online() and err_sys().
 */
NODISCARD int side_band_open(struct side_band **out, struct err *err);

/* Stop receiving reports and free the buffers; NULL is a no-op. */
void side_band_close(struct side_band *s);

/*
 * Return the descriptors, one for each CPU, that become readable when there are
 * reports. Set *count to the number of descriptors.
 */
const int *side_band_fds(const struct side_band *s, size_t *count);

/* Whether there are reports. Costs no system call. */
bool side_band_is_ready(const struct side_band *s);

/* Callback of side_band_drain(): receive a report, which is borrowed. */
typedef void side_band_visit(void *ctx, const struct side_band_record *r);

/*
 * Call `visit` for all reports of what has happened until now, of all CPUs, in
 * the order of their times. Later reports are left for the next call, so that
 * the order holds from one call to the next.
 */
void side_band_drain(struct side_band *s, side_band_visit *visit, void *ctx);

#endif
