/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/file/elf_file.h"

#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"

enum {
	/* Largest size of the notes of one section or segment. */
	ELF_NOTES_MAX = 64 << 10,
	/*
	 * Size of a memory page on x86-64. On other machines, the page size is
	 * a multiple of this.
	 */
	ELF_PAGE = 4096,
};

struct elf_file {
	int fd;           /* -1: the file is in memory */
	struct buf image; /* the bytes of a file in memory */
	Elf *elf;
	enum elf_machine machine;
	VEC(struct elf_segment) segments;
};

/* Set the error to the last failure of libelf. */
static int elf_file_error(struct err *err, const char *what)
{
	return err_set(err, ERR_CORRUPT, "%s: %s", what, elf_errmsg(-1));
}

/*
 * Copy the `len` bytes at position `at` of the file to `out`. False: the file
 * is shorter, or the read failed.
 */
static bool elf_file_copy(const struct elf_file *f, off_t at, void *out,
			  size_t len)
{
	if (f->fd >= 0)
		return pread(f->fd, out, len, at) == (ssize_t)len;
	if (at < 0 || (size_t)at > f->image.len || len > f->image.len - at)
		return false;
	memcpy(out, f->image.ptr + at, len);
	return true;
}

/*
 * Check the ELF header before libelf sees the file. If e_shnum is 0, although
 * the file has section headers, libelf trusts the number of sections in the
 * first of these headers, and allocates memory for each section, so a hostile
 * file could make libelf use up the memory. Such files are rejected: linkers
 * write 0 only if there are more sections than e_shnum can count, and programs
 * and libraries do not have so many.
 */
static int elf_file_check(struct elf_file *f, struct err *err)
{
	Elf64_Ehdr h;
	struct stat st;

	if (f->fd >= 0 && fstat(f->fd, &st))
		return err_sys(err, "fstat");
	if (f->fd >= 0 && !S_ISREG(st.st_mode))
		return err_set(err, ERR_UNSUPPORTED,
			       "it is not a regular file");
	if (!elf_file_copy(f, 0, &h, sizeof(h)) ||
	    memcmp(h.e_ident, ELFMAG, SELFMAG) != 0)
		return err_set(err, ERR_UNSUPPORTED, "it is not an ELF file");
	if (h.e_ident[EI_CLASS] != ELFCLASS64 ||
	    h.e_ident[EI_DATA] != ELFDATA2LSB ||
	    (h.e_type != ET_EXEC && h.e_type != ET_DYN))
		return err_set(
			err, ERR_UNSUPPORTED,
			"it is not a 64-bit little-endian program or library");
	if (h.e_machine != EM_X86_64 && h.e_machine != EM_AARCH64)
		return err_set(
			err, ERR_UNSUPPORTED,
			"it is for ELF machine %u; only x86-64 and arm64 are supported",
			h.e_machine);
	if ((!h.e_shnum && h.e_shoff) || h.e_phnum > ELF_SEGMENTS_MAX)
		return err_set(err, ERR_CORRUPT,
			       "it has too many sections or segments");
	f->machine = h.e_machine == EM_X86_64 ? ELF_X86_64 : ELF_ARM64;
	return 0;
}

/* Read the segments that are loaded. */
static int elf_file_read_segments(struct elf_file *f, struct err *err)
{
	size_t count;

	if (elf_getphdrnum(f->elf, &count))
		return elf_file_error(err, "program headers");
	for (size_t i = 0; i < count && i < ELF_SEGMENTS_MAX; i++) {
		GElf_Phdr p;

		if (!gelf_getphdr(f->elf, (int)i, &p))
			return elf_file_error(err, "program headers");
		if (p.p_type != PT_LOAD)
			continue;
		*vec_add(&f->segments) = (struct elf_segment){
			.vaddr = p.p_vaddr,
			.memory = p.p_memsz,
			.offset = p.p_offset,
			.bytes = p.p_filesz,
			.executable = p.p_flags & PF_X,
		};
	}
	return 0;
}

static int elf_file_read(struct elf_file *f, struct err *err)
{
	int rc = elf_file_check(f, err);

	if (rc)
		return rc;
	elf_version(EV_CURRENT);
	/*
	 * With ELF_C_READ, libelf reads each part with pread() when it is
	 * needed.
	 */
	f->elf = f->fd >= 0 ? elf_begin(f->fd, ELF_C_READ, NULL) :
			      elf_memory((char *)f->image.ptr, f->image.len);
	if (!f->elf || elf_kind(f->elf) != ELF_K_ELF)
		return elf_file_error(err, "ELF header");
	return elf_file_read_segments(f, err);
}

/* Read the headers of a new file, which is freed in case of an error. */
static int elf_file_begin(struct elf_file *f, struct elf_file **out,
			  struct err *err)
{
	int rc = elf_file_read(f, err);

	if (rc)
		elf_file_close(f);
	else
		*out = f;
	return rc;
}

int elf_file_open(int fd, struct elf_file **out, struct err *err)
{
	struct elf_file *f = mem_new(struct elf_file);

	f->fd = fd;
	return elf_file_begin(f, out, err);
}

int elf_file_open_image(struct buf *image, struct elf_file **out,
			struct err *err)
{
	struct elf_file *f = mem_new(struct elf_file);

	f->fd = -1;
	f->image = *image;
	*image = (struct buf){ 0 };
	return elf_file_begin(f, out, err);
}

void elf_file_close(struct elf_file *f)
{
	if (!f)
		return;
	elf_end(f->elf);
	if (f->fd >= 0)
		close(f->fd);
	buf_fini(&f->image);
	vec_fini(&f->segments);
	mem_free(f);
}

/*
 * libelf remembers the number of the descriptor. The number must stay in use:
 * otherwise, it could be given to another file, which libelf would then read.
 * So the descriptor becomes a copy of standard input, which is always open in a
 * file helper (file_helper.h).
 */
bool elf_file_pause(struct elf_file *f)
{
	return f->fd >= 0 && dup3(STDIN_FILENO, f->fd, O_CLOEXEC) == f->fd;
}

bool elf_file_resume(struct elf_file *f, int fd)
{
	if (dup3(fd, f->fd, O_CLOEXEC) != f->fd)
		return false;
	close(fd);
	return true;
}

enum elf_machine elf_file_machine(const struct elf_file *f)
{
	return f->machine;
}

const struct elf_segment *elf_file_segments(const struct elf_file *f,
					    size_t *count)
{
	*count = f->segments.count;
	return f->segments.v;
}

/*
 * Return the segment that has bytes in the page at `offset`, where a mapping
 * begins, or NULL. Mappings begin at page boundaries, so a mapping may begin
 * before its segment.
 */
static const struct elf_segment *
elf_segment_at(const struct elf_segment *segments, size_t count,
	       uint64_t offset)
{
	const struct elf_segment *found = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct elf_segment *s = &segments[i];
		uint64_t inside = s->offset % ELF_PAGE;
		uint64_t begin = s->offset - inside;

		/*
		 * One page of the file may contain the end of a segment and the
		 * beginning of the next one. A mapping that begins with this
		 * page is taken for a mapping of the next segment.
		 */
		if (offset == begin && s->bytes)
			return s;
		if (!found && s->bytes && offset >= begin &&
		    offset - begin < s->bytes + inside)
			found = s;
	}
	return found;
}

bool elf_segments_bias(const struct elf_segment *segments, size_t count,
		       uint64_t offset, uint64_t start, uint64_t *bias)
{
	const struct elf_segment *s = elf_segment_at(segments, count, offset);

	if (s)
		*bias = start - (s->vaddr + offset - s->offset);
	return s;
}

/* Return the executable segment, or NULL if there are none or several. */
static const struct elf_segment *elf_file_text(const struct elf_file *f)
{
	const struct elf_segment *found = NULL;

	for (size_t i = 0; i < f->segments.count; i++) {
		const struct elf_segment *s = &f->segments.v[i];

		if (!s->executable)
			continue;
		if (found)
			return NULL;
		found = s;
	}
	return found;
}

/* Return the number of the page of an address. */
static uint64_t elf_page(uint64_t address)
{
	return address / ELF_PAGE;
}

bool elf_file_bias(const struct elf_file *f, uint64_t offset, uint64_t start,
		   uint64_t limit, uint64_t *bias)
{
	const struct elf_segment *text = elf_file_text(f);

	/*
	 * In a debug file as objcopy makes it, the executable segment has a
	 * size in memory, but no bytes in the file.
	 */
	if (!text || text->bytes || !text->memory)
		return elf_segments_bias(f->segments.v, f->segments.count,
					 offset, start, bias);
	*bias = (elf_page(start) - elf_page(text->vaddr)) * ELF_PAGE;
	return limit > start &&
	       elf_page(limit - 1) - elf_page(start) ==
		       elf_page(text->vaddr + text->memory - 1) -
			       elf_page(text->vaddr);
}

/* Find a section by its name. */
static Elf_Scn *elf_section_find(const struct elf_file *f, const char *name,
				 GElf_Shdr *header)
{
	Elf_Scn *s = NULL;
	size_t names;

	if (elf_getshdrstrndx(f->elf, &names))
		return NULL;
	while ((s = elf_nextscn(f->elf, s))) {
		const char *at;

		if (!gelf_getshdr(s, header))
			continue;
		at = elf_strptr(f->elf, names, header->sh_name);
		if (at && !strcmp(at, name))
			return s;
	}
	return NULL;
}

/* Decompress a section, if it is compressed. */
static int elf_section_expand(Elf_Scn *s, const GElf_Shdr *header,
			      const char *name, size_t limit, struct err *err)
{
	GElf_Chdr c;

	if (!(header->sh_flags & SHF_COMPRESSED))
		return 0;
	if (!gelf_getchdr(s, &c))
		return elf_file_error(err, name);
	if (c.ch_size > limit)
		return err_set(err, ERR_TOOBIG,
			       "the section %s has %zu bytes, more than %zu",
			       name, (size_t)c.ch_size, limit);
	if (elf_compress(s, 0, 0) < 0)
		return elf_file_error(err, name);
	return 0;
}

int elf_file_section(struct elf_file *f, const char *name, size_t limit,
		     struct elf_section *out, struct err *err)
{
	GElf_Shdr header;
	Elf_Scn *s = elf_section_find(f, name, &header);
	Elf_Data *data;
	int rc;

	if (!s || header.sh_type == SHT_NOBITS)
		return err_set(err, ERR_NOTFOUND, "the file has no section %s",
			       name);
	if (header.sh_size > limit)
		return err_set(err, ERR_TOOBIG,
			       "the section %s has %zu bytes, more than %zu",
			       name, (size_t)header.sh_size, limit);
	rc = elf_section_expand(s, &header, name, limit, err);
	if (rc)
		return rc;
	data = header.sh_flags & SHF_COMPRESSED ? elf_getdata(s, NULL) :
						  elf_rawdata(s, NULL);
	if (!data || (data->d_size && !data->d_buf))
		return elf_file_error(err, name);
	*out = (struct elf_section){
		.vaddr = header.sh_addr,
		.data = { .ptr = data->d_buf, .len = data->d_size },
	};
	return 0;
}

uint64_t elf_file_section_size(struct elf_file *f, const char *name)
{
	GElf_Shdr header;
	GElf_Chdr c;
	Elf_Scn *s = elf_section_find(f, name, &header);

	if (!s || header.sh_type == SHT_NOBITS)
		return 0;
	if (header.sh_flags & SHF_COMPRESSED)
		return gelf_getchdr(s, &c) ? c.ch_size : UINT64_MAX;
	return header.sh_size;
}

bool elf_file_load_bytes(struct elf_file *f, uint64_t address, void *out,
			 size_t len)
{
	for (size_t i = 0; i < f->segments.count; i++) {
		const struct elf_segment *s = &f->segments.v[i];
		uint64_t inside = address - s->vaddr;
		off_t at;

		if (address >= s->vaddr && len <= s->bytes &&
		    inside <= s->bytes - len &&
		    !__builtin_add_overflow(s->offset, inside, &at))
			return elf_file_copy(f, at, out, len);
	}
	return false;
}

struct Elf *elf_file_handle(struct elf_file *f)
{
	return f->elf;
}

/* Find the build ID in notes. */
static bool elf_notes_build_id(Elf_Data *data, struct elf_build_id *out)
{
	GElf_Nhdr note;
	size_t name;
	size_t body;
	size_t next = 0;

	while ((next = gelf_getnote(data, next, &note, &name, &body))) {
		const uint8_t *bytes = data->d_buf;

		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
		    memcmp(bytes + name, "GNU", 4) != 0 || !note.n_descsz ||
		    note.n_descsz > ELF_BUILD_ID_MAX)
			continue;
		memcpy(out->bytes, bytes + body, note.n_descsz);
		out->len = note.n_descsz;
		return true;
	}
	return false;
}

/* Find the build ID in the sections. */
static bool elf_sections_build_id(const struct elf_file *f,
				  struct elf_build_id *out)
{
	Elf_Scn *s = NULL;
	GElf_Shdr header;

	while ((s = elf_nextscn(f->elf, s))) {
		Elf_Data *data;

		if (!gelf_getshdr(s, &header) || header.sh_type != SHT_NOTE ||
		    header.sh_size > ELF_NOTES_MAX)
			continue;
		data = elf_getdata(s, NULL);
		if (data && elf_notes_build_id(data, out))
			return true;
	}
	return false;
}

/*
 * Find the build ID in the segments, because a stripped file may have no
 * sections any more.
 */
static bool elf_segments_build_id(const struct elf_file *f,
				  struct elf_build_id *out)
{
	size_t count;
	GElf_Phdr p;

	if (elf_getphdrnum(f->elf, &count))
		return false;
	for (size_t i = 0; i < count && i < ELF_SEGMENTS_MAX; i++) {
		Elf_Data *data;

		if (!gelf_getphdr(f->elf, (int)i, &p) || p.p_type != PT_NOTE ||
		    p.p_filesz > ELF_NOTES_MAX || p.p_offset > INT64_MAX)
			continue;
		data = elf_getdata_rawchunk(
			f->elf, (int64_t)p.p_offset, p.p_filesz,
			p.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		if (data && elf_notes_build_id(data, out))
			return true;
	}
	return false;
}

void elf_file_build_id(struct elf_file *f, struct elf_build_id *out)
{
	*out = (struct elf_build_id){ 0 };
	if (!elf_sections_build_id(f, out) && !elf_segments_build_id(f, out))
		out->len = 0;
}
