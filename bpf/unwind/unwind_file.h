/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the unwind table of an ELF file.
 *
 * Ownership: the caller owns the table; the file is borrowed.
 * Threads: one thread per file.
 */
#ifndef BPF_UNWIND_UNWIND_FILE_H
#define BPF_UNWIND_UNWIND_FILE_H

#include "bpf/unwind/unwind_table.h"
#include "symbols/file/elf_file.h"

enum {
	/*
	 * Largest size in bytes of the section .eh_frame, and of .debug_frame.
	 * In the largest files of Debian 12, .eh_frame has 10 MB.
	 */
	UNWIND_SECTION_MAX = 64 << 20,
};

/*
 * Build the table of a file. ERR_NOTFOUND: the file has no .eh_frame, no
 * .debug_frame that can be read, and no table of Go's functions that can be
 * read. The code of such a file can only be unwound by frame pointers.
 * ERR_UNSUPPORTED: the file is not for x86-64. Other errors as
 * elf_file_section() and unwind_table_build().
 */
NODISCARD int unwind_file_read(struct elf_file *f, struct unwind_table *out,
			       struct err *err);

#endif
