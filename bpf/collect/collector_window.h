/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the collector that handles windows, each with the samples of one
 * interval (sample_window.h). It decides when a window ends and the next one
 * begins, and when a window has all its samples and is handed over to the
 * profile writer (docs/decisions.md, 214).
 *
 * Ownership: the collector owns its windows, until the writer gets them.
 * Threads: the collector's own thread.
 * Units: nanoseconds of the monotonic clock.
 */
#ifndef BPF_COLLECT_COLLECTOR_WINDOW_H
#define BPF_COLLECT_COLLECTOR_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct collector;
struct sample_window;

/*
 * Read the counters of the BPF program into c->counts. After an error, the old
 * values stay.
 */
void collector_window_count(struct collector *c);

/*
 * Discard all windows, and begin one without samples. Called at the start, and
 * at each attempt to begin sampling.
 */
void collector_window_begin(struct collector *c);

/*
 * If the previous window is complete and the writer has room, hand that window
 * over. Then, if the present window has lasted for an interval and no previous
 * window is left, begin the next one.
 */
void collector_window_turn(struct collector *c);

/* Return the window to which a sample taken at `time` belongs. */
struct sample_window *collector_window_of(struct collector *c, uint64_t time);

/*
 * Hand the oldest window over at once, to free its memory. If this window still
 * goes on, end it first and begin the next one. Samples from its time that come
 * later are added to the next window. False: the writer has no room, or the
 * collector is stopping and only its last window is left.
 */
bool collector_window_make_room(struct collector *c);

/*
 * End the last window, after sampler_stop(). Some of its samples may still have
 * to be read.
 */
void collector_window_end(struct collector *c);

/*
 * Hand over all windows, at the end. Wait until the writer has room, but end
 * its repeated attempts first (profile_writer_hurry()).
 */
void collector_window_give_all(struct collector *c);

#endif
