/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/names/elf_names.h"

#include <unistd.h>

#include "base/enc.h"
#include "base/gzip.h"
#include "base/units.h"
#include "symbols/names/demangle.h"
#include "symbols/names/name_answer.h"
#include "symbols/names/name_reader.h"
#include "symbols/names/name_sources.h"

enum {
	/* Largest size of the section .gnu_debuglink in bytes. */
	DEBUG_LINK_MAX = 4096,
};

/* Cut off the version, which follows an '@' in symbols of libraries. */
static struct str name_without_version(struct str s)
{
	struct str rest;

	return str_cut(s, '@', &rest);
}

/*
 * Add the function `f`, whose name in the file is `system_name`, which may be
 * mangled.
 */
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

/*
 * Answer from the debug information. Returns false, and adds nothing, in three
 * cases: there is no debug information with a function at `address`; a function
 * at `address` has no name; or there is no line for `address`, and the file has
 * Go's table of functions.
 */
static bool elf_names_by_dwarf(struct name_sources *s, uint64_t address,
			       struct buf *out)
{
	struct dwarf_names *dwarf = name_sources_dwarf(s);
	struct dwarf_frame v[NAME_FRAMES_MAX];
	size_t count =
		dwarf ? dwarf_names_find(dwarf, address, v, NAME_FRAMES_MAX) :
			0;

	for (size_t i = 0; i < count; i++) {
		if (!v[i].name && !v[i].linkage_name)
			return false;
	}
	/*
	 * Functions without source code, which the Go compiler adds for example
	 * to compare structs, have lines only in Go's table, so let this table
	 * answer.
	 */
	if (!count || (!v[0].line && name_sources_go(s)))
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

/*
 * Answer from Go's table of functions. Returns false, and adds nothing, if
 * there is no table, or the table does not have `address`.
 */
static bool elf_names_by_go(struct name_sources *s, uint64_t address,
			    struct buf *out)
{
	const struct pclntab *table = name_sources_go(s);
	struct go_function g;

	if (!table || !pclntab_find(table, address, &g))
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

/*
 * Answer for `address` from the first source that has it: the debug
 * information, Go's table or the symbols. The symbols come last, because they
 * tell neither lines nor inlined functions, and because to read and sort those
 * of a large program takes long.
 */
static void elf_names_answer(struct name_sources *s, uint64_t address,
			     struct buf *out)
{
	struct dwarf_frame line = { .line = 0 };
	const struct elf_symbol *symbol;

	if (elf_names_by_dwarf(s, address, out) ||
	    elf_names_by_go(s, address, out))
		return;
	symbol = symbol_table_find(name_sources_symbols(s), address);
	name_answer_begin(out, symbol ? 1 : 0);
	if (symbol && name_sources_dwarf(s))
		dwarf_names_line(name_sources_dwarf(s), address, &line);
	if (symbol)
		elf_names_add(symbol->name,
			      (struct name_frame){ .file = str_of(line.file),
						   .line = line.line },
			      out);
}

void elf_names_question(const struct elf_question *q, const uint64_t *addresses,
			size_t count, struct buf *out)
{
	static const struct elf_question any = { .answer_max = 0 };

	buf_add(out, q ?: &any, sizeof(*q));
	buf_add(out, addresses, count * sizeof(*addresses));
}

/*
 * Read the struct elf_question at the beginning of `question`, and cut it off,
 * so that the addresses are left. ERR_INVALID: the question is malformed.
 */
static int elf_question_read(struct bytes *question, struct elf_question *out,
			     struct err *err)
{
	if (question->len < sizeof(*out))
		return err_set(err, ERR_INVALID,
			       "invalid request for names: it has %zu bytes",
			       question->len);
	memcpy(out, question->ptr, sizeof(*out));
	if (out->build_id.len > ELF_BUILD_ID_MAX)
		return err_set(
			err, ERR_INVALID,
			"invalid request for names: the build ID is too long");
	question->ptr += sizeof(*out);
	question->len -= sizeof(*out);
	return name_question_check(*question, err);
}

/* Whether a file with this build ID is the wanted one. */
static bool elf_question_means(const struct elf_question *q,
			       const struct elf_build_id *id)
{
	return !q->build_id.len ||
	       (q->build_id.len == id->len &&
		!memcmp(q->build_id.bytes, id->bytes, id->len));
}

/*
 * Append the head of the answer: the build ID of the file, and its link to a
 * debug file.
 */
static void elf_names_begin(struct elf_file *f, const struct elf_build_id *id,
			    struct buf *out)
{
	struct elf_section link = { .vaddr = 0 };
	struct bytes name;
	struct dec crc;

	enc_str(out,
		str_from((struct bytes){ .ptr = id->bytes, .len = id->len }));
	if (elf_file_section(f, ".gnu_debuglink", DEBUG_LINK_MAX, &link, NULL))
		link.data = (struct bytes){ .len = 0 };
	/*
	 * The section contains a name that ends with NUL, padding to a multiple
	 * of 4 bytes, and the CRC.
	 */
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

/* Answer for all addresses, as long as the answer does not become too large. */
static void elf_names_answers(struct name_sources *s,
			      const struct elf_question *q,
			      struct bytes addresses, struct buf *out)
{
	const struct name_mapping *m = &q->mapping;
	size_t begin = out->len;
	uint64_t bias = 0;
	bool placed = !m->limit ||
		      elf_file_bias(name_sources_file(s), m->offset, m->start,
				    m->limit, &bias);

	for (size_t i = 0; i < name_question_count(addresses); i++) {
		size_t before = out->len;
		uint64_t address = name_question_address(addresses, i);

		if (placed)
			elf_names_answer(s, address - bias, out);
		else
			name_answer_begin(out, 0);
		if (q->answer_max && out->len - begin > q->answer_max) {
			out->len = before;
			break;
		}
	}
}

int elf_names_read(int fd, struct bytes argument, struct buf *out,
		   struct err *err)
{
	struct elf_question q = { .answer_max = 0 };
	struct elf_build_id id = { .len = 0 };
	struct name_sources *s;
	int rc = name_sources_take(fd, &s, err);

	if (rc)
		return rc;
	rc = elf_question_read(&argument, &q, err);
	if (!rc) {
		elf_file_build_id(name_sources_file(s), &id);
		elf_names_begin(name_sources_file(s), &id, out);
	}
	if (!rc && elf_question_means(&q, &id))
		elf_names_answers(s, &q, argument, out);
	name_sources_give(s);
	return rc;
}

/*
 * Largest size in bytes of a debug file whose CRC is computed. A larger one may
 * be a sparse file, which takes no room on disk, but nearly endless time to
 * read.
 */
#define CRC_FILE_MAX (4ull * GIB)

int file_crc_read(int fd, struct bytes argument UNUSED, struct buf *out,
		  struct err *err)
{
	static uint8_t piece[256 << 10];
	uint64_t total = 0;
	uint32_t crc = 0;
	ssize_t n;

	while (total <= CRC_FILE_MAX &&
	       (n = read(fd, piece, sizeof(piece))) > 0) {
		total += (uint64_t)n;
		crc = gzip_crc32(
			crc, (struct bytes){ .ptr = piece, .len = (size_t)n });
	}
	close(fd);
	if (total > CRC_FILE_MAX)
		return err_set(err, ERR_TOOBIG,
			       "the debug file is larger than 4 GiB");
	if (n < 0)
		return err_sys(err, "read");
	enc_be32(out, crc);
	return 0;
}
