/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/elf_names.h"

#include <unistd.h>

#include "base/enc.h"
#include "base/gzip.h"
#include "symbols/dwarf/dwarf_names.h"
#include "symbols/elf/symbol_table.h"
#include "symbols/name_answer.h"
#include "symbols/names/demangle.h"
#include "symbols/names/name_reader.h"
#include "symbols/pclntab.h"

enum {
	/* Largest size of the section .gnu_debuglink in bytes. */
	DEBUG_LINK_MAX = 4096,
};

/* The sources of names in one file, the best source first. */
struct elf_names {
	struct dwarf_names *dwarf; /* NULL: none */
	bool has_go;
	struct pclntab go;
	struct symbol_table symbols;
};

/* Read all sources. One that is missing or damaged is left out. */
static void elf_names_open(struct elf_file *f, struct elf_names *n)
{
	*n = (struct elf_names){ .dwarf = NULL };
	if (dwarf_names_open(f, &n->dwarf, NULL))
		n->dwarf = NULL;
	n->has_go = !pclntab_open(f, &n->go, NULL);
	if (symbol_table_read(f, &n->symbols, NULL))
		n->symbols = (struct symbol_table){ .symbols = { 0 } };
}

static void elf_names_close(struct elf_names *n)
{
	dwarf_names_close(n->dwarf);
	symbol_table_fini(&n->symbols);
}

/* Symbols of libraries have their version behind an '@'. */
static struct str name_without_version(struct str s)
{
	struct str rest;

	return str_cut(s, '@', &rest);
}

/* Add a function whose name may be mangled. */
static void elf_names_add(const char *system_name, struct name_frame f,
			  struct buf *out)
{
	struct buf name = { 0 };

	f.system_name = str_of(system_name);
	if (demangle_name(system_name, &name))
		f.name = str_from(buf_bytes(&name));
	else if (!f.name.len)
		f.name = name_without_version(f.system_name);
	name_answer_add(out, &f);
	buf_fini(&name);
}

/* Answer by debug information. False: it does not have the address. */
static bool elf_names_by_dwarf(const struct elf_names *n, uint64_t address,
			       struct buf *out)
{
	struct dwarf_frame v[NAME_FRAMES_MAX];
	size_t count = n->dwarf ? dwarf_names_find(n->dwarf, address, v,
						   NAME_FRAMES_MAX) :
				  0;

	for (size_t i = 0; i < count; i++) {
		if (!v[i].name && !v[i].linkage_name)
			return false;
	}
	/* Functions that the compiler made have lines in Go's table alone. */
	if (!count || (!v[0].line && n->has_go))
		return false;
	name_answer_begin(out, count);
	for (size_t i = 0; i < count; i++)
		elf_names_add(v[i].linkage_name ?: v[i].name,
			      (struct name_frame){
				      .name = str_of(v[i].name),
				      .file = str_of(v[i].file),
				      .line = v[i].line,
				      .start_line = v[i].start_line,
			      },
			      out);
	return true;
}

/* Answer by Go's table of functions. False: it does not have the address. */
static bool elf_names_by_go(const struct elf_names *n, uint64_t address,
			    struct buf *out)
{
	struct go_function g;

	if (!n->has_go || !pclntab_find(&n->go, address, &g))
		return false;
	name_answer_begin(out, 1);
	name_answer_add(out,
			&(struct name_frame){ .system_name = g.name,
					      .name = g.name,
					      .file = g.file,
					      .line = g.line,
					      .start_line = g.start_line });
	return true;
}

/* Answer for one address. */
static void elf_names_answer(const struct elf_names *n, uint64_t address,
			     struct buf *out)
{
	const struct elf_symbol *s;
	struct dwarf_frame line = { .line = 0 };

	if (elf_names_by_dwarf(n, address, out) ||
	    elf_names_by_go(n, address, out))
		return;
	s = symbol_table_find(&n->symbols, address);
	name_answer_begin(out, s ? 1 : 0);
	if (s && n->dwarf)
		dwarf_names_line(n->dwarf, address, &line);
	if (s)
		elf_names_add(s->name,
			      (struct name_frame){ .file = str_of(line.file),
						   .line = line.line },
			      out);
}

void elf_names_question(const struct name_mapping *m, const uint64_t *addresses,
			size_t count, struct buf *out)
{
	static const struct name_mapping none = { .start = 0 };

	buf_add(out, m ?: &none, sizeof(*m));
	buf_add(out, addresses, count * sizeof(*addresses));
}

/* Cut the mapping off a question. */
static int elf_names_mapping(struct bytes *question, struct name_mapping *out,
			     struct err *err)
{
	if (question->len < sizeof(*out))
		return err_set(err, ERR_INVALID,
			       "invalid request for names: it has %zu bytes",
			       question->len);
	memcpy(out, question->ptr, sizeof(*out));
	question->ptr += sizeof(*out);
	question->len -= sizeof(*out);
	return name_question_check(*question, err);
}

/* Append what is known about the file: its build ID, and its debug file. */
static void elf_names_begin(struct elf_file *f, struct buf *out)
{
	struct elf_section link = { .vaddr = 0 };
	struct elf_build_id id;
	struct bytes name;
	struct dec crc;

	elf_file_build_id(f, &id);
	enc_str(out,
		str_from((struct bytes){ .ptr = id.bytes, .len = id.len }));
	if (elf_file_section(f, ".gnu_debuglink", DEBUG_LINK_MAX, &link, NULL))
		link.data = (struct bytes){ .len = 0 };
	/* A name that ends with NUL, and after padding to 4 bytes, the CRC. */
	name = link.data;
	name.len = link.data.len ? strnlen((const char *)name.ptr, name.len) :
				   0;
	crc = dec_init(link.data);
	(void)dec_bytes(&crc, (name.len + 4) / 4 * 4);
	enc_be32(out, dec_le32(&crc));
	if (crc.bad)
		name.len = 0;
	enc_str(out, str_from(name));
}

struct elf_names_head elf_names_head(struct dec *d)
{
	struct elf_names_head h;

	h.build_id = bytes_of(dec_str(d));
	h.debug_crc = dec_be32(d);
	h.debug_link = dec_str(d);
	if (h.build_id.len > ELF_BUILD_ID_MAX ||
	    h.debug_link.len > DEBUG_LINK_MAX)
		d->bad = true;
	return h;
}

int elf_names_read(int fd, struct bytes argument, struct buf *out,
		   struct err *err)
{
	struct name_mapping m;
	uint64_t bias = 0;
	struct elf_names n;
	struct elf_file *f;
	bool placed;
	int rc = elf_file_open(fd, &f, err);

	if (rc)
		return rc;
	rc = elf_names_mapping(&argument, &m, err);
	if (rc) {
		elf_file_close(f);
		return rc;
	}
	placed = !m.limit ||
		 elf_file_bias(f, m.offset, m.start, m.limit, &bias);
	elf_names_begin(f, out);
	elf_names_open(f, &n);
	for (size_t i = 0; i < name_question_count(argument); i++) {
		if (placed)
			elf_names_answer(
				&n, name_question_address(argument, i) - bias,
				out);
		else
			name_answer_begin(out, 0);
	}
	elf_names_close(&n);
	elf_file_close(f);
	return 0;
}

int file_crc_read(int fd, struct bytes argument UNUSED, struct buf *out,
		  struct err *err)
{
	static uint8_t piece[256 << 10];
	uint32_t crc = 0;
	ssize_t n;

	while ((n = read(fd, piece, sizeof(piece))) > 0)
		crc = gzip_crc32(
			crc, (struct bytes){ .ptr = piece, .len = (size_t)n });
	close(fd);
	if (n < 0)
		return err_sys(err, "read");
	enc_be32(out, crc);
	return 0;
}
