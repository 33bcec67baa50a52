/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/unwind/unwind_file.h"

#include "bpf/unwind/go_rows.h"

/* Build the table of the section .eh_frame. */
static int unwind_file_section(struct elf_file *f, struct unwind_table *out,
			       struct err *err)
{
	struct elf_section section;
	int rc = elf_file_section(f, ".eh_frame", UNWIND_SECTION_MAX, &section,
				  err);

	if (rc)
		return rc;
	return unwind_table_build(out,
				  (struct eh_section){ .data = section.data,
						       .vaddr = section.vaddr },
				  err);
}

int unwind_file_read(struct elf_file *f, struct unwind_table *out,
		     struct err *err)
{
	int rc;

	*out = (struct unwind_table){ 0 };
	if (elf_file_machine(f) != ELF_X86_64)
		return err_set(err, ERR_UNSUPPORTED,
			       "unwind tables are built for x86-64 only");
	rc = unwind_file_section(f, out, err);
	/* Programs of Go have the section only for code of other languages. */
	if ((!rc || rc == ERR_NOTFOUND) && go_rows_add(f, out))
		rc = 0;
	return rc;
}
