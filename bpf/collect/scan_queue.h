/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scan queue: a thread that reads those facts about processes that may take
 * long to read. These are the facts that decide about their series; their
 * mappings, if they started before the kernel's reports began or reports were
 * lost; and the files in which they name the code that they compile. The user
 * whose processes have taken the least time comes first, so that nobody can
 * delay the others; of the processes of one user, the one that was asked for
 * last comes first: it is sampled now.
 *
 * Ownership: the queue owns its thread and its helper; results belong to the
 * taker.
 * Threads: one thread calls all functions.
 */
#ifndef BPF_COLLECT_SCAN_QUEUE_H
#define BPF_COLLECT_SCAN_QUEUE_H

#include "base/buf.h"
#include "bpf/collect/jit_process.h"
#include "bpf/process/process_reader.h"
#include "bpf/process/user_ranges.h"

enum {
	/*
	 * Largest number of wishes of one user that wait. If there are more,
	 * the oldest one gets no answer; facts that are still needed are asked
	 * for again.
	 */
	SCAN_WISHES_MAX = 32 << 10,
};

/* The kinds of facts about a process that a scan reads. */
enum scan_kind {
	SCAN_FACTS, /* what decides about its series */
	SCAN_MAPS,  /* the same, and its mappings */
	SCAN_JIT,   /* the map of the code that it compiles */
};

/* The facts about a process that one scan has read. */
struct scan_result {
	enum scan_kind kind;
	uint32_t pid;
	uint64_t read_ns;         /* monotonic time at which reading began */
	bool good;                /* it could be read */
	struct process_text text; /* not of SCAN_JIT; it borrows `answer` */
	struct jit_process jit;   /* of SCAN_JIT */
	struct buf answer;
};

struct scan_queue;

/*
 * Start the thread. `helper_argv` is a program and its arguments, ending with
 * NULL, that calls process_reader_serve(). The ranges (NULL: none) must outlive
 * the queue.
 */
struct scan_queue *scan_queue_open(char *const *helper_argv,
				   const struct user_ranges *ranges);

/*
 * Stop the thread, which may take a few times PROCESS_READER_TIMEOUT_MS; NULL
 * is a no-op.
 */
void scan_queue_close(struct scan_queue *q);

/* A descriptor that is readable when scan_queue_take() has something. */
int scan_queue_fd(const struct scan_queue *q);

/* Ask for something about a process. */
void scan_queue_add(struct scan_queue *q, enum scan_kind kind, uint32_t pid);

/*
 * Ask for the mappings of all processes that exist. The processes are listed
 * once those of the last such request have been read.
 */
void scan_queue_add_all(struct scan_queue *q);

/* Whether nothing is left to be read or taken. */
bool scan_queue_is_idle(struct scan_queue *q);

/* Take a result. False: there is none now. */
bool scan_queue_take(struct scan_queue *q, struct scan_result *out);

/* Free a result. */
void scan_result_fini(struct scan_result *r);

#endif
