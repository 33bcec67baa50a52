/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts about an ELF file that the collector needs: its build ID, its
 * segments that are loaded into memory, and its unwind table. A file helper, a
 * process without privileges (symbols/helper/file_helper.h), finds them out.
 * The collector trusts neither the file nor the helper, so it checks the
 * answer.
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
	/*
	 * If the table has no pages, code of the file can only be unwound by
	 * frame pointers.
	 */
	struct unwind_pack table;
};

/*
 * Append the facts of the file `fd` to `out`. This is an operation of the file
 * helper (file_operation): `fd` is taken over, and `argument` is not used.
 * Errors as elf_file_open() and unwind_file_read(), except ERR_NOTFOUND and
 * ERR_UNSUPPORTED of unwind_file_read(): then the unwind table in the answer is
 * empty.
 */
NODISCARD int elf_facts_read(int fd, struct bytes argument, struct buf *out,
			     struct err *err);

/*
 * Decode `answer`, which must be aligned as malloc() aligns. False: the answer
 * is invalid.
 */
NODISCARD bool elf_facts_decode(struct bytes answer, struct elf_facts *out);

#endif
