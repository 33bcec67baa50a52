/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/unwind/cfa_program.h"

#include "base/dec.h"

/*
 * Instructions (DWARF 5, section 7.24; Linux Standard Base Core 5.0, section
 * 10.5.2).
 */
enum {
	CFA_NOP = 0x00,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET = 0x2f,
	/* These use only the upper two bits; the lower six are the operand. */
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
};

/* A program that is running. */
struct cfa_run {
	const struct cfa_program *program;
	struct dec d;
	struct cfa_rules rules;
	struct cfa_rules remembered[CFA_REMEMBER_MAX];
	size_t depth;
	uint64_t at;
	uint64_t end;
	cfa_visit *visit;
	void *ctx;
};

/*
 * Return where `rules` has the rule of the register `reg`, or `other` if the
 * rules of this register are not kept.
 */
static struct register_rule *cfa_run_rule(const struct cfa_run *r,
					  struct cfa_rules *rules, uint64_t reg,
					  struct register_rule *other)
{
	if (reg == DWARF_RBP)
		return &rules->rbp;
	if (reg == DWARF_RETURN)
		return &rules->ret;
	return reg && reg == r->program->watched ? &rules->watched : other;
}

static void cfa_run_set(struct cfa_run *r, uint64_t reg, enum rule_kind kind,
			int64_t offset)
{
	struct register_rule other;

	*cfa_run_rule(r, &r->rules, reg, &other) =
		(struct register_rule){ .kind = kind, .offset = offset };
}

/*
 * Set the rule of the register `reg`: it is saved at CFA + factored *
 * data_align.
 */
static void cfa_run_offset(struct cfa_run *r, uint64_t reg, int64_t factored)
{
	int64_t offset;

	if (__builtin_mul_overflow(factored, r->program->data_align, &offset))
		r->d.bad = true;
	else
		cfa_run_set(r, reg, RULE_OFFSET, offset);
}

static void cfa_run_restore(struct cfa_run *r, uint64_t reg)
{
	struct cfa_rules initial = r->program->initial;
	struct register_rule other = { 0 };

	*cfa_run_rule(r, &r->rules, reg, &other) =
		*cfa_run_rule(r, &initial, reg, &other);
}

static void cfa_run_expression(struct cfa_run *r)
{
	uint64_t reg = dec_uvarint(&r->d);
	struct register_rule other;

	*cfa_run_rule(r, &r->rules, reg, &other) = (struct register_rule){
		.kind = RULE_EXPRESSION,
		.expression = bytes_of(dec_str(&r->d)),
	};
}

/* Set the rule of the CFA: it is the register `reg` plus `offset`. */
static void cfa_run_define(struct cfa_run *r, uint64_t reg, int64_t offset)
{
	r->rules.by_expression = false;
	r->rules.cfa_register = reg;
	r->rules.cfa_offset = offset;
}

/* Read a signed operand, and return it times data_align. */
static int64_t cfa_run_factored(struct cfa_run *r)
{
	int64_t offset;

	if (__builtin_mul_overflow(dec_sleb128(&r->d), r->program->data_align,
				   &offset))
		r->d.bad = true;
	return r->d.bad ? 0 : offset;
}

/*
 * Advance by `delta` units of code_align, and call `visit` with the rules for
 * the addresses from the old position up to the new one.
 */
static void cfa_run_advance(struct cfa_run *r, uint64_t delta)
{
	uint64_t to;

	if (__builtin_mul_overflow(delta, r->program->code_align, &delta) ||
	    __builtin_add_overflow(r->at, delta, &to)) {
		r->d.bad = true;
		return;
	}
	if (to > r->end)
		to = r->end;
	if (r->visit && to > r->at && !r->d.bad)
		r->visit(r->ctx, r->at, to, &r->rules);
	r->at = to;
}

static void cfa_run_remember(struct cfa_run *r)
{
	if (r->depth == CFA_REMEMBER_MAX)
		r->d.bad = true;
	else
		r->remembered[r->depth++] = r->rules;
}

static void cfa_run_recall(struct cfa_run *r)
{
	if (!r->depth)
		r->d.bad = true;
	else
		r->rules = r->remembered[--r->depth];
}

/* Execute the instruction `op`, if it is about the CFA; false: it is not. */
static bool cfa_run_cfa(struct cfa_run *r, uint8_t op)
{
	struct dec *d = &r->d;
	uint64_t reg;

	switch (op) {
	case CFA_DEF_CFA:
		reg = dec_uvarint(d);
		cfa_run_define(r, reg, (int64_t)dec_uvarint(d));
		return true;
	case CFA_DEF_CFA_SF:
		reg = dec_uvarint(d);
		cfa_run_define(r, reg, cfa_run_factored(r));
		return true;
	case CFA_DEF_CFA_REGISTER:
		cfa_run_define(r, dec_uvarint(d), r->rules.cfa_offset);
		return true;
	case CFA_DEF_CFA_OFFSET:
		r->rules.cfa_offset = (int64_t)dec_uvarint(d);
		return true;
	case CFA_DEF_CFA_OFFSET_SF:
		r->rules.cfa_offset = cfa_run_factored(r);
		return true;
	case CFA_DEF_CFA_EXPRESSION:
		r->rules.by_expression = true;
		r->rules.expression = bytes_of(dec_str(d));
		return true;
	default:
		return false;
	}
}

/* Execute the instruction `op`, if it is about a register; false: it is not. */
static bool cfa_run_register(struct cfa_run *r, uint8_t op)
{
	struct dec *d = &r->d;
	uint64_t reg;

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		reg = dec_uvarint(d);
		cfa_run_offset(r, reg, (int64_t)dec_uvarint(d));
		return true;
	case CFA_OFFSET_EXTENDED_SF:
		reg = dec_uvarint(d);
		cfa_run_set(r, reg, RULE_OFFSET, cfa_run_factored(r));
		return true;
	case CFA_GNU_NEGATIVE_OFFSET:
		reg = dec_uvarint(d);
		cfa_run_offset(r, reg, -(int64_t)dec_count(d, INT64_MAX));
		return true;
	case CFA_RESTORE_EXTENDED:
		cfa_run_restore(r, dec_uvarint(d));
		return true;
	case CFA_UNDEFINED:
		cfa_run_set(r, dec_uvarint(d), RULE_UNDEFINED, 0);
		return true;
	case CFA_SAME_VALUE:
		cfa_run_set(r, dec_uvarint(d), RULE_SAME, 0);
		return true;
	case CFA_EXPRESSION:
		cfa_run_expression(r);
		return true;
	case CFA_REGISTER:
	case CFA_VAL_OFFSET:
	case CFA_VAL_OFFSET_SF:
	case CFA_VAL_EXPRESSION:
		cfa_run_set(r, dec_uvarint(d), RULE_OTHER, 0);
		if (op == CFA_VAL_EXPRESSION)
			dec_str(d);
		else if (op == CFA_VAL_OFFSET_SF)
			dec_sleb128(d);
		else
			dec_uvarint(d);
		return true;
	default:
		return false;
	}
}

/* Execute any other instruction; false: it is not known. */
static bool cfa_run_other(struct cfa_run *r, uint8_t op)
{
	switch (op) {
	case CFA_NOP:
		return true;
	case CFA_ADVANCE_LOC1:
		cfa_run_advance(r, dec_u8(&r->d));
		return true;
	case CFA_ADVANCE_LOC2:
		cfa_run_advance(r, dec_le16(&r->d));
		return true;
	case CFA_ADVANCE_LOC4:
		cfa_run_advance(r, dec_le32(&r->d));
		return true;
	case CFA_REMEMBER_STATE:
		cfa_run_remember(r);
		return true;
	case CFA_RESTORE_STATE:
		cfa_run_recall(r);
		return true;
	case CFA_GNU_ARGS_SIZE:
		dec_uvarint(&r->d);
		return true;
	default:
		return false;
	}
}

/* Execute one instruction; false: it is not known. */
static bool cfa_run_step(struct cfa_run *r)
{
	uint8_t op = dec_u8(&r->d);
	uint8_t operand = op & 0x3f;

	switch (op & 0xc0) {
	case CFA_ADVANCE_LOC:
		cfa_run_advance(r, operand);
		return true;
	case CFA_OFFSET:
		cfa_run_offset(r, operand, (int64_t)dec_uvarint(&r->d));
		return true;
	case CFA_RESTORE:
		cfa_run_restore(r, operand);
		return true;
	default:
		return cfa_run_cfa(r, op) || cfa_run_register(r, op) ||
		       cfa_run_other(r, op);
	}
}

/*
 * Execute all instructions of a CIE, or those of a function up to the end of
 * its addresses.
 */
static bool cfa_run_all(struct cfa_run *r)
{
	while (dec_left(&r->d) && (!r->visit || r->at < r->end)) {
		if (!cfa_run_step(r))
			return false;
	}
	return !r->d.bad;
}

bool cfa_program_init(struct cfa_program *p, struct bytes instructions)
{
	struct cfa_run r = { .program = p, .d = dec_init(instructions) };
	bool good;

	p->initial = (struct cfa_rules){ .signal = p->initial.signal };
	r.rules = p->initial;
	good = cfa_run_all(&r);
	p->initial = r.rules;
	return good;
}

bool cfa_program_run(const struct cfa_program *p, struct bytes instructions,
		     uint64_t start, uint64_t end, cfa_visit *visit, void *ctx)
{
	struct cfa_run r = {
		.program = p,
		.d = dec_init(instructions),
		.rules = p->initial,
		.at = start,
		.end = end,
		.visit = visit,
		.ctx = ctx,
	};

	if (!cfa_run_all(&r))
		return false;
	if (r.at < end)
		visit(ctx, r.at, end, &r.rules);
	return true;
}
