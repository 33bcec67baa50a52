/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pointers in the data of an ELF file, with their values before relocation. A
 * file that can be loaded at any address usually has the values in its section
 * .rela.dyn (System V ABI, chapter 4, "Relocation"). Whether the data contains
 * the values, too, depends on the linker. The file may be hostile.
 *
 * Ownership: the file is borrowed.
 * Threads: one thread per file.
 */
#ifndef SYMBOLS_FILE_ELF_POINTER_H
#define SYMBOLS_FILE_ELF_POINTER_H

#include "symbols/file/elf_file.h"

enum {
	/* Largest size of the section .rela.dyn in bytes. */
	ELF_RELOCATIONS_MAX = 256 << 20,
};

/*
 * Read the value of the pointer at `address` from .rela.dyn or, if the section
 * does not have it, from the data. False: neither has a value for `address`.
 */
NODISCARD bool elf_pointer_read(struct elf_file *f, uint64_t address,
				uint64_t *out);

#endif
