/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the collector that takes samples from the kernel: it finds the
 * process of each sample and the file of each frame, and adds the sample to the
 * window.
 *
 * Threads: the collector's own thread.
 */
#ifndef BPF_COLLECT_COLLECTOR_SAMPLES_H
#define BPF_COLLECT_COLLECTOR_SAMPLES_H

#include "bpf/collect/scan_queue.h"

struct collector;
struct sample_record;

/*
 * Take a record of the kernel. A sample is added to a window, held
 * (held_samples.h), or counted as lost or dropped. A record that says that a
 * thread begins to wait is kept until the thread runs again
 * (waiting_threads.h). If the option `pid` excludes the process, the record is
 * ignored. The process table must have what was mapped when the record was
 * made.
 */
void collector_take(struct collector *c, const struct sample_record *r);

/*
 * Take over what a scan of the kind SCAN_FACTS or SCAN_MAPS has read about a
 * process.
 */
void collector_learn(struct collector *c, const struct scan_result *r);

/*
 * Add to their windows the held samples whose processes are not being read any
 * more, and those that have waited long enough at the time `now` (in monotonic
 * ms).
 */
void collector_take_held(struct collector *c, uint64_t now);

/*
 * For each thread that waits, add the part of the wait up to `until` (in
 * monotonic ns) that no window has yet. It goes to the window that has the time
 * just before `until`; the rest of the wait belongs to the next window. Forget
 * threads that do not exist any more.
 */
void collector_add_waits(struct collector *c, uint64_t until);

#endif
