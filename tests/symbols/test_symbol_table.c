/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbols that distributions leave in stripped programs: an ELF file that is
 * compressed in the section .gnu_debugdata.
 */
#include "symbols/file/symbol_table.h"

#include <lzma.h>

#include "tests/elf_image.h"

TestSuite(symbol_table, .timeout = 60);

enum {
	FUNCTION = ELF_IMAGE_BASE + 0x1010,
};

/* A file with one function. */
static void image_with_symbol(struct elf_image *e)
{
	static const char names[] = "\0local_function";
	const Elf64_Sym symbols[] = {
		{ .st_name = 0 },
		{ .st_name = 1,
		  .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
		  .st_shndx = 1,
		  .st_value = FUNCTION,
		  .st_size = 16 },
	};

	elf_image_add(e, ".symtab", 0x1000, symbols, sizeof(symbols));
	elf_image_add(e, ".strtab", 0x2000, names, sizeof(names));
	close(elf_image_file(e));
}

/* A stripped file with these bytes in the section. */
static struct elf_file *stripped_with(const uint8_t *bytes, size_t len)
{
	static struct elf_image outer;
	static const uint8_t code[64];
	struct elf_file *f;
	struct err err;

	memset(&outer, 0, sizeof(outer));
	elf_image_add(&outer, ".text", 0x1000, code, sizeof(code));
	elf_image_add(&outer, ".gnu_debugdata", 0x2000, bytes, len);
	cr_assert(!elf_file_open(elf_image_file(&outer), &f, &err), "%s",
		  err.msg);
	return f;
}

/* Return the number of symbols of a file, and whether FUNCTION is named. */
static size_t symbols_of(struct elf_file *f, bool *named)
{
	struct symbol_table t;
	const struct elf_symbol *s;
	struct err err;
	size_t count;

	cr_assert(!symbol_table_read(f, &t, &err), "%s", err.msg);
	s = symbol_table_find(&t, FUNCTION + 4);
	*named = s && !strcmp(s->name, "local_function");
	count = t.symbols.count;
	symbol_table_fini(&t);
	elf_file_close(f);
	return count;
}

Test(symbol_table, symbols_that_are_compressed_in_stripped_files)
{
	static struct elf_image inner;
	static uint8_t packed[8 << 10];
	size_t len = 0;
	bool named;

	image_with_symbol(&inner);
	cr_assert(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL,
					  inner.bytes, sizeof(inner.bytes),
					  packed, &len,
					  sizeof(packed)) == LZMA_OK);
	cr_expect(symbols_of(stripped_with(packed, len), &named) == 1);
	cr_expect(named);
	/* A damaged section is none. */
	for (size_t cut = 1; cut < len; cut += 1 + len / 20) {
		cr_expect(symbols_of(stripped_with(packed, len - cut),
				     &named) == 0);
		cr_expect(!named);
	}
	packed[len / 2] ^= 1;
	cr_expect(!symbols_of(stripped_with(packed, len), &named));
	cr_expect(!symbols_of(stripped_with((const uint8_t *)"no", 2), &named));
}
