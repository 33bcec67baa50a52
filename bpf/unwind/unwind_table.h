/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind table: the rows of one ELF file, sorted by address.
 *
 * Ownership: a table owns its rows.
 * Threads: one thread builds a table; any number may then read it.
 */
#ifndef BPF_UNWIND_UNWIND_TABLE_H
#define BPF_UNWIND_UNWIND_TABLE_H

#include "base/err.h"
#include "base/vec.h"
#include "bpf/unwind/eh_frame.h"
#include "bpf/unwind/unwind_row.h"

enum {
	/*
	 * Largest number of rows of a file. The largest files of Debian 12 have
	 * a million rows, and Firefox has 2.7 million.
	 */
	UNWIND_ROWS_MAX = 8 << 20,
};

/* The rows of a file; { 0 } is empty. */
struct unwind_table {
	VEC(struct unwind_row) rows;
	size_t functions; /* number of functions that were read */
	/*
	 * number of functions that eh_reader.skipped has counted, or that have
	 * addresses of more than 32 bits
	 */
	size_t skipped;
};

/*
 * Build the table from the sections .eh_frame (`frames`) and .debug_frame
 * (`debug`); each may be empty. Where functions overlap, the one that begins
 * first is used, or the longest of those that begin at one address. If both
 * sections have a function with the same addresses, .eh_frame is used. A
 * function whose instructions cannot be read has the rule UNWIND_UNKNOWN. Fails
 * with ERR_TOOBIG if there are more than UNWIND_ROWS_MAX rows; the table is
 * then empty.
 */
NODISCARD int unwind_table_build(struct unwind_table *t,
				 struct eh_section frames,
				 struct eh_section debug, struct err *err);

/*
 * Return the row for `pc`, a virtual address of the ELF file. If the table has
 * no row for `pc`, return a row of the kind UNWIND_NO_CODE.
 */
struct unwind_row unwind_table_find(const struct unwind_table *t, uint64_t pc);

/* Whether two rows have the same rules. */
bool unwind_row_same(const struct unwind_row *a, const struct unwind_row *b);

/* Free the rows. */
void unwind_table_fini(struct unwind_table *t);

#endif
