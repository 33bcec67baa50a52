/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows for code of Go. Real programs are in tests/integration/test_ebpf.py.
 */
#include "bpf/unwind/go_rows.h"

#include "bpf/unwind/unwind_file.h"
#include "tests/go_image.h"

TestSuite(go_rows, .timeout = 60);

/* The linker of C has put code of its own before that of Go. */
Test(go_rows, begin_where_the_code_of_go_begins)
{
	const uint32_t code = ELF_IMAGE_BASE + GO_IMAGE_CODE;
	const uint32_t second = code + GO_IMAGE_FIRST;
	const struct go_image g = {
		.section = ".gopclntab",
		.has_module = true,
		.module_table = ELF_IMAGE_BASE + GO_IMAGE_TABLE,
		.module_text = code,
	};
	struct elf_file *f;
	struct unwind_table t;
	struct err err;

	cr_assert(!elf_file_open(go_image_file(&g), &f, &err), "%s", err.msg);
	cr_assert(!unwind_file_read(f, &t, &err), "%s", err.msg);
	cr_expect(unwind_table_find(&t, code - 1).kind == UNWIND_NO_CODE);
	cr_expect(unwind_table_find(&t, code).kind == UNWIND_RSP);
	cr_expect(unwind_table_find(&t, second).kind == UNWIND_RSP);
	cr_expect(unwind_table_find(&t, second + GO_IMAGE_PUSH).kind ==
		  UNWIND_POINTER);
	cr_expect(t.rows.v[0].pc == code && t.rows.v[0].cfa == 1);
	unwind_table_fini(&t);
	elf_file_close(f);
}
