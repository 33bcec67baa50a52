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
 * Add a sample to the window of the collector, or count why it is not wanted.
 * The processes have what was mapped when it was taken.
 */
void collector_take(struct collector *c, const struct sample_record *r);

/* Take over what was read of a process, but not of SCAN_JIT. */
void collector_learn(struct collector *c, const struct scan_result *r);

/*
 * Take the samples that waited for what was read, and those that have waited
 * long enough.
 */
void collector_take_held(struct collector *c, uint64_t now);

/*
 * Add the time that threads have waited until a time to its window; what they
 * wait from then on is in the next one.
 */
void collector_add_waits(struct collector *c, uint64_t until);

#endif
