/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names by DWARF: the function at an address, the functions that the compiler
 * inlined there, and the source lines (DWARF 5, sections 3.3 and 6.2). The
 * debug information is read in the file helper (file_helper.h), because it may
 * be hostile.
 *
 * Ownership: the texts of a frame are borrowed from the ELF file or from the
 * struct dwarf_names.
 * Threads: one thread per file.
 */
#ifndef SYMBOLS_FILE_DWARF_NAMES_H
#define SYMBOLS_FILE_DWARF_NAMES_H

#include "symbols/file/elf_file.h"

enum {
	/*
	 * Largest total size in bytes of the sections that names and lines need
	 * (dwarf_sections in dwarf_names.c). If the sections are larger, the
	 * debug information of the file is not used.
	 */
	DWARF_SIZE_MAX = 400 << 20,
};

/* A function at an address. Texts may be NULL. */
struct dwarf_frame {
	const char *name;         /* as in the source */
	const char *linkage_name; /* mangled; NULL: the same as name */
	const char *file;
	uint64_t line;
	uint64_t start_line;
};

struct dwarf_names;

/*
 * Open the debug information of `f`, and index its compilation units.
 * ERR_NOTFOUND: the file has no debug information; ERR_TOOBIG: the debug
 * information has more than DWARF_SIZE_MAX bytes; ERR_CORRUPT: it is damaged.
 * `f` must outlive *out.
 */
NODISCARD int dwarf_names_open(struct elf_file *f, struct dwarf_names **out,
			       struct err *err);

/* Free everything; NULL is a no-op. */
void dwarf_names_close(struct dwarf_names *n);

/*
 * Find the functions at `address`, the innermost one first. Returns the number
 * of functions; 0: no function is known at `address`. If there are more than
 * `max` functions, the innermost ones, which are inlined, are left out. `max`
 * is at least 1.
 */
size_t dwarf_names_find(struct dwarf_names *n, uint64_t address,
			struct dwarf_frame *out, size_t max);

/*
 * Fill in out->file and out->line from the line table, for an `address` whose
 * function is not known, for example in assembler code. If the line table does
 * not have `address`, *out stays unchanged.
 */
void dwarf_names_line(struct dwarf_names *n, uint64_t address,
		      struct dwarf_frame *out);

#endif
