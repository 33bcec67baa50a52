/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules that call frame information has for one address of a function, and
 * the translation of these rules into a row of an unwind table. The rules say
 * how to find the caller of the function.
 *
 * Ownership: rules borrow their expressions from the section .eh_frame or
 * .debug_frame.
 * Threads: plain values.
 */
#ifndef BPF_UNWIND_CFA_RULES_H
#define BPF_UNWIND_CFA_RULES_H

#include "base/bytes.h"
#include "bpf/unwind/unwind_row.h"

/* DWARF's numbers of registers (x86-64 psABI, figure 3.36). */
enum dwarf_register {
	DWARF_RBX = 3,
	DWARF_RBP = 6,
	DWARF_RSP = 7,
	DWARF_R12 = 12,
	DWARF_R13 = 13,
	DWARF_R14 = 14,
	DWARF_R15 = 15,
	DWARF_RETURN = 16, /* the return address; in expressions, rip */
};

/* Kinds of rules by which a register's value in the caller is found. */
enum rule_kind {
	RULE_UNSPECIFIED,
	RULE_UNDEFINED,
	RULE_SAME,
	RULE_OFFSET,     /* at CFA + offset */
	RULE_EXPRESSION, /* at the address that the expression computes */
	RULE_OTHER,      /* something that no row expresses */
};

/* The rule of one register. */
struct register_rule {
	enum rule_kind kind;
	int64_t offset;
	struct bytes expression;
};

/* All rules that matter for rows. */
struct cfa_rules {
	/*
	 * the CFA is what `expression` computes; otherwise, it is the register
	 * cfa_register plus cfa_offset
	 */
	bool by_expression;
	bool signal; /* a function that returns from a signal handler */
	uint64_t cfa_register;
	int64_t cfa_offset;
	struct bytes expression; /* of the CFA */
	struct register_rule rbp;
	struct register_rule ret;
	/* of the register cfa_program.watched */
	struct register_rule watched;
};

/*
 * Return the row of these rules, with pc 0. What a row cannot express becomes
 * UNWIND_UNKNOWN or UNWIND_FP_UNKNOWN.
 */
struct unwind_row cfa_rules_row(const struct cfa_rules *rules);

#endif
