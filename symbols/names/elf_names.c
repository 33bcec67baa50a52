/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/elf_names.h"

#include "base/enc.h"
#include "symbols/elf/symbol_table.h"
#include "symbols/name_answer.h"
#include "symbols/names/demangle.h"
#include "symbols/names/name_reader.h"

/* Answer for one address by the symbols of the file. */
static void elf_names_answer(const struct symbol_table *t, uint64_t address,
			     struct buf *out)
{
	const struct elf_symbol *s = symbol_table_find(t, address);
	struct buf name = { 0 };
	struct name_frame f;

	name_answer_begin(out, s ? 1 : 0);
	if (!s)
		return;
	f = (struct name_frame){ .system_name = str_of(s->name),
				 .name = str_of(s->name) };
	if (demangle_name(s->name, &name))
		f.name = str_from(buf_bytes(&name));
	name_answer_add(out, &f);
	buf_fini(&name);
}

static int elf_names_answer_all(struct elf_file *f, struct bytes argument,
				struct buf *out, struct err *err)
{
	struct symbol_table t = { 0 };
	struct elf_build_id id;
	int rc = symbol_table_read(f, &t, err);

	if (rc)
		return rc;
	elf_file_build_id(f, &id);
	enc_str(out,
		str_from((struct bytes){ .ptr = id.bytes, .len = id.len }));
	for (size_t i = 0; i < name_question_count(argument); i++)
		elf_names_answer(&t, name_question_address(argument, i), out);
	symbol_table_fini(&t);
	return 0;
}

int elf_names_read(int fd, struct bytes argument, struct buf *out,
		   struct err *err)
{
	struct elf_file *f;
	int rc = elf_file_open(fd, &f, err);

	if (rc)
		return rc;
	rc = name_question_check(argument, err);
	if (!rc)
		rc = elf_names_answer_all(f, argument, out, err);
	elf_file_close(f);
	return rc;
}
