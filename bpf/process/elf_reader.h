/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ELF reader: reads the facts (elf_facts.h) about a file that a process has
 * mapped. The file is opened as the process sees it, perhaps in a container,
 * and only if it is still the file that was mapped.
 *
 * Ownership: see the functions.
 * Threads: one thread for each file helper.
 */
#ifndef BPF_PROCESS_ELF_READER_H
#define BPF_PROCESS_ELF_READER_H

#include "bpf/process/elf_facts.h"
#include "symbols/file_helper.h"
#include "symbols/name_finder.h"

/* The operations of the file helper, behind those of a name finder. */
enum elf_operation {
	ELF_READER_OPERATION = NAME_OPERATIONS, /* elf_facts_read() */
	ELF_OPERATIONS,
};

/* All these operations, for file_helper_serve(). */
extern file_operation *const elf_operations[ELF_OPERATIONS];

enum {
	/* Timeout for reading one file. The largest files take 50 ms. */
	ELF_READER_TIMEOUT_MS = 10000,
	/* Length of an identity that is a device and an inode. */
	FILE_INODE_LEN = 16,
};

/* Encode the device and the inode of a file as an identity. */
void file_inode_encode(struct buf *out, uint32_t major, uint32_t minor,
		       uint64_t inode);

/* Open a path below the root of a process, or return -1. */
int elf_reader_open_path(uint32_t pid, const char *path);

/*
 * Open a file that a process has mapped, or if the process has ended, the file
 * that is at the same path here. `identity` is that of the file table. Returns
 * -1 if there is no such file. It may have another build ID than `identity`.
 */
int elf_reader_open(uint32_t pid, const char *path, struct bytes identity);

/* A file that a process has mapped, as the file table knows it. Borrowed. */
struct wanted_file {
	uint32_t pid;
	const char *path;
	struct bytes identity; /* a device and an inode, or a build ID */
};

/*
 * Read the facts of a file. The answer is appended to `answer`, which is empty,
 * and the facts borrow it. ERR_NOTFOUND: the process is gone, or another file
 * is there now. Other errors as elf_facts_read() and file_helper_call().
 */
NODISCARD int elf_reader_read(struct file_helper *helper,
			      const struct wanted_file *f, struct buf *answer,
			      struct elf_facts *out, struct err *err);

#endif
