/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perf maps: the names of functions that a program compiles while it runs, in
 * the file /tmp/perf-PID.map (Linux, tools/perf/Documentation/jit-interface.txt).
 * Each line is "ADDRESS SIZE NAME", with numbers in hexadecimal.
 *
 * Threads: any.
 */
#ifndef SYMBOLS_NAMES_PERF_MAP_H
#define SYMBOLS_NAMES_PERF_MAP_H

#include "base/buf.h"
#include "base/err.h"

enum {
	/* Number of bytes to read; the rest of a larger file is ignored. */
	PERF_MAP_MAX = 256 << 20,
};

/*
 * Operation of a file helper: look up addresses in the perf map of `fd`.
 * `argument` is a question (symbols/names/name_answer.h) with addresses in the
 * memory of the process. Lines that are malformed are left out; of several
 * lines for the same address, the last one counts. ERR_INVALID: the question is
 * malformed; ERR_IO: the file cannot be read.
 */
NODISCARD int perf_map_read(int fd, struct bytes argument, struct buf *out,
			    struct err *err);

#endif
