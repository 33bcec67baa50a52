/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame instructions (DWARF 5, section 6.4.2): a program that gives the
 * rules (see cfa_rules.h) for every address of a function.
 *
 * Ownership: a program borrows the expressions of its rules from the section
 * .eh_frame or .debug_frame.
 * Threads: one thread per program.
 * Errors: cfa_program_init() and cfa_program_run() return false if an
 * instruction is malformed or is not known, or if more than CFA_REMEMBER_MAX
 * states are remembered.
 */
#ifndef BPF_UNWIND_CFA_PROGRAM_H
#define BPF_UNWIND_CFA_PROGRAM_H

#include "bpf/unwind/cfa_rules.h"

enum {
	/* Largest depth of DW_CFA_remember_state; compilers need 1. */
	CFA_REMEMBER_MAX = 16,
};

/*
 * What the programs of several functions of an ELF file have in common: the
 * contents of their CIE (common information entry), and which register the
 * caller watches.
 */
struct cfa_program {
	uint64_t code_align;
	int64_t data_align;
	/* a register besides rbp whose rule is wanted; 0: none */
	uint64_t watched;
	struct cfa_rules initial; /* after the instructions of the CIE */
};

/*
 * Receive the rules for the addresses from `from` to `to`, without `to`. The
 * calls come in the order of addresses.
 */
typedef void cfa_visit(void *ctx, uint64_t from, uint64_t to,
		       const struct cfa_rules *rules);

/*
 * Compute p->initial from the instructions of a CIE. The caller has set
 * p->initial.signal and the other members of *p.
 */
NODISCARD bool cfa_program_init(struct cfa_program *p,
				struct bytes instructions);

/*
 * Run `instructions`, which are those of the function from `start` to `end`.
 * `visit` is called for each range of addresses that have the same rules; after
 * an error, it has been called for the ranges before the error.
 */
NODISCARD bool cfa_program_run(const struct cfa_program *p,
			       struct bytes instructions, uint64_t start,
			       uint64_t end, cfa_visit *visit, void *ctx);

#endif
