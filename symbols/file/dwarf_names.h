/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names by DWARF: the function at an address, the functions that the compiler
 * inlined into it there, and the source lines (DWARF 5, sections 3.3 and 6.2).
 * Runs in the file helper, because the debug information may be hostile.
 *
 * Ownership: names borrow their texts from the ELF file or from themselves.
 * Threads: one thread per file.
 */
#ifndef SYMBOLS_FILE_DWARF_NAMES_H
#define SYMBOLS_FILE_DWARF_NAMES_H

#include "symbols/file/elf_file.h"

enum {
	/* Files with more debug information, in bytes, have no names by it. */
	DWARF_SIZE_MAX = 400 << 20,
};

/* A function at an address. Texts may be NULL. */
struct dwarf_frame {
	const char *name;         /* as in the source */
	const char *linkage_name; /* mangled; NULL: as in the source */
	const char *file;
	uint64_t line;
	uint64_t start_line;
};

struct dwarf_names;

/*
 * Read the index of the debug information. ERR_NOTFOUND: there is none;
 * ERR_TOOBIG: it has more than DWARF_SIZE_MAX bytes; ERR_CORRUPT: it is damaged.
 * The ELF file must outlive the names.
 */
NODISCARD int dwarf_names_open(struct elf_file *f, struct dwarf_names **out,
			       struct err *err);

/* Free everything; NULL is a no-op. */
void dwarf_names_close(struct dwarf_names *n);

/*
 * Find the functions at an address, the innermost one first. Returns their
 * number; 0: no function is known there. If there are more than `max`, the
 * innermost ones, which are inlined, are left out.
 */
size_t dwarf_names_find(struct dwarf_names *n, uint64_t address,
			struct dwarf_frame *out, size_t max);

/*
 * Fill in the file and the line of an address whose function is not known, for
 * example in assembler code. Members that are not known are left unchanged.
 */
void dwarf_names_line(struct dwarf_names *n, uint64_t address,
		      struct dwarf_frame *out);

#endif
