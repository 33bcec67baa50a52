/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The windows of the collector: when one ends and the next begins, and when all
 * samples of one are there, so that it can be handed over (docs/decisions.md, 214).
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

/* Ask the kernel for its counters. */
void collector_window_count(struct collector *c);

/*
 * Begin a new window without samples, at the start and when sampling begins.
 * Discard earlier windows.
 */
void collector_window_begin(struct collector *c);

/* End the window when it is time, and hand it over when it is complete. */
void collector_window_turn(struct collector *c);

/* Return the window to which a sample of a time belongs. */
struct sample_window *collector_window_of(struct collector *c, uint64_t time);

/*
 * Hand the oldest window over at once, although samples of its time may be
 * missing, which then belong to the next one. False: the writer has no room, or
 * only the last window is left.
 */
bool collector_window_make_room(struct collector *c);

/*
 * End the last window: no further samples are taken, but those of this window
 * are still to be read.
 */
void collector_window_end(struct collector *c);

/* Hand over all windows, at the end. Wait until the writer has room. */
void collector_window_give_all(struct collector *c);

#endif
