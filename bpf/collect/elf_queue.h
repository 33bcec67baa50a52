/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ELF queue: a thread that reads the facts about files (elf_facts.h), so that
 * the collector waits neither for a disk nor until a large unwind table is
 * made. The thread reads one file at a time.
 *
 * Ownership: a queue owns its thread and its two helpers, until
 * elf_queue_close().
 * Threads: one thread submits and takes; the queue's own thread reads.
 */
#ifndef BPF_COLLECT_ELF_QUEUE_H
#define BPF_COLLECT_ELF_QUEUE_H

#include "bpf/process/elf_reader.h"
#include "bpf/process/file_table.h"

struct elf_queue;

/* The result of reading one file. */
struct elf_result {
	uint32_t number;      /* of the file in the file table */
	bool good;            /* false: it cannot be read, or is no ELF file */
	struct elf_read read; /* its facts borrow `answer` */
	struct buf answer;
};

/*
 * Start the thread. `helper_argv` is the command of the helper that has
 * elf_operations. `process_argv` is the command of the helper that calls
 * process_reader_serve(). Both are as for file_helper_new().
 */
struct elf_queue *elf_queue_open(char *const *helper_argv,
				 char *const *process_argv);

/*
 * Wait until the file that is being read is finished, end the thread, and free
 * the queue. NULL is a no-op.
 */
void elf_queue_close(struct elf_queue *q);

/* Return a descriptor that is readable while there is a result. */
int elf_queue_fd(const struct elf_queue *q);

/*
 * Whether a file can be submitted: no file is being read, and the last result
 * was taken.
 */
bool elf_queue_is_idle(struct elf_queue *q);

/*
 * Let the thread read the file `f`, whose path and identity are copied. The
 * queue must be idle. `number` is the number of the file in the file table.
 * `user` is the user to whose share the process f->pid counts
 * (user_ranges_share()), for file_helper_set_user().
 */
void elf_queue_submit(struct elf_queue *q, uint32_t number,
		      const struct mapped_file *f, uint32_t user);

/* Take the result; false: there is none yet. elf_result_fini() frees it. */
NODISCARD bool elf_queue_take(struct elf_queue *q, struct elf_result *out);

void elf_result_fini(struct elf_result *r);

#endif
