/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ELF queue: a thread that reads the facts of files, so that the collector does
 * not wait for a disk or for a large unwind table. It reads one file at a time.
 *
 * Ownership: a queue owns its thread and its file helper, until
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
	uint32_t number;      /* of the file */
	bool good;            /* false: it cannot be read, or is no ELF file */
	struct elf_read read; /* its facts borrow `answer` */
	struct buf answer;
};

/*
 * Start the thread. The arguments are the commands of its two helpers, as for
 * file_helper_new().
 */
struct elf_queue *elf_queue_open(char *const *helper_argv,
				 char *const *process_argv);

/* End the thread; a file that is being read is waited for. NULL is a no-op. */
void elf_queue_close(struct elf_queue *q);

/* Return a descriptor that is readable while there is a result. */
int elf_queue_fd(const struct elf_queue *q);

/* Whether a file can be submitted: the last result was taken. */
bool elf_queue_is_idle(struct elf_queue *q);

/*
 * Let the thread read a file, whose path and identity are copied. The file
 * counts to the share of `user`.
 */
void elf_queue_submit(struct elf_queue *q, uint32_t number,
		      const struct mapped_file *f, uint32_t user);

/* Take the result; false: there is none yet. elf_result_fini() frees it. */
NODISCARD bool elf_queue_take(struct elf_queue *q, struct elf_result *out);

void elf_result_fini(struct elf_result *r);

#endif
