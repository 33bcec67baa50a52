/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes rows for code of Go, which keeps frame pointers. Go's linker describes
 * this code only in .debug_frame, which stripped programs do not have. While a
 * function has no frame, or if it never sets one up, the frame pointer is that
 * of its caller, and the return address is at the stack pointer. Go's table of
 * functions (symbols/file/pclntab.h) says at which addresses a function has no
 * frame. Most functions in assembler are unwound by the stack pointer, because
 * they may use the frame pointer for something else.
 *
 * Ownership: the table owns its rows; the file is borrowed.
 * Threads: one thread per file.
 */
#ifndef BPF_UNWIND_GO_ROWS_H
#define BPF_UNWIND_GO_ROWS_H

#include "bpf/unwind/unwind_table.h"
#include "symbols/file/elf_file.h"

/*
 * Put rows for the code of Go in place of the rows that `t` has for this code.
 * Returns false, and leaves `t` unchanged, if the file has no code of Go,
 * if Go's table of functions cannot be read, or if there are too many rows or
 * the code has addresses of more than 32 bits.
 */
bool go_rows_add(struct elf_file *f, struct unwind_table *t);

#endif
