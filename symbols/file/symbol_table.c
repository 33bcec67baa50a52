/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/file/symbol_table.h"

#include <elf.h>
#include <stdlib.h>

#include "base/xz.h"

/*
 * Return the name at position `at` of `names`, the section with the names.
 * NULL: the name is empty, or does not end within the section. A symbol without
 * a name is left out.
 */
static const char *symbol_name(struct bytes names, uint32_t at)
{
	if (at >= names.len || !names.ptr[at] ||
	    !memchr(names.ptr + at, 0, names.len - at))
		return NULL;
	return (const char *)names.ptr + at;
}

/*
 * Return the rank of a symbol. Of several symbols at the same address, only the
 * one with the highest rank is kept. The type decides first: a function ranks
 * above a label of assembler code (STT_NOTYPE). If the types rank equally, a
 * symbol with a size ranks above one without. If the sizes do not decide
 * either, a global symbol ranks above a weak one, and a weak one above a local
 * one.
 */
static uint8_t symbol_rank(const Elf64_Sym *s)
{
	uint8_t rank = ELF64_ST_TYPE(s->st_info) == STT_NOTYPE ? 0 : 8;

	if (s->st_size)
		rank += 4;
	if (ELF64_ST_BIND(s->st_info) == STB_GLOBAL)
		rank += 2;
	else if (ELF64_ST_BIND(s->st_info) == STB_WEAK)
		rank += 1;
	return rank;
}

/* Whether a symbol can name code. */
static bool symbol_is_code(const Elf64_Sym *s)
{
	unsigned type = ELF64_ST_TYPE(s->st_info);

	if (s->st_shndx == SHN_UNDEF || s->st_shndx == SHN_ABS || !s->st_value)
		return false;
	return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}

/* Whether an address is in an executable segment. */
static bool address_is_code(const struct elf_file *f, uint64_t address)
{
	size_t count;
	const struct elf_segment *s = elf_file_segments(f, &count);

	for (size_t i = 0; i < count; i++) {
		if (s[i].executable && address >= s[i].vaddr &&
		    address - s[i].vaddr < s[i].memory)
			return true;
	}
	return false;
}

/*
 * Add the symbols in the section `section` of `f`, whose names are in the
 * section `names`. If `f` lacks one of the two, add nothing. `code` is the file
 * that contains the code, which is `f` itself, or the file whose section
 * .gnu_debugdata contains `f`. Only symbols in the executable segments of
 * `code` are added.
 */
static int symbol_table_add(struct symbol_table *t, struct elf_file *f,
			    const struct elf_file *code, const char *section,
			    const char *names, struct err *err)
{
	struct elf_section symbols;
	struct elf_section texts;
	int rc =
		elf_file_section(f, section, SYMBOL_SECTION_MAX, &symbols, err);

	if (!rc)
		rc = elf_file_section(f, names, SYMBOL_SECTION_MAX, &texts,
				      err);
	if (rc)
		return rc == ERR_NOTFOUND ? 0 : rc;
	for (size_t at = 0; symbols.data.len - at >= sizeof(Elf64_Sym);
	     at += sizeof(Elf64_Sym)) {
		Elf64_Sym s;
		const char *name;

		memcpy(&s, symbols.data.ptr + at, sizeof(s));
		if (!symbol_is_code(&s) || !address_is_code(code, s.st_value))
			continue;
		name = symbol_name(texts.data, s.st_name);
		if (!name)
			continue;
		*vec_add(&t->symbols) = (struct elf_symbol){
			.address = s.st_value,
			.size = s.st_size,
			.name = name,
			.rank = symbol_rank(&s),
		};
	}
	return 0;
}

/*
 * Open the ELF file that is compressed in the section .gnu_debugdata of `f`.
 * Return NULL if `f` has no such section, or if the section cannot be read.
 */
static struct elf_file *symbol_table_mini(struct elf_file *f)
{
	struct buf image = buf_init(MINI_FILE_MAX);
	struct elf_file *mini = NULL;
	struct elf_section s;

	if (elf_file_section(f, ".gnu_debugdata", MINI_SECTION_MAX, &s, NULL))
		return NULL;
	if (xz_decompress(s.data, MINI_DECODER_MAX, &image, NULL))
		buf_fini(&image);
	else if (elf_file_open_image(&image, &mini, NULL))
		return NULL;
	return mini;
}

/* Order of symbols: by address; at the same address, the highest rank first. */
static int symbol_order(const void *a, const void *b)
{
	const struct elf_symbol *x = a;
	const struct elf_symbol *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	/*
	 * Compare names, too, so that the result does not depend on the order
	 * of the symbols in the file.
	 */
	return strcmp(x->name, y->name);
}

int symbol_table_read(struct elf_file *f, struct symbol_table *out,
		      struct err *err)
{
	struct symbol_table t = { 0 };
	int rc = symbol_table_add(&t, f, f, ".symtab", ".strtab", err);
	size_t kept = 0;

	if (!rc)
		rc = symbol_table_add(&t, f, f, ".dynsym", ".dynstr", err);
	if (!rc)
		t.mini = symbol_table_mini(f);
	if (t.mini)
		(void)!symbol_table_add(&t, t.mini, f, ".symtab", ".strtab",
					NULL);
	if (rc) {
		symbol_table_fini(&t);
		return rc;
	}
	if (t.symbols.count)
		qsort(t.symbols.v, t.symbols.count, sizeof(*t.symbols.v),
		      symbol_order);
	for (size_t i = 0; i < t.symbols.count; i++) {
		if (kept &&
		    t.symbols.v[kept - 1].address == t.symbols.v[i].address)
			continue;
		t.symbols.v[kept++] = t.symbols.v[i];
	}
	t.symbols.count = kept;
	*out = t;
	return 0;
}

void symbol_table_fini(struct symbol_table *t)
{
	vec_fini(&t->symbols);
	elf_file_close(t->mini);
	t->mini = NULL;
}

const struct elf_symbol *symbol_table_find(const struct symbol_table *t,
					   uint64_t address)
{
	size_t low = vec_partition_point(&t->symbols, e, e->address <= address);
	const struct elf_symbol *s;

	if (!low)
		return NULL;
	s = &t->symbols.v[low - 1];
	return address - s->address < (s->size ?: SYMBOL_UNSIZED_MAX) ? s :
									NULL;
}
