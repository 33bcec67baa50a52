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
 * Take a record of the kernel. A CPU sample is added to a window, held
 * (held_samples.h), or counted as lost or dropped. A SAMPLE_WAITS record is
 * kept until the thread runs again (waiting_threads.h). A SAMPLE_RESUMES record
 * ends the wait of the thread. The wait is then added, held or counted, like a
 * CPU sample. If the option `pid` excludes the process, the record is ignored.
 * All reports from before the time of the record must have been applied to the
 * process table, so that the table has the mappings of that time.
 */
void collector_take(struct collector *c, const struct sample_record *r);

/*
 * Take over what a scan of the kind SCAN_FACTS or SCAN_MAPS has read about a
 * process.
 */
void collector_learn(struct collector *c, const struct scan_result *r);

/*
 * Take the held samples that need not wait any longer. A sample need not wait
 * if no facts about its process, or about the parent of the process, are being
 * read any more, or if the sample has waited for HELD_SAMPLES_MS at the time
 * `now` (in monotonic ms). Add each of these samples to the window of its time,
 * or count it as lost or dropped.
 */
void collector_take_held(struct collector *c, uint64_t now);

/*
 * Take the samples of the process `pid` that are held because facts about it or
 * about its parent are being read. Call this function before a SIDE_BAND_EXEC
 * report about the process is applied: the report makes the process table
 * forget the program to which these samples belong.
 */
void collector_take_held_of(struct collector *c, uint32_t pid);

/*
 * For each thread that waits, add to a window the part of the wait that lies
 * before `until` (in monotonic ns) and is in no window yet. The window is that
 * of the time just before `until`. The part after `until` belongs to later
 * windows. Forget the waits of threads that do not exist any more, of processes
 * that rules drop, and of processes for which there are too many series.
 */
void collector_add_waits(struct collector *c, uint64_t until);

#endif
