/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/file/go_program.h"

#include "symbols/file/elf_pointer.h"

enum {
	/* Largest size of the section .go.module in bytes. */
	GO_MODULE_MAX = 1 << 20,
	/*
	 * Offset in bytes, in Go's table of functions (pclntab), of the field
	 * with the address of the program's code. It exists since Go 1.18.
	 */
	GO_TABLE_TEXT = 24,
	/*
	 * Offset in bytes, in moduledata, of the field with the address of the
	 * program's code. moduledata is the runtime's description of the
	 * program (Go, runtime/symtab.go), and begins with the address of the
	 * table.
	 */
	GO_MODULE_TEXT = 176,
	/* The address of the table is a multiple of this number of bytes. */
	GO_TABLE_ALIGN = 8,
};

/*
 * Whether Go's linker took part in making the file. The data of other files,
 * such as C programs, is not searched for a table.
 */
static bool go_program_is(struct elf_file *f)
{
	return elf_file_section_size(f, ".go.buildinfo") ||
	       elf_file_section_size(f, ".note.go.buildid");
}

/*
 * Find the table in the section `s`, and cut off what is before the table.
 * False: there is no table.
 */
static bool go_table_cut(struct elf_section *s)
{
	struct pclntab t;

	for (size_t at = -s->vaddr % GO_TABLE_ALIGN; at < s->data.len;
	     at += GO_TABLE_ALIGN) {
		struct bytes rest = { .ptr = s->data.ptr + at,
				      .len = s->data.len - at };

		if (!pclntab_parse(rest, 0, &t, NULL)) {
			s->data = rest;
			s->vaddr += at;
			return true;
		}
	}
	return false;
}

/*
 * Find the section that contains the table, and cut off what is before the
 * table. Until Go 1.25, in a program that can be loaded at any address, the C
 * linker merges the table into .data.rel.ro, the data that the dynamic linker
 * changes when it loads the program.
 */
static int go_table_section(struct elf_file *f, struct elf_section *out,
			    struct err *err)
{
	int rc = elf_file_section(f, ".gopclntab", PCLNTAB_MAX, out, err);

	if (rc == ERR_NOTFOUND)
		rc = elf_file_section(f, ".data.rel.ro.gopclntab", PCLNTAB_MAX,
				      out, err);
	if (rc == ERR_NOTFOUND && go_program_is(f))
		rc = elf_file_section(f, ".data.rel.ro", PCLNTAB_MAX, out, err);
	else
		return rc;
	if (!rc && !go_table_cut(out))
		rc = err_set(err, ERR_NOTFOUND,
			     "the file has no table of Go's functions");
	return rc;
}

/*
 * Find the address of Go's code, to which the addresses in a table are relative
 * since Go 1.18. Until Go 1.25, the table itself, at the address `table`,
 * contains the address of the code, but maybe as a pointer that the dynamic
 * linker writes (elf_pointer.h). Since Go 1.26, only moduledata, in the section
 * .go.module, contains the address of the code. If neither of the two has this
 * address, take the address of .text.
 */
static int go_program_text(struct elf_file *f, uint64_t table, uint64_t *text,
			   struct err *err)
{
	struct elf_section s;
	uint64_t described;
	int rc;

	if (elf_pointer_read(f, table + GO_TABLE_TEXT, text) && *text)
		return 0;
	if (!elf_file_section(f, ".go.module", GO_MODULE_MAX, &s, NULL) &&
	    elf_pointer_read(f, s.vaddr, &described) && described == table &&
	    elf_pointer_read(f, s.vaddr + GO_MODULE_TEXT, text) && *text)
		return 0;
	rc = elf_file_section(f, ".text", PCLNTAB_MAX, &s, err);
	*text = rc ? 0 : s.vaddr;
	return rc;
}

int go_program_table(struct elf_file *f, struct pclntab *out, struct err *err)
{
	struct elf_section table;
	uint64_t text;
	int rc = go_table_section(f, &table, err);

	if (!rc)
		rc = go_program_text(f, table.vaddr, &text, err);
	return rc ? rc : pclntab_parse(table.data, text, out, err);
}
