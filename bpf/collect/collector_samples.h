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
 * Take a sample: add it to a window, hold it, or count it as lost; ignore it if
 * its process is not of interest. The process table must have what was mapped
 * when the sample was taken.
 */
void collector_take(struct collector *c, const struct sample_record *r);

/* Take over the result of a scan of a process, of any kind but SCAN_JIT. */
void collector_learn(struct collector *c, const struct scan_result *r);

/*
 * Take the held samples whose facts have been read, and those that have waited
 * long enough.
 */
void collector_take_held(struct collector *c, uint64_t now);

/*
 * Add the time for which threads have waited up to a time to the window of that
 * time. What they wait from then on belongs to the next window.
 */
void collector_add_waits(struct collector *c, uint64_t until);

#endif
