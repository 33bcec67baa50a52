/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows whose CFA is in a register other than rsp and rbp, such as those of the
 * code of ld.so that resolves a function at its first call. In the innermost
 * frame, the value of this register is known. In another frame, the called
 * function has saved the register, if it is one that the calling convention
 * preserves (x86-64 psABI, section 3.2.1). This module finds out where. It
 * looks for calls in the code of the row, and reads the call frame information
 * of the functions that they call.
 *
 * Threads: one thread per table.
 */
#ifndef BPF_UNWIND_SAVED_REGISTER_H
#define BPF_UNWIND_SAVED_REGISTER_H

#include "bpf/unwind/unwind_table.h"

enum {
	/* Largest number of calls that are looked at. */
	SAVED_CALLS_MAX = 256,
	/* Larger code in bytes is not searched for calls. */
	SAVED_CODE_MAX = 16 << 20,
};

/* Whether the table has rows for saved_register_add(). */
NODISCARD bool saved_register_wanted(const struct unwind_table *t);

/*
 * Add the places of saved registers to the rows of a table. `code` is the
 * section .text, and `section` the one that the table was built from. A row
 * whose calls differ in the place stays as it is.
 */
void saved_register_add(struct unwind_table *t, struct eh_section code,
			struct eh_section section);

#endif
