/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perf convert: the text of `perf script` as profiles of pprof, one for each event that
 * was recorded, such as cpu-clock or cache-misses. A sample is a line such as
 *
 *	bash  1099 [000] 25122.527338:    1003009 cpu-clock:ppp:
 *
 * and, one line each, its frames, the innermost first:
 *
 *	ffffffff81386d58 alloc_pid+0x338 ([kernel.kallsyms])
 *
 * or a single frame at the end of the first line. Sample types are the number of samples
 * and the event, whose values are the periods. Samples have the labels `comm` (the name of
 * the thread), and `tid`, or `pid` if the text has the process, too. The times of perf are
 * not those of a clock, so a profile has a duration, but no time. Lines of other records
 * (PERF_RECORD_…) and places in source files are skipped.
 * Source: Linux, tools/perf/Documentation/perf-script.txt and builtin-script.c.
 *
 * Ownership: everything is borrowed for the call.
 * Threads: any; no shared state.
 */
#ifndef CONVERT_PERF_PERF_CONVERT_H
#define CONVERT_PERF_PERF_CONVERT_H

#include "convert/conversion/convert_caller.h"

enum {
	PERF_EVENTS_MAX = 32,     /* different events of a text */
	PERF_FRAMES_MAX = 4096,   /* of a sample */
	PERF_NAME_MAX = 64 * 1024 /* bytes of the name of a function */
};

/* Whether a text begins as that of perf script does. */
bool perf_convert_is(struct str text);

/*
 * Convert a text, and store the profiles, whose label __name__ is the event.
 * ERR_INVALID: a line is none of perf script, or has too many or too long functions; the
 * message names the line. ERR_TOOBIG: a profile is too large; and the errors of the
 * callbacks.
 */
NODISCARD int perf_convert(struct str text, const struct convert_caller *caller,
			   struct err *err);

#endif
