/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completes rows whose CFA is computed from a register other than rsp and rbp
 * (UNWIND_REGISTER), such as the rows for the code in ld.so that resolves a
 * function at its first call. In the innermost frame, the value of this
 * register is known. In another frame, the called function may have saved the
 * register, if it is one that the calling convention preserves (x86-64 psABI,
 * section 3.2.1). This module finds out where the called functions save the
 * register: it looks for calls in the code that the row describes, and reads
 * the call frame information of the functions that are called.
 *
 * Threads: one thread per table.
 */
#ifndef BPF_UNWIND_SAVED_REGISTER_H
#define BPF_UNWIND_SAVED_REGISTER_H

#include "bpf/unwind/unwind_table.h"

enum {
	/* Largest number of calls of one file that are looked at. */
	SAVED_CALLS_MAX = 256,
	/*
	 * Largest size in bytes of the section .text. In a larger one, no calls
	 * are looked for.
	 */
	SAVED_CODE_MAX = 16 << 20,
};

/* Whether the table has rows that saved_register_add() may complete. */
NODISCARD bool saved_register_wanted(const struct unwind_table *t);

/*
 * Set `fp` of those rows of a table whose CFA is computed from a register that
 * functions preserve: `fp` says where the called functions save this register,
 * see UNWIND_REGISTER. `code` is the section .text, where calls are looked for.
 * `section` is .eh_frame, where the called functions are looked up; functions
 * that only .debug_frame describes are not found. A row stays as it is if none
 * of the functions that its code calls is found, if one of them does not save
 * the register, if they save the register at different places, or if `fp`
 * cannot express the place.
 */
void saved_register_add(struct unwind_table *t, struct eh_section code,
			struct eh_section section);

#endif
