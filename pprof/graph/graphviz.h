/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs Graphviz' program dot to draw a call graph, with limits on its time, its
 * memory and the number of concurrent drawings.
 *
 * Ownership: the child process never outlives the call.
 * Threads: any.
 */
#ifndef PPROF_GRAPH_GRAPHVIZ_H
#define PPROF_GRAPH_GRAPHVIZ_H

#include "base/buf.h"
#include "base/err.h"

/*
 * Draw a graph in the DOT language and append the SVG to `out`.
 * ERR_UNSUPPORTED: dot is not installed; ERR_LIMIT: too many drawings are
 * running; ERR_TIMEOUT; ERR_TOOBIG: the SVG is larger than the maximum size of
 * `out`; ERR_INVALID: dot failed; ERR_IO: a pipe or the process could not be
 * created.
 */
NODISCARD int graphviz_svg(struct bytes dot, struct buf *out, struct err *err);

#endif
