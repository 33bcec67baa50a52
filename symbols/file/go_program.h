/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the table of functions of a Go program, and the beginning of its code.
 * This includes programs that the C linker has made, as with cgo: the C linker
 * puts code of its own before Go's code, and may put the table amid other data.
 * Runs in the file helper, because the file may be hostile.
 *
 * Ownership: a table borrows the bytes of the file.
 * Threads: one thread per file.
 */
#ifndef SYMBOLS_FILE_GO_PROGRAM_H
#define SYMBOLS_FILE_GO_PROGRAM_H

#include "symbols/file/elf_file.h"
#include "symbols/file/pclntab.h"

/*
 * Find the table of a file. ERR_NOTFOUND: it is no program of Go;
 * ERR_UNSUPPORTED: the version of the table is not known; ERR_CORRUPT: it is
 * damaged.
 */
NODISCARD int go_program_table(struct elf_file *f, struct pclntab *out,
			       struct err *err);

#endif
