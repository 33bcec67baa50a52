/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/unwind/unwind_file.h"

#include "bpf/unwind/go_rows.h"
#include "bpf/unwind/saved_register.h"

static struct eh_section eh_section_of(const struct elf_section *s)
{
	return (struct eh_section){ .data = s->data, .vaddr = s->vaddr };
}

/*
 * Build the table from the call frame information. This information is in the
 * section .eh_frame; for code whose compiler was told to make no .eh_frame, it
 * is in the section .debug_frame. A file may have both kinds of code, so both
 * sections are read.
 */
static int unwind_file_frames(struct elf_file *f, struct unwind_table *out,
			      struct err *err)
{
	struct eh_section frames = { .vaddr = 0 };
	struct eh_section debug = { .vaddr = 0 };
	struct elf_section text;
	struct elf_section section;
	int rc = elf_file_section(f, ".eh_frame", UNWIND_SECTION_MAX, &section,
				  err);

	if (!rc)
		frames = eh_section_of(&section);
	else if (rc != ERR_NOTFOUND)
		return rc;
	if (!elf_file_section(f, ".debug_frame", UNWIND_SECTION_MAX, &section,
			      NULL))
		debug = (struct eh_section){ .data = section.data,
					     .debug = true };
	else if (rc)
		return rc;
	rc = unwind_table_build(out, frames, debug, err);
	/*
	 * Rows whose CFA is computed from another register than rsp and rbp are
	 * of use only in innermost frames, unless the code in .text shows where
	 * the callees save that register.
	 */
	if (!rc && saved_register_wanted(out) &&
	    !elf_file_section(f, ".text", SAVED_CODE_MAX, &text, NULL))
		saved_register_add(out, eh_section_of(&text), frames);
	return rc;
}

int unwind_file_read(struct elf_file *f, struct unwind_table *out,
		     struct err *err)
{
	int rc;

	*out = (struct unwind_table){ 0 };
	if (elf_file_machine(f) != ELF_X86_64)
		return err_set(err, ERR_UNSUPPORTED,
			       "unwind tables are built for x86-64 only");
	rc = unwind_file_frames(f, out, err);
	/*
	 * In programs of Go, .eh_frame describes only code of other languages.
	 */
	if ((!rc || rc == ERR_NOTFOUND) && go_rows_add(f, out))
		rc = 0;
	return rc;
}
