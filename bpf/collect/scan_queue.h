/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scan queue: a thread that reads facts about processes, because reading them
 * may take long. There are three kinds of facts. (1) SCAN_FACTS: what decides
 * about the series of a process. (2) SCAN_MAPS: the same, and the mappings of
 * the process. They are needed if the process table does not have them, for
 * example because the process is older than the kernel's reports (side_band.h),
 * or because reports were lost. (3) SCAN_JIT: the perf map of a process, in
 * which it names the code that it compiles (jit_process.h). The user whose
 * processes have taken the least time to read comes first, so that nobody can
 * delay the others. Of the processes of one user, the one that was asked for
 * last comes first, because it is most likely being sampled now.
 *
 * Ownership: the queue owns its thread and its helper; results belong to the
 * taker.
 * Threads: one thread calls all functions; the queue's own thread reads.
 */
#ifndef BPF_COLLECT_SCAN_QUEUE_H
#define BPF_COLLECT_SCAN_QUEUE_H

#include "base/buf.h"
#include "bpf/collect/jit_process.h"
#include "bpf/process/process_reader.h"
#include "bpf/process/user_ranges.h"

enum {
	/*
	 * Largest number of waiting requests (wishes) about processes of one
	 * user. If there are more, the oldest one is dropped and gets no
	 * answer. Facts that are still needed are asked for again.
	 */
	SCAN_WISHES_MAX = 32 << 10,
};

/* The kinds of facts about a process that a scan reads. */
enum scan_kind {
	SCAN_FACTS, /* what decides about the series of the process */
	SCAN_MAPS,  /* the same, and its mappings */
	/* its perf map, and the other facts of struct jit_process */
	SCAN_JIT,
};

/* The facts about a process that one scan has read. */
struct scan_result {
	enum scan_kind kind;
	uint32_t pid;
	uint64_t read_ns; /* monotonic time at which reading began */
	/* the process could be read; always true of SCAN_JIT */
	bool good;
	struct process_text text; /* SCAN_JIT: empty; else borrows `answer` */
	struct jit_process jit;   /* SCAN_JIT: the facts; else empty */
	struct buf answer;
};

struct scan_queue;

/*
 * Start the thread. `helper_argv` is the command of the helper, which calls
 * process_reader_serve(): a program and its arguments, ending with NULL. The
 * ranges (NULL: none) must outlive the queue.
 */
struct scan_queue *scan_queue_open(char *const *helper_argv,
				   const struct user_ranges *ranges);

/*
 * Stop the thread and free the queue. Stopping may take several times as long
 * as PROCESS_READER_TIMEOUT_MS. NULL is a no-op.
 */
void scan_queue_close(struct scan_queue *q);

/*
 * Return a descriptor that becomes readable when there is a result, and stays
 * readable until scan_queue_take() has returned false.
 */
int scan_queue_fd(const struct scan_queue *q);

/* Ask for the facts `kind` about the process `pid`. */
void scan_queue_add(struct scan_queue *q, enum scan_kind kind, uint32_t pid);

/*
 * Ask for the mappings of all processes that exist. If there was such a request
 * before, the processes are listed only when all processes of that request have
 * been read.
 */
void scan_queue_add_all(struct scan_queue *q);

/* Whether nothing is left to be read or taken. */
bool scan_queue_is_idle(struct scan_queue *q);

/* Take a result. False: there is none now. */
bool scan_queue_take(struct scan_queue *q, struct scan_result *out);

/* Free a result. */
void scan_result_fini(struct scan_result *r);

#endif
