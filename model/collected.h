/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of the series that the eBPF collector stores: profiles of programs,
 * and heartbeats, which say when a machine was sampled.
 *
 * Others may use the names of the profiles, too: a series is the collector's if
 * it has the job COLLECTED_JOB and all labels of a heartbeat (query/select/coverage.h).
 *
 * Threads: any.
 */
#ifndef MODEL_COLLECTED_H
#define MODEL_COLLECTED_H

/* The value of the label "job" of all of them. */
#define COLLECTED_JOB "ebpf"

/* The label with the name of the machine. */
#define COLLECTED_NODE "node"

/* Profiles of CPU time, one series for each program. */
#define COLLECTED_CPU "process_cpu"

/* Profiles of the time that threads wait. */
#define COLLECTED_OFF_CPU "process_off_cpu"

/* Heartbeats of the profiles of CPU time, one series for each machine. */
#define COLLECTED_CPU_BEATS "node_cpu"

/* Heartbeats of the profiles of the time that threads wait. */
#define COLLECTED_OFF_CPU_BEATS "node_off_cpu"

#endif
