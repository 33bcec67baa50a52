/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flame graph as SVG: the root is on top, a click zooms into a frame, and a
 * pointer over a frame shows its name and weight.
 *
 * Threads: one thread per report.
 */
#ifndef PPROF_REPORT_FLAME_SVG_H
#define PPROF_REPORT_FLAME_SVG_H

#include "pprof/report/flame.h"

/*
 * Write the report's flame graph as a separate SVG file that includes the
 * script. ERR_TOOBIG: the file does not fit into `out`; ERR_LIMIT, ERR_TIMEOUT:
 * the report's limits refused to continue.
 */
int report_flamegraph_svg(struct report *r, struct buf *out, struct err *err);

#endif
