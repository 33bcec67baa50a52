/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbol table: the functions of an ELF file by address, from its sections
 * .symtab and .dynsym (System V ABI, chapter 4, "Symbol Table"), and from the ELF
 * file that is compressed in its section .gnu_debugdata: some distributions
 * leave the symbols of stripped programs there ("MiniDebugInfo"). The file may be
 * hostile.
 *
 * Ownership: a table owns its entries and the file of .gnu_debugdata; names are
 * borrowed from this file and from the ELF file.
 * Threads: one thread per file.
 */
#ifndef SYMBOLS_FILE_SYMBOL_TABLE_H
#define SYMBOLS_FILE_SYMBOL_TABLE_H

#include "base/vec.h"
#include "symbols/file/elf_file.h"

enum {
	/* Largest size of a section with symbols or with their names. */
	SYMBOL_SECTION_MAX = 256 << 20,
	/*
	 * A symbol without a size, such as a label of assembler code, names
	 * only addresses that are less than this number of bytes after the
	 * symbol.
	 */
	SYMBOL_UNSIZED_MAX = 64 << 10,
	/*
	 * Largest sizes in bytes of .gnu_debugdata, and of the file that is
	 * compressed in it.
	 */
	MINI_SECTION_MAX = 32 << 20,
	MINI_FILE_MAX = 128 << 20,
	/*
	 * Largest memory that the xz decoder may take, in bytes. The level -9
	 * of xz needs 65 MiB; distributions use lower levels, which need less.
	 */
	MINI_DECODER_MAX = 128 << 20,
};

/* A function. */
struct elf_symbol {
	uint64_t address;
	uint64_t size;    /* 0: not known */
	const char *name; /* ends with NUL */
	/*
	 * of the symbols at one address, the one with the highest rank is kept
	 */
	uint8_t rank;
};

/*
 * The functions of a file, sorted by address; no two begin at the same address.
 */
struct symbol_table {
	VEC(struct elf_symbol) symbols;
	struct elf_file *mini; /* the file of .gnu_debugdata; NULL: none */
};

/*
 * Read the symbols of `f`. A file without symbols has an empty table, and a
 * section .gnu_debugdata that cannot be read counts as none. ERR_TOOBIG:
 * .symtab, .dynsym or a section with their names has more than
 * SYMBOL_SECTION_MAX bytes; ERR_CORRUPT: see elf_file.h.
 */
NODISCARD int symbol_table_read(struct elf_file *f, struct symbol_table *out,
				struct err *err);

/* Free the entries and the file of .gnu_debugdata. */
void symbol_table_fini(struct symbol_table *t);

/*
 * Return the last function that begins at or before `address`. NULL: there is
 * none, or it does not contain `address`.
 */
const struct elf_symbol *symbol_table_find(const struct symbol_table *t,
					   uint64_t address);

#endif
