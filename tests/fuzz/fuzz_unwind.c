/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the unwind tables of sections .eh_frame and .debug_frame. The rows of a
 * table are sorted, and neighbours differ. The section is its own code, too, in
 * which calls are searched. Each table can be packed.
 */
#include <stdlib.h>

#include "bpf/unwind/saved_register.h"
#include "bpf/unwind/unwind_pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Pack a table; the pack must be well-formed. */
static void table_pack(const struct unwind_table *t)
{
	struct buf entries = { 0 };
	struct unwind_pack p = {
		.pages = unwind_pack_add(t->rows.v, t->rows.count, &entries),
	};

	p.entries = (const void *)entries.ptr;
	p.count = (uint32_t)(entries.len / sizeof(*p.entries));
	if (!unwind_pack_check(&p))
		abort();
	buf_fini(&entries);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct eh_section section = {
		.data = { .ptr = data, .len = size },
		.vaddr = 0x1000,
	};
	const struct eh_section debug = { .data = section.data, .debug = true };
	struct unwind_table t;
	struct err err;

	if (unwind_table_build(&t, section, debug, &err))
		return 0;
	for (size_t i = 1; i < t.rows.count; i++) {
		const struct unwind_row *a = &t.rows.v[i - 1];
		const struct unwind_row *b = &t.rows.v[i];

		if (a->pc >= b->pc ||
		    (a->kind == b->kind && a->cfa == b->cfa && a->fp == b->fp))
			abort();
		if ((b->kind & UNWIND_CFA_MASK) > UNWIND_REGISTER ||
		    b->kind >> UNWIND_FP_SHIFT > UNWIND_FP_AT_FP)
			abort();
		if (unwind_table_find(&t, b->pc).pc != b->pc)
			abort();
	}
	if (saved_register_wanted(&t))
		saved_register_add(&t, section, section);
	table_pack(&t);
	unwind_table_fini(&t);
	return 0;
}
