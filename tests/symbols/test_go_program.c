/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where programs of Go have their table, and where their code begins. Real
 * programs are in tests/integration/test_names.py.
 */
#include "symbols/file/go_program.h"

#include "tests/go_image.h"

TestSuite(go_program, .timeout = 60);

#define TABLE  (ELF_IMAGE_BASE + GO_IMAGE_TABLE)
#define MODULE (ELF_IMAGE_BASE + GO_IMAGE_MODULE)
#define CODE   (ELF_IMAGE_BASE + GO_IMAGE_CODE)
#define TEXT   (ELF_IMAGE_BASE + GO_IMAGE_SECTION)

static Elf64_Rela relative(uint64_t at, uint64_t value)
{
	return (Elf64_Rela){ .r_offset = at,
			     .r_info = ELF64_R_INFO(0, R_X86_64_RELATIVE),
			     .r_addend = (int64_t)value };
}

/* Open a program; returns the result of looking for its table. */
static int open_table(const struct go_image *g, struct elf_file **f,
		      struct pclntab *table)
{
	struct err err;

	cr_assert(!elf_file_open(go_image_file(g), f, &err), "%s", err.msg);
	return go_program_table(*f, table, &err);
}

/* Expect that both functions are named, if the code is at an address. */
static void expect_code_at(const struct go_image *g, uint64_t address)
{
	struct elf_file *f;
	struct pclntab table;
	struct go_function found;

	cr_assert(!open_table(g, &f, &table));
	cr_assert(pclntab_find(&table, address + 5, &found));
	cr_expect(check_str(found.name, "main.first"));
	cr_assert(pclntab_find(&table, address + GO_IMAGE_FIRST + 5, &found));
	cr_expect(check_str(found.name, "main.second"));
	cr_expect(!pclntab_find(&table, address - 1, &found));
	elf_file_close(f);
}

/* Until Go 1.25, the table says where the code is. */
Test(go_program, tables_say_where_the_code_is)
{
	expect_code_at(&(struct go_image){ .section = ".gopclntab",
					   .header_text = CODE },
		       CODE);
	expect_code_at(
		&(struct go_image){
			.section = ".data.rel.ro.gopclntab",
			.relocations = { relative(TABLE + 8, 1),
					 relative(TABLE + 24, CODE) } },
		CODE);
}

/* Since Go 1.26, only the description of the program does. */
Test(go_program, descriptions_say_where_the_code_is)
{
	expect_code_at(&(struct go_image){ .section = ".gopclntab",
					   .has_module = true,
					   .module_table = TABLE,
					   .module_text = CODE },
		       CODE);
	expect_code_at(
		&(struct go_image){
			.section = ".gopclntab",
			.has_module = true,
			.relocations = { relative(MODULE, TABLE),
					 relative(MODULE + 176, CODE) } },
		CODE);
}

/* Without both, the linker of Go has put nothing before Go's code. */
Test(go_program, code_begins_with_its_section)
{
	expect_code_at(&(struct go_image){ .section = ".gopclntab" }, TEXT);
	expect_code_at(&(struct go_image){ .section = ".gopclntab",
					   .has_module = true,
					   .module_table = TABLE + 8,
					   .module_text = CODE },
		       TEXT);
}

/* The linker of C joins the table with other data. */
Test(go_program, tables_are_found_amid_other_data)
{
	struct go_image g = { .section = ".data.rel.ro",
			      .header_text = CODE,
			      .is_program = true };
	struct elf_file *f;
	struct pclntab table;

	expect_code_at(&g, CODE);
	g.is_program = false;
	cr_expect(open_table(&g, &f, &table) == ERR_NOTFOUND);
	elf_file_close(f);
}
