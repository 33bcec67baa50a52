/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the collector that takes samples from the kernel: it finds the
 * process of each sample and the file of each frame, and adds the sample to the
 * window.
 *
 * Ownership: samples are borrowed.
 * Threads: the collector's own thread.
 */
#ifndef BPF_COLLECT_COLLECTOR_SAMPLES_H
#define BPF_COLLECT_COLLECTOR_SAMPLES_H

struct collector;
struct sample_record;

/*
 * Add a sample to the window of the collector, or count why it is not wanted.
 * The processes have what was mapped when it was taken.
 */
void collector_take(struct collector *c, const struct sample_record *r);

/* Add the time that threads have waited until now to the window. */
void collector_add_waits(struct collector *c);

#endif
