/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ELF reader: reads the facts (elf_facts.h) about a file that a process has
 * mapped. The file is opened as the process sees it, perhaps in a container, or
 * else at the same path as everprof sees it. It is accepted only if it is still
 * the file that was mapped (struct file_identity).
 *
 * Threads: one thread for each pair of helpers.
 */
#ifndef BPF_PROCESS_ELF_READER_H
#define BPF_PROCESS_ELF_READER_H

#include "base/file_state.h"
#include "bpf/process/elf_facts.h"
#include "bpf/process/process_reader.h"
#include "symbols/helper/file_helper.h"
#include "symbols/names/name_finder.h"

/*
 * The operations of the file helper, besides those of a name finder
 * (symbols/names/name_finder.h), whose numbers come first.
 */
enum elf_operation {
	ELF_READER_OPERATION = NAME_OPERATIONS, /* elf_facts_read() */
	ELF_OPERATIONS,
};

/*
 * The functions of all operations, with those of a name finder, for
 * file_helper_serve().
 */
extern file_operation *const elf_operations[ELF_OPERATIONS];

enum {
	/*
	 * Timeout for reading one file. The largest files take 50 ms, and some
	 * seconds on a slow disk. Meanwhile, no other file is read.
	 */
	ELF_READER_TIMEOUT_MS = 5000,
};

/*
 * A file that a process has mapped, as the file table knows it. `path` and the
 * bytes of `identity` are borrowed.
 */
struct wanted_file {
	uint32_t pid;
	uint32_t uid; /* the user of the process, process_uid_find() */
	const char *path;
	struct file_identity identity;
	/*
	 * The state that the file had when its facts were read, or { 0 } if
	 * they are not known. If the file still has this state, it is opened,
	 * but not read again.
	 */
	struct file_state known;
};

/* The helpers of a reader. */
struct elf_helpers {
	struct file_helper *files;     /* performs elf_operations */
	struct file_helper *processes; /* runs process_reader_serve() */
};

/*
 * Open the file of `f` with the rights of the user of the process, and return
 * its descriptor, or -1. These files are tried in this order, until one can be
 * opened: the file at the path as the process sees it, the program that the
 * process runs (unless the identity is empty), and the file at the same path as
 * everprof sees it. If the process has ended, or has another user by now, only
 * the last of them is tried, and everyone must be allowed to read it. A file
 * that has another inode than the identity is not opened. A build ID is not
 * compared, so the file may have another build ID than the wanted one. For the
 * path "[vdso]", a copy of the vDSO is returned.
 */
int elf_reader_open(struct file_helper *processes, const struct wanted_file *f);

/* What was read of a file. */
struct elf_read {
	struct elf_facts facts; /* they borrow the answer */
	int fd;                 /* the open file, or -1; the caller closes it */
	uint32_t owner;         /* the user to whom the file belongs */
	struct file_state state;
	bool unchanged; /* the known facts still hold, so none were read */
};

/*
 * Read the facts of the file of `f`, unless it still has the state f->known
 * (out->unchanged). The answer of helpers->files, from which out->facts
 * borrows, is stored in `answer`, which must be empty before. ERR_NOTFOUND: the
 * file does not exist any more, has been replaced by another one, or must not
 * be read by the user of the process, or helpers->processes failed.
 * ERR_CORRUPT: the file or the answer of helpers->files is damaged, or
 * helpers->files ended. Other errors as elf_facts_read() and
 * file_helper_call(). After an error, out->fd is -1.
 */
NODISCARD int elf_reader_read(const struct elf_helpers *helpers,
			      const struct wanted_file *f, struct buf *answer,
			      struct elf_read *out, struct err *err);

#endif
