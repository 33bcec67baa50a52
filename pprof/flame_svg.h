/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flame graph as SVG: the root on top, a click zooms, a pointer over a frame
 * tells its name and weight.
 *
 * Ownership: appends to the caller's buffer.
 * Threads: one thread at a time.
 */
#ifndef PPROF_FLAME_SVG_H
#define PPROF_FLAME_SVG_H

#include "pprof/render/flame.h"

/* The drawing, without script: an <svg> element with the id "flame". */
void flame_svg(const struct report *r, const struct flame *f, struct buf *out);

/* What makes a click zoom: JavaScript, to be put behind the drawing. */
extern const char flame_script[];

/* A file of its own, with the script in it. */
int report_flamegraph_svg(struct report *r, struct buf *out, struct err *err);

#endif
