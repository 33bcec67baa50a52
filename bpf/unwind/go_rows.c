/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/unwind/go_rows.h"

#include "symbols/go_program.h"
#include "symbols/pclntab.h"

/* Rows that are being made. */
struct go_rows {
	VEC(struct unwind_row) rows;
	uint32_t end; /* addresses before it have rows */
	uint8_t kind; /* of the last row */
};

/*
 * Visitor of Go's table. Where no row finds the caller by rsp, the frame
 * pointer is used.
 */
static void go_rows_visit(void *ctx, uint64_t from, int64_t depth)
{
	struct go_rows *g = ctx;
	struct unwind_row row = { .pc = (uint32_t)from,
				  .cfa = depth ? 0 : 1,
				  .kind = depth ? UNWIND_POINTER : UNWIND_RSP };

	if (from > UINT32_MAX || g->rows.count > UNWIND_ROWS_MAX ||
	    row.pc < g->end)
		return;
	g->end = row.pc + 1;
	if (!g->rows.count || g->kind != row.kind)
		*vec_add(&g->rows) = row;
	g->kind = row.kind;
}

/* Append a row of the table, but for those in the code of Go. */
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
	struct go_rows g = { .rows = { 0 } };
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
