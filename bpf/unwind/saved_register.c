/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/unwind/saved_register.h"

enum {
	/* The instruction "call rel32". */
	CALL_OPCODE = 0xe8,
	CALL_SIZE = 5,
};

/*
 * A possible call instruction in the code that a row of the unwind table
 * describes.
 */
struct saved_call {
	size_t row; /* number of the row */
	uint64_t target;
	/* offset from the target's CFA to the saved register; 0: none */
	int64_t place;
	/* call frame information of the target was found and could be read */
	bool found;
};

/* The calls of the rows of a table. */
struct saved_calls {
	VEC(struct saved_call) calls;
};

/* The registers that functions preserve, except rbp and rsp. */
static const uint64_t preserved[] = { DWARF_RBX, DWARF_R12, DWARF_R13,
				      DWARF_R14, DWARF_R15 };

static uint64_t row_register(const struct unwind_row *row)
{
	return (uint64_t)row->cfa & 15;
}

/*
 * Whether the CFA of a row is computed from a register that functions preserve.
 * The row must leave rbp unchanged, so that its `fp` is free to say where that
 * register is saved.
 */
static bool row_is_wanted(const struct unwind_row *row)
{
	if (row->kind != (UNWIND_REGISTER | UNWIND_FP_SAME << UNWIND_FP_SHIFT))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(preserved); i++) {
		if (row_register(row) == preserved[i])
			return true;
	}
	return false;
}

bool saved_register_wanted(const struct unwind_table *t)
{
	for (size_t i = 0; i < t->rows.count; i++) {
		if (row_is_wanted(&t->rows.v[i]))
			return true;
	}
	return false;
}

/*
 * Collect what look like calls in the code of the row with the number `row`,
 * which goes from the address `from` to `to`.
 */
static void calls_collect(struct saved_calls *c, struct eh_section code,
			  size_t row, uint64_t from, uint64_t to)
{
	uint64_t end = code.vaddr + code.data.len;

	if (to > end)
		to = end;
	for (uint64_t pc = from;
	     pc >= code.vaddr && pc < to && to - pc >= CALL_SIZE; pc++) {
		const uint8_t *p = code.data.ptr + (pc - code.vaddr);
		struct dec d = dec_init((struct bytes){ p + 1, 4 });

		if (*p != CALL_OPCODE || c->calls.count == SAVED_CALLS_MAX)
			continue;
		*vec_add(&c->calls) = (struct saved_call){
			.row = row,
			.target = pc + CALL_SIZE +
				  (uint64_t)(int32_t)dec_le32(&d),
		};
	}
}

/* Callback of cfa_program_run(): store where the watched register is saved. */
static void call_visit(void *ctx, uint64_t from UNUSED, uint64_t to UNUSED,
		       const struct cfa_rules *rules)
{
	int64_t *place = ctx;

	if (rules->watched.kind == RULE_OFFSET)
		*place = rules->watched.offset;
}

/*
 * Whether c->calls has a call in the code of a row that computes the CFA from
 * the register `reg`.
 */
static bool calls_have(const struct saved_calls *c,
		       const struct unwind_table *t, uint64_t reg)
{
	for (size_t i = 0; i < c->calls.count; i++) {
		if (row_register(&t->rows.v[c->calls.v[i].row]) == reg)
			return true;
	}
	return false;
}

/*
 * Look up in `section` the functions that are called in the code of rows that
 * compute the CFA from the register `reg`. Store in c->calls where each of
 * these functions saves `reg`.
 */
static void calls_resolve(struct saved_calls *c, const struct unwind_table *t,
			  struct eh_section section, uint64_t reg)
{
	struct eh_function f;
	struct eh_reader r;

	eh_reader_init(&r, section);
	r.watched = reg;
	while (eh_reader_next(&r, &f)) {
		for (size_t i = 0; i < c->calls.count; i++) {
			struct saved_call *call = &c->calls.v[i];

			if (call->target != f.start ||
			    row_register(&t->rows.v[call->row]) != reg)
				continue;
			call->found = cfa_program_run(f.program, f.instructions,
						      f.start, f.end,
						      call_visit, &call->place);
		}
	}
}

/*
 * Set `fp` of the row to which call number `i` belongs, if all functions that
 * the row calls save the register at the same place. Call number `i` is the
 * first one of the row. Returns the number of the first call of another row.
 */
static size_t calls_apply(const struct saved_calls *c, struct unwind_table *t,
			  size_t i)
{
	size_t row = c->calls.v[i].row;
	int64_t place = 0;
	bool agree = true;

	for (; i < c->calls.count && c->calls.v[i].row == row; i++) {
		const struct saved_call *call = &c->calls.v[i];

		/*
		 * No function whose call frame information can be read begins
		 * at the target: perhaps the bytes only look like a call.
		 */
		if (!call->found)
			continue;
		if (!call->place || (place && place != call->place))
			agree = false;
		place = call->place;
	}
	if (agree && place % 8 == 0 && place / 8 >= INT8_MIN &&
	    place / 8 <= INT8_MAX)
		t->rows.v[row].fp = (int8_t)(place / 8);
	return i;
}

void saved_register_add(struct unwind_table *t, struct eh_section code,
			struct eh_section section)
{
	struct saved_calls c = { .calls = { 0 } };

	for (size_t i = 0; i + 1 < t->rows.count; i++) {
		if (row_is_wanted(&t->rows.v[i]))
			calls_collect(&c, code, i, t->rows.v[i].pc,
				      t->rows.v[i + 1].pc);
	}
	for (size_t i = 0; i < ARRAY_SIZE(preserved); i++) {
		if (calls_have(&c, t, preserved[i]))
			calls_resolve(&c, t, section, preserved[i]);
	}
	for (size_t i = 0; i < c.calls.count;)
		i = calls_apply(&c, t, i);
	vec_fini(&c.calls);
}
