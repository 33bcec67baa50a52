/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/unwind/unwind_table.h"

#include <stdlib.h>

/*
 * A function, from the address `start` to `end`, and its rows: `count` elements
 * of unwind_build.rows, from number `first` on.
 */
struct unwind_function {
	uint32_t start;
	uint32_t end;
	size_t first;
	size_t count;
};

/* A table that is being built. */
struct unwind_build {
	VEC(struct unwind_row) rows;
	VEC(struct unwind_function) functions;
	/*
	 * number of functions that eh_reader.skipped has counted, or that have
	 * addresses of more than 32 bits
	 */
	size_t skipped;
};

bool unwind_row_same(const struct unwind_row *a, const struct unwind_row *b)
{
	return a->kind == b->kind && a->cfa == b->cfa && a->fp == b->fp;
}

/* Callback of cfa_program_run(): add a row for `rules`, at address `from`. */
static void unwind_build_visit(void *ctx, uint64_t from, uint64_t to UNUSED,
			       const struct cfa_rules *rules)
{
	struct unwind_build *b = ctx;
	struct unwind_row row = cfa_rules_row(rules);

	if (b->rows.count > UNWIND_ROWS_MAX)
		return;
	row.pc = (uint32_t)from;
	*vec_add(&b->rows) = row;
}

/* Add the rows of a function. */
static void unwind_build_add(struct unwind_build *b,
			     const struct eh_function *f)
{
	size_t first = b->rows.count;

	if (!cfa_program_run(f->program, f->instructions, f->start, f->end,
			     unwind_build_visit, b)) {
		b->rows.count = first;
		*vec_add(&b->rows) =
			(struct unwind_row){ .pc = (uint32_t)f->start,
					     .kind = UNWIND_UNKNOWN };
	}
	*vec_add(&b->functions) = (struct unwind_function){
		.start = (uint32_t)f->start,
		.end = (uint32_t)f->end,
		.first = first,
		.count = b->rows.count - first,
	};
}

/*
 * Order functions by address. Of functions that begin at the same address, the
 * longest comes first. Of functions with the same addresses, the one that was
 * read first comes first.
 */
static int unwind_function_order(const void *a, const void *b)
{
	const struct unwind_function *x = a;
	const struct unwind_function *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* Append a row, unless it has the same rules as the row before it. */
static void unwind_table_append(struct unwind_table *t, struct unwind_row row)
{
	if (t->rows.count &&
	    unwind_row_same(&row, &t->rows.v[t->rows.count - 1]))
		return;
	*vec_add(&t->rows) = row;
}

/* Append the rows of a function from the address `from` on. */
static void unwind_table_add(struct unwind_table *t,
			     const struct unwind_build *b,
			     const struct unwind_function *f, uint32_t from)
{
	for (size_t i = f->first; i < f->first + f->count; i++) {
		struct unwind_row row = b->rows.v[i];
		bool last = i + 1 == f->first + f->count;

		if (!last && b->rows.v[i + 1].pc <= from)
			continue;
		if (row.pc < from)
			row.pc = from;
		unwind_table_append(t, row);
	}
}

/*
 * Sort the functions, and copy their rows in this order, without parts that an
 * earlier function has covered. Gaps between functions become rows of the kind
 * UNWIND_NO_CODE.
 */
static void unwind_table_sort(struct unwind_table *t, struct unwind_build *b)
{
	uint32_t covered = 0;

	if (b->functions.count)
		qsort(b->functions.v, b->functions.count,
		      sizeof(*b->functions.v), unwind_function_order);
	vec_reserve(&t->rows, b->rows.count);
	for (size_t i = 0; i < b->functions.count; i++) {
		const struct unwind_function *f = &b->functions.v[i];

		if (f->end <= covered)
			continue;
		if (f->start > covered)
			unwind_table_append(
				t, (struct unwind_row){ .pc = covered });
		unwind_table_add(t, b, f,
				 f->start > covered ? f->start : covered);
		covered = f->end;
	}
	if (b->functions.count)
		unwind_table_append(t, (struct unwind_row){ .pc = covered });
}

/* Read all functions of a section. */
static int unwind_build_read(struct unwind_build *b, struct eh_section section,
			     struct err *err)
{
	struct eh_function f;
	struct eh_reader r;

	eh_reader_init(&r, section);
	while (eh_reader_next(&r, &f)) {
		if (f.end > UINT32_MAX) {
			b->skipped++;
			continue;
		}
		unwind_build_add(b, &f);
		if (b->rows.count > UNWIND_ROWS_MAX)
			return err_set(
				err, ERR_TOOBIG,
				"the call frame information has more than %d rows",
				UNWIND_ROWS_MAX);
	}
	b->skipped += r.skipped;
	return 0;
}

int unwind_table_build(struct unwind_table *t, struct eh_section frames,
		       struct eh_section debug, struct err *err)
{
	struct unwind_build b = { 0 };
	int rc;

	*t = (struct unwind_table){ 0 };
	rc = unwind_build_read(&b, frames, err);
	if (!rc)
		rc = unwind_build_read(&b, debug, err);
	if (!rc) {
		unwind_table_sort(t, &b);
		t->functions = b.functions.count;
		t->skipped = b.skipped;
	}
	vec_fini(&b.rows);
	vec_fini(&b.functions);
	return rc;
}

struct unwind_row unwind_table_find(const struct unwind_table *t, uint64_t pc)
{
	size_t low = vec_partition_point(&t->rows, e, e->pc <= pc);

	return low ? t->rows.v[low - 1] : (struct unwind_row){ 0 };
}

void unwind_table_fini(struct unwind_table *t)
{
	vec_fini(&t->rows);
	*t = (struct unwind_table){ 0 };
}
