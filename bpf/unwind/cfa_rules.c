/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/unwind/cfa_rules.h"

#include "base/dec.h"

/* Operations of expressions (DWARF 5, section 7.7.1). */
enum {
	OP_DEREF = 0x06,
	OP_AND = 0x1a,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_BREG0 = 0x70,
};

static struct unwind_row cfa_row_of(enum unwind_cfa cfa, int64_t operand)
{
	return (struct unwind_row){ .kind = (uint8_t)cfa,
				    .cfa = (int16_t)operand };
}

static struct unwind_row cfa_row_unknown(void)
{
	return cfa_row_of(UNWIND_UNKNOWN, 0);
}

/* Return the row for the CFA `reg` + `offset`. */
static struct unwind_row cfa_row_register(uint64_t reg, int64_t offset)
{
	int64_t words = offset / 8;

	if (offset % 8 || words < INT16_MIN || words > INT16_MAX)
		return cfa_row_unknown();
	if (reg == DWARF_RSP)
		return cfa_row_of(UNWIND_RSP, words);
	if (reg == DWARF_RBP)
		return cfa_row_of(UNWIND_RBP, words);
	if (reg >= DWARF_RETURN || words < INT16_MIN / 16 ||
	    words > INT16_MAX / 16)
		return cfa_row_unknown();
	return cfa_row_of(UNWIND_REGISTER, words * 16 + (int64_t)reg);
}

/*
 * Whether an expression is the one that linkers write for the procedure linkage
 * table: rsp + 8 + (((rip & 15) >= K) << 3). Each entry of that table is 16
 * bytes of code, which has pushed one word before it reaches byte K of the
 * entry. Stores K in *threshold.
 */
static bool cfa_expression_plt(struct dec d, int64_t *threshold)
{
	static const uint8_t before[] = {
		OP_BREG0 + DWARF_RSP, 8,     OP_BREG0 + DWARF_RETURN, 0,
		OP_LIT0 + 15,         OP_AND
	};
	static const uint8_t after[] = { OP_GE, OP_LIT0 + 3, OP_SHL, OP_PLUS };
	struct bytes head = dec_bytes(&d, sizeof(before));
	uint8_t literal = dec_u8(&d);
	struct bytes tail = dec_bytes(&d, sizeof(after));

	*threshold = literal - OP_LIT0;
	return !d.bad && !dec_left(&d) && *threshold >= 0 && *threshold < 16 &&
	       !memcmp(head.ptr, before, sizeof(before)) &&
	       !memcmp(tail.ptr, after, sizeof(after));
}

/* Return the row for the CFA that `expression` computes. */
static struct unwind_row cfa_row_expression(struct bytes expression)
{
	struct dec d = dec_init(expression);
	uint64_t reg = dec_u8(&d) - (uint64_t)OP_BREG0;
	int64_t offset = dec_sleb128(&d);
	uint64_t add = 0;
	int64_t threshold;
	bool deref;

	if (cfa_expression_plt(dec_init(expression), &threshold))
		return cfa_row_of(UNWIND_PLT, threshold);
	deref = dec_u8(&d) == OP_DEREF;
	if (dec_left(&d))
		add = dec_u8(&d) == OP_PLUS_UCONST ? dec_uvarint(&d) : 1;
	if (d.bad || dec_left(&d) || !deref || offset % 8 || add % 8 ||
	    add > 56 || offset < INT16_MIN || offset > INT16_MAX - 7 ||
	    (reg != DWARF_RSP && reg != DWARF_RBP))
		return cfa_row_unknown();
	return cfa_row_of(reg == DWARF_RSP ? UNWIND_RSP_DEREF :
					     UNWIND_RBP_DEREF,
			  offset + (int64_t)add / 8);
}

/*
 * Whether `expression` is the register `reg` plus an offset, which is stored in
 * *offset.
 */
static bool cfa_expression_register(struct bytes expression, uint64_t reg,
				    int64_t *offset)
{
	struct dec d = dec_init(expression);
	bool found = dec_u8(&d) == OP_BREG0 + reg;

	*offset = dec_sleb128(&d);
	return found && !d.bad && !dec_left(&d);
}

/* Add the rule of rbp to a row. */
static void cfa_row_add_fp(struct unwind_row *row,
			   const struct register_rule *rule)
{
	int64_t offset = rule->offset;
	enum unwind_fp fp = UNWIND_FP_UNKNOWN;

	if (rule->kind == RULE_UNSPECIFIED || rule->kind == RULE_SAME)
		return;
	if (rule->kind == RULE_OFFSET)
		fp = UNWIND_FP_AT_CFA;
	else if (rule->kind == RULE_EXPRESSION &&
		 cfa_expression_register(rule->expression, DWARF_RBP, &offset))
		fp = UNWIND_FP_AT_FP;
	if (offset % 8 || offset / 8 < INT8_MIN || offset / 8 > INT8_MAX)
		fp = UNWIND_FP_UNKNOWN;
	if (fp != UNWIND_FP_UNKNOWN)
		row->fp = (int8_t)(offset / 8);
	row->kind |= (uint8_t)(fp << UNWIND_FP_SHIFT);
}

/*
 * Whether the rules are those of a function that returns from a signal handler,
 * and their CFA is the rsp that the ucontext_t of the signal has.
 */
static bool cfa_rules_signal(const struct cfa_rules *rules)
{
	struct unwind_row row;

	if (!rules->signal || !rules->by_expression)
		return false;
	row = cfa_row_expression(rules->expression);
	return row.kind == UNWIND_RSP_DEREF && row.cfa == UNWIND_SIGNAL_RSP;
}

struct unwind_row cfa_rules_row(const struct cfa_rules *rules)
{
	struct unwind_row row;

	if (cfa_rules_signal(rules))
		return cfa_row_of(UNWIND_SIGNAL, 0);
	if (rules->ret.kind == RULE_UNDEFINED)
		return cfa_row_of(UNWIND_OUTERMOST, 0);
	if (rules->signal || rules->ret.kind != RULE_OFFSET ||
	    rules->ret.offset != -8)
		return cfa_row_unknown();
	row = rules->by_expression ?
		      cfa_row_expression(rules->expression) :
		      cfa_row_register(rules->cfa_register, rules->cfa_offset);
	if (row.kind != UNWIND_UNKNOWN)
		cfa_row_add_fp(&row, &rules->rbp);
	return row;
}
