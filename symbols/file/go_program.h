/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go program: finds the table of functions of a Go program (pclntab.h), and the
 * address where Go's code begins. Programs that the C linker has made, as with
 * cgo, are understood, too: the C linker puts other code before Go's code, and
 * may put the table amid other data. The table is searched for in the file
 * helper (file_helper.h), because the file may be hostile.
 *
 * Ownership: a table borrows the bytes of the file.
 * Threads: one thread per file.
 */
#ifndef SYMBOLS_FILE_GO_PROGRAM_H
#define SYMBOLS_FILE_GO_PROGRAM_H

#include "symbols/file/elf_file.h"
#include "symbols/file/pclntab.h"

/*
 * Find and parse the table of functions of `f`. ERR_NOTFOUND: `f` is no Go
 * program, or its sections with the table or the code have no bytes in the
 * file, like those of a debug file; ERR_TOOBIG: the section with the table or
 * the code has more than PCLNTAB_MAX bytes; ERR_UNSUPPORTED: the version of the
 * table is not known; ERR_CORRUPT: the table or the file is damaged.
 */
NODISCARD int go_program_table(struct elf_file *f, struct pclntab *out,
			       struct err *err);

#endif
