/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/unwind/go_rows.h"

#include "symbols/file/go_program.h"
#include "symbols/file/pclntab.h"

/* Rows that are being made. */
struct go_rows {
	struct elf_file *file;
	VEC(struct unwind_row) rows;
	uint32_t end; /* the next row must not begin before this address */
	/*
	 * Address of the function in assembler for which go_frame_saves_fp()
	 * was called last, and what the call returned.
	 */
	uint64_t function;
	bool saves_fp;
};

/*
 * Whether a function in assembler saves rbp just below its return address. `c`
 * is the first part of the function in which the function has a frame. If a
 * function declares a frame, Go's assembler adds instructions that save rbp.
 * Since Go 1.21, the first of these instructions is push %rbp. With older
 * versions, the function first moves the stack pointer, and then executes
 * mov %rbp,offset(%rsp).
 */
static bool go_frame_saves_fp(struct elf_file *f, const struct go_code *c)
{
	static const uint8_t store[] = { 0x48, 0x89 };
	uint8_t code[5]; /* from the byte before c->from on */

	if (!elf_file_load_bytes(f, c->from - 1, code, sizeof(code)))
		return false;
	return (code[0] == 0x55 && c->depth == 8) ||
	       (!memcmp(code + 1, store, sizeof(store)) &&
		(code[3] == 0x6c || code[3] == 0xac) && code[4] == 0x24);
}

/*
 * Return the row of the part `c` of a function in assembler that moves the
 * stack pointer only by constants. Such a function may use rbp for something
 * else, or leave the caller's value in rbp, so the row finds the caller by rsp.
 * If c->depth does not fit into such a row, the row is one of the kind
 * UNWIND_POINTER.
 */
static struct unwind_row go_row_of_assembler(struct go_rows *g,
					     const struct go_code *c)
{
	int64_t cfa = c->depth / 8 + 1;
	struct unwind_row row = { .cfa = (int16_t)cfa, .kind = UNWIND_RSP };

	if (c->depth % 8 || c->depth < 0 || cfa > INT16_MAX)
		return (struct unwind_row){ .kind = UNWIND_POINTER };
	if (c->depth && g->function != c->function) {
		g->function = c->function;
		g->saves_fp = go_frame_saves_fp(g->file, c);
	}
	if (c->depth && g->saves_fp) {
		row.fp = -2;
		row.kind |= UNWIND_FP_AT_CFA << UNWIND_FP_SHIFT;
	}
	return row;
}

/*
 * Whether `c` is a part of the function to which a signal handler returns. That
 * function makes the system call that returns to the interrupted code.
 */
static bool go_code_ends_signals(const struct go_code *c)
{
	static const char name[] = "runtime.sigreturn";

	return c->name.len >= sizeof(name) - 1 &&
	       !memcmp(c->name.ptr, name, sizeof(name) - 1);
}

/* Return the row of a part of a function. */
static struct unwind_row go_row_of(struct go_rows *g, const struct go_code *c)
{
	bool moves = c->flags & GO_MOVES_STACK;
	/* The function has no frame at any of its addresses. */
	bool flat = c->from == c->function && c->rest && !c->depth;

	if (go_code_ends_signals(c))
		return (struct unwind_row){ .kind = UNWIND_SIGNAL };
	if ((c->flags & GO_OUTERMOST) && (flat || moves))
		return (struct unwind_row){ .kind = UNWIND_OUTERMOST };
	if ((c->flags & GO_ASSEMBLER) && !moves)
		return go_row_of_assembler(g, c);
	if (moves && flat)
		return (struct unwind_row){ .kind = UNWIND_MOVED };
	return c->depth ? (struct unwind_row){ .kind = UNWIND_POINTER } :
			  (struct unwind_row){ .cfa = 1, .kind = UNWIND_RSP };
}

/* Callback of pclntab_stack_depths(): add the row of a part of a function. */
static void go_rows_visit(void *ctx, const struct go_code *c)
{
	struct go_rows *g = ctx;
	struct unwind_row row = go_row_of(g, c);
	uint64_t from = c->from;

	/*
	 * The row begins one byte early: the unwinder looks up the address
	 * before the one to which a handler returns.
	 */
	if (row.kind == UNWIND_SIGNAL && from)
		from--;
	row.pc = (uint32_t)from;
	if (from > UINT32_MAX || g->rows.count > UNWIND_ROWS_MAX ||
	    row.pc < g->end)
		return;
	g->end = row.pc + 1;
	if (!g->rows.count ||
	    !unwind_row_same(&g->rows.v[g->rows.count - 1], &row))
		*vec_add(&g->rows) = row;
}

/*
 * Put the rows for the code of Go, which ends at `end`, in place of the rows
 * that the table has for this code.
 */
static void go_rows_merge(struct unwind_table *t, struct go_rows *g,
			  uint32_t end)
{
	uint32_t start = g->rows.v[0].pc;
	struct unwind_row after = unwind_table_find(t, end);
	struct unwind_table merged = { .functions = t->functions,
				       .skipped = t->skipped };
	size_t i = 0;

	for (; i < t->rows.count && t->rows.v[i].pc < start; i++)
		*vec_add(&merged.rows) = t->rows.v[i];
	for (size_t k = 0; k < g->rows.count; k++)
		*vec_add(&merged.rows) = g->rows.v[k];
	while (i < t->rows.count && t->rows.v[i].pc <= end)
		i++;
	after.pc = end;
	*vec_add(&merged.rows) = after;
	for (; i < t->rows.count; i++)
		*vec_add(&merged.rows) = t->rows.v[i];
	vec_fini(&t->rows);
	*t = merged;
}

bool go_rows_add(struct elf_file *f, struct unwind_table *t)
{
	struct go_rows g = { .file = f };
	struct pclntab table;
	uint64_t end;
	bool good;

	if (go_program_table(f, &table, NULL))
		return false;
	pclntab_stack_depths(&table, go_rows_visit, &g, &end);
	good = g.rows.count && end <= UINT32_MAX &&
	       g.rows.v[g.rows.count - 1].pc < end &&
	       g.rows.count + t->rows.count < UNWIND_ROWS_MAX;
	if (good)
		go_rows_merge(t, &g, (uint32_t)end);
	vec_fini(&g.rows);
	return good;
}
