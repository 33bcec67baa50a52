/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts about an ELF file that the collector needs: its build ID, where it
 * is loaded, and its unwind table. A file helper finds them out, and the
 * collector trusts neither the file nor the helper.
 *
 * Ownership: facts borrow the answer of the helper.
 * Threads: any.
 */
#ifndef BPF_PROCESS_ELF_FACTS_H
#define BPF_PROCESS_ELF_FACTS_H

#include "base/buf.h"
#include "bpf/unwind/unwind_pack.h"
#include "symbols/file/elf_file.h"

/* Largest size of an answer in bytes. */
#define ELF_FACTS_MAX (80 << 20)

/* The facts of a file. */
struct elf_facts {
	struct bytes build_id; /* empty: the file has none */
	const struct elf_segment *segments;
	uint32_t segment_count;
	/* Without pages, the file can only be unwound by frame pointers. */
	struct unwind_pack table;
};

/*
 * Find out the facts of a file: an operation of a file helper. Errors as
 * elf_file_open() and unwind_file_read(), but it is no error if there is no
 * unwind table.
 */
NODISCARD int elf_facts_read(int fd, struct bytes argument, struct buf *out,
			     struct err *err);

/* Decode an answer; it must be aligned as malloc() aligns. False: it is bad. */
NODISCARD bool elf_facts_decode(struct bytes answer, struct elf_facts *out);

#endif
