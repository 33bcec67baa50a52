/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows for code of Go. Real programs are in tests/integration/test_ebpf.py.
 */
#include "bpf/unwind/go_rows.h"

#include "bpf/unwind/unwind_file.h"
#include "tests/go_image.h"

TestSuite(go_rows, .timeout = 60);

enum {
	CODE = ELF_IMAGE_BASE + GO_IMAGE_CODE,
};

/* Build the table of a program. */
static struct unwind_table table_of_program(void)
{
	/* The linker of C has put code of its own before that of Go. */
	const struct go_image g = {
		.section = ".gopclntab",
		.has_module = true,
		.module_table = ELF_IMAGE_BASE + GO_IMAGE_TABLE,
		.module_text = CODE,
	};
	struct elf_file *f;
	struct unwind_table t;
	struct err err;

	cr_assert(!elf_file_open(go_image_file(&g), &f, &err), "%s", err.msg);
	cr_assert(!unwind_file_read(f, &t, &err), "%s", err.msg);
	elf_file_close(f);
	return t;
}

/* Expect the row of an address of a function. */
static void expect_row(const struct unwind_table *t, size_t function,
		       uint32_t offset, uint8_t kind, int cfa, int fp)
{
	struct unwind_row row =
		unwind_table_find(t, CODE + go_image_start(function) + offset);

	cr_assert(row.kind == kind, "%s + %u: kind %#x, cfa %d, fp %d",
		  go_image_functions[function].name, offset, row.kind, row.cfa,
		  row.fp);
	cr_assert(row.cfa == cfa, "%s + %u: kind %#x, cfa %d, fp %d",
		  go_image_functions[function].name, offset, row.kind, row.cfa,
		  row.fp);
	cr_expect(row.fp == fp, "%s + %u: kind %#x, cfa %d, fp %d",
		  go_image_functions[function].name, offset, row.kind, row.cfa,
		  row.fp);
}

Test(go_rows, begin_where_the_code_of_go_begins)
{
	struct unwind_table t = table_of_program();

	cr_expect(unwind_table_find(&t, CODE - 1).kind == UNWIND_NO_CODE);
	cr_assert(t.rows.v[0].pc == CODE);
	cr_expect(t.rows.v[0].cfa == 1);
	expect_row(&t, 0, 0, UNWIND_RSP, 1, 0);
	expect_row(&t, 1, 0, UNWIND_RSP, 1, 0);
	expect_row(&t, 1, GO_IMAGE_PUSH, UNWIND_POINTER, 0, 0);
	unwind_table_fini(&t);
}

/* They may use rbp as they like, as crypto/sha256.block did. */
Test(go_rows, functions_in_assembler_are_unwound_by_the_stack_pointer)
{
	const uint8_t saved = UNWIND_RSP | UNWIND_FP_AT_CFA << UNWIND_FP_SHIFT;
	struct unwind_table t = table_of_program();

	expect_row(&t, 3, 0, UNWIND_RSP, 1, 0);
	expect_row(&t, 3, 4, saved, 2, -2);
	expect_row(&t, 3, 8, saved, 5, -2);
	expect_row(&t, 4, 0, UNWIND_RSP, 1, 0);
	expect_row(&t, 4, 4, UNWIND_RSP, 3, 0);
	unwind_table_fini(&t);
}

Test(go_rows, functions_of_the_runtime_that_nobody_has_called)
{
	struct unwind_table t = table_of_program();

	expect_row(&t, 2, 0, UNWIND_OUTERMOST, 0, 0);
	expect_row(&t, 5, 8, UNWIND_MOVED, 0, 0);
	/* The kernel returns to its beginning: the address before is meant. */
	expect_row(&t, 5, 15, UNWIND_SIGNAL, 0, 0);
	expect_row(&t, 6, 15, UNWIND_SIGNAL, 0, 0);
	unwind_table_fini(&t);
}
