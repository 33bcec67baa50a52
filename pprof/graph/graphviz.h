/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphviz: has the program `dot` draw a call graph, within bounds.
 *
 * Ownership: the child process ends with the call.
 * Threads: any.
 */
#ifndef PPROF_GRAPH_GRAPHVIZ_H
#define PPROF_GRAPH_GRAPHVIZ_H

#include "base/buf.h"
#include "base/err.h"

/*
 * Append the SVG of a graph to out. ERR_UNSUPPORTED: dot is not installed;
 * ERR_TIMEOUT; ERR_TOOBIG; ERR_IO: dot failed, and what it said.
 */
NODISCARD int graphviz_svg(struct bytes dot, struct buf *out, struct err *err);

#endif
