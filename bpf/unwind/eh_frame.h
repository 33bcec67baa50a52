/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sections .eh_frame and .debug_frame: which functions a file has, and how
 * their frames are unwound (Linux Standard Base Core 5.0, sections 10.5 and 10.6;
 * DWARF 5, section 6.4.1). The bytes may be of a hostile file: every length is
 * checked, and the work grows linearly with the size of the section.
 *
 * Ownership: everything borrows the section.
 * Threads: one thread per reader.
 */
#ifndef BPF_UNWIND_EH_FRAME_H
#define BPF_UNWIND_EH_FRAME_H

#include "base/dec.h"
#include "bpf/unwind/cfa_program.h"

enum {
	/*
	 * Largest size in bytes of the instructions in a CIE (common
	 * information entry).
	 */
	EH_CIE_INSTRUCTIONS_MAX = 1024,
	/* Maximum bytes of the augmentation string of a CIE, with its NUL. */
	EH_LETTERS_MAX = 16,
};

/* A section and the address where it is loaded. */
struct eh_section {
	struct bytes data;
	uint64_t vaddr;
	bool debug; /* it is .debug_frame, which is not loaded */
};

/*
 * A function: its addresses, as in the ELF file, and its call frame
 * instructions.
 */
struct eh_function {
	uint64_t start;
	uint64_t end;
	/* valid until the next function is read */
	const struct cfa_program *program;
	struct bytes instructions;
};

/* Reads the functions of a section, in the order of the section. */
struct eh_reader {
	struct eh_section section;
	struct dec d;
	size_t cie_at; /* position of the CIE that was read last, or SIZE_MAX */
	bool cie_good;
	uint8_t encoding; /* of the addresses of functions */
	bool augmented;   /* functions have augmentation data */
	uint64_t watched; /* see struct cfa_program; the caller may set it */
	struct cfa_program program;
	/*
	 * number of functions that could not be read, or that a linker had
	 * removed
	 */
	size_t skipped;
};

/* Begin to read a section. */
void eh_reader_init(struct eh_reader *r, struct eh_section section);

/*
 * Read the next function. Returns false at the end of the section, or where the
 * length of an entry is damaged. Three kinds of functions are passed over:
 * those that are empty, those whose description cannot be read, and those that
 * a linker removed from the file. The last two kinds are counted in r->skipped.
 */
NODISCARD bool eh_reader_next(struct eh_reader *r, struct eh_function *out);

#endif
