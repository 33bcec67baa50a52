/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps filter: reads the lines of /proc/PID/maps that are of executable memory.
 * A process may have 65 530 mappings, which are 10 MB of text; few of them are
 * executable.
 *
 * Ownership: the caller closes the descriptor.
 * Threads: any.
 * Source: proc(5).
 */
#ifndef BPF_PROCESS_MAPS_FILTER_H
#define BPF_PROCESS_MAPS_FILTER_H

#include "base/buf.h"
#include "base/err.h"

/*
 * Read /proc/PID/maps from `fd`, and append the lines of executable memory to
 * `out`: at most ADDRESS_RANGES_MAX lines, the largest number of ranges of a
 * process, and at most `max` bytes. Lines for which there is no room are left
 * out. Errors are those of read().
 */
NODISCARD int maps_filter_read(int fd, size_t max, struct buf *out,
			       struct err *err);

#endif
