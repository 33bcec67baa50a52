/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 OR BSD-2-Clause */
/*
 * A row of an unwind table. A row says how to find the caller of the code that
 * goes from the row's address up to the address of the next row. The kernel has
 * the tables in another form, as packs (bpf/unwind/unwind_pack.h). The entries
 * of a pack have the layout of a row, which the collector and the sampler's
 * code in the kernel share.
 *
 * Of the call frame information (DWARF 5, section 6.4; x86-64 psABI, section
 * 3.7), a row has what is needed to find callers in code that compilers
 * generate: how to compute the canonical frame address (CFA), which is the
 * value of the stack pointer before the call, and where the caller's frame
 * pointer (rbp) is. The return address is at CFA-8. Of all registers, only rbp
 * is restored.
 *
 * Threads: the collector writes a row before the kernel can read it, and does
 * not change it as long as the kernel may read it.
 */
#ifndef BPF_UNWIND_UNWIND_ROW_H
#define BPF_UNWIND_UNWIND_ROW_H

#include <linux/types.h>

struct unwind_row {
	/*
	 * First address, as in the ELF file. Addresses of more than 32 bits
	 * have no rows. In a step of a pack: the distance from the beginning of
	 * the run. For the other entries of a pack, see unwind_pack.h.
	 */
	__u32 pc;
	union {
		struct {
			/* Operand of the rule of the CFA. */
			__s16 cfa;
			/*
			 * Operand of the rule of rbp, or a second operand of
			 * the rule of the CFA, in units of 8 bytes.
			 */
			__s8 fp;
			/*
			 * enum unwind_cfa | enum unwind_fp << UNWIND_FP_SHIFT
			 */
			__u8 kind;
		};
		/*
		 * In a run of a pack: the index of the entry with the run's
		 * first step. For the head and the pages, see unwind_pack.h.
		 */
		__u32 steps;
	};
};

/* Largest number of steps of a run in a pack. */
#define UNWIND_STEPS_MAX 16

/* Rules of the CFA. `cfa` is the operand of the row. */
enum unwind_cfa {
	UNWIND_NO_CODE,   /* no function is here */
	UNWIND_RSP,       /* rsp + 8 * cfa */
	UNWIND_RBP,       /* rbp + 8 * cfa */
	UNWIND_PLT,       /* rsp + 8, or + 16 if rip % 16 >= cfa */
	UNWIND_RBP_DEREF, /* *(rbp + (cfa & ~7)) + 8 * (cfa & 7) */
	UNWIND_RSP_DEREF, /* *(rsp + (cfa & ~7)) + 8 * (cfa & 7) */
	/*
	 * The code that returns from a signal handler: the registers of the
	 * interrupted code are in the ucontext_t at rsp.
	 */
	UNWIND_SIGNAL,
	UNWIND_UNKNOWN,   /* rows cannot express the rule */
	UNWIND_OUTERMOST, /* there is no caller */
	/*
	 * The register with DWARF's number cfa & 15, plus 8 * (cfa >> 4). The
	 * register is known in the innermost frame. In another frame, if the
	 * rule of rbp is UNWIND_FP_SAME and fp is not 0, the called function
	 * saved the register at rsp + 8 * fp. Otherwise, the CFA is not known.
	 */
	UNWIND_REGISTER,
	/*
	 * Code that keeps frame pointers, such as Go's code: rbp leads to the
	 * frame of the caller, which may be on another stack.
	 */
	UNWIND_POINTER,
	/*
	 * Code of Go that switches to another stack and calls functions there.
	 * In the innermost frame, the return address is at rsp; in other
	 * frames, rbp may lead to a caller.
	 */
	UNWIND_MOVED,
};

/* Rules of rbp. `fp` is the operand of the row. */
enum unwind_fp {
	UNWIND_FP_SAME,    /* not changed */
	UNWIND_FP_AT_CFA,  /* *(CFA + 8 * fp) */
	UNWIND_FP_UNKNOWN, /* rows cannot express the rule */
	UNWIND_FP_AT_FP,   /* *(rbp + 8 * fp) */
};

#define UNWIND_FP_SHIFT 4
#define UNWIND_CFA_MASK 15

/*
 * Offsets in bytes of the saved registers from the beginning of a signal's
 * ucontext_t.
 */
#define UNWIND_SIGNAL_RBP 120
#define UNWIND_SIGNAL_RSP 160
#define UNWIND_SIGNAL_RIP 168

#endif
