/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ELF files: this program's own, and files that are damaged in one place.
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "symbols/file/elf_file.h"
#include "tests/check.h"
#include "tests/tempdir.h"

TestSuite(elf_file, .timeout = 60);

static int open_path(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static struct elf_file *own_file(void)
{
	struct elf_file *f = NULL;
	struct err err;

	cr_assert(!elf_file_open(open_path("/proc/self/exe"), &f, &err), "%s",
		  err.msg);
	return f;
}

/* Write a file of `len` bytes and return its descriptor, for reading. */
static int file_of(const struct tempdir *d, const void *bytes, size_t len)
{
	char path[4200];
	int fd;

	snprintf(path, sizeof(path), "%s/elf", d->path);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	cr_assert(fd >= 0);
	cr_assert(write(fd, bytes, len) == (ssize_t)len);
	return fd;
}

Test(elf_file, segments_and_sections_are_those_in_memory)
{
	struct elf_file *f = own_file();
	const struct elf_segment *s;
	struct elf_section text;
	struct err err;
	size_t count;
	bool inside = false;

	s = elf_file_segments(f, &count);
	cr_assert(!elf_file_section(f, ".text", 64 << 20, &text, &err), "%s",
		  err.msg);
	for (size_t i = 0; i < count; i++)
		inside |= s[i].executable && text.vaddr >= s[i].vaddr &&
			  text.vaddr + text.data.len <=
				  s[i].vaddr + s[i].memory;
	cr_expect(inside);
	cr_expect(elf_file_section(f, ".text", text.data.len - 1, &text,
				   &err) == ERR_TOOBIG);
	cr_expect(elf_file_section(f, ".bss", 64 << 20, &text, &err) ==
		  ERR_NOTFOUND);
	cr_expect(elf_file_section(f, ".nothing", 64 << 20, &text, &err) ==
		  ERR_NOTFOUND);
	elf_file_close(f);
	elf_file_close(NULL);
}

/* Visitor of loaded objects: the build ID in the memory of this program. */
static int own_build_id(struct dl_phdr_info *info, size_t size UNUSED,
			void *out)
{
	struct bytes *id = out;

	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const uint8_t *at =
			(const uint8_t *)info->dlpi_addr + p->p_vaddr;
		const uint8_t *end = at + p->p_memsz;

		while (p->p_type == PT_NOTE && at < end) {
			const ElfW(Nhdr) *n = (const void *)at;

			at += sizeof(*n) + (n->n_namesz + 3U) / 4 * 4;
			if (n->n_type == NT_GNU_BUILD_ID)
				*id = (struct bytes){ at, n->n_descsz };
			at += (n->n_descsz + p->p_align - 1) / p->p_align *
			      p->p_align;
		}
	}
	return 1;
}

/* A segment like .bss has no bytes in the file, wherever its offset is. */
Test(elf_file, a_segment_without_bytes_is_not_in_the_file)
{
	static const struct elf_segment segments[] = {
		{ .vaddr = 0x9800, .memory = 0x1000, .offset = 0x2800 },
		{ .vaddr = 0x5000,
		  .memory = 0x1000,
		  .offset = 0x1000,
		  .bytes = 0x1900 },
	};
	uint64_t bias = 0;

	cr_assert(elf_segments_bias(segments, 2, 0x2000, 0x406000, &bias));
	cr_expect(bias == 0x400000);
	cr_expect(!elf_segments_bias(segments, 1, 0x2000, 0x406000, &bias));
}

Test(elf_file, build_id_is_that_of_the_linker)
{
	struct elf_file *f = own_file();
	struct elf_build_id id;
	struct bytes loaded = { 0 };

	dl_iterate_phdr(own_build_id, &loaded);
	elf_file_build_id(f, &id);
	cr_expect(bytes_eq(loaded, (struct bytes){ id.bytes, id.len }));
	elf_file_close(f);
}

/* The smallest file that is accepted: a header and no segments. */
static Elf64_Ehdr good_header(void)
{
	return (Elf64_Ehdr){
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
			     ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_shentsize = sizeof(Elf64_Shdr),
	};
}

Test(elf_file, other_files_are_refused)
{
	struct tempdir d = tempdir_make();
	struct elf_file *f = NULL;
	struct err err;
	Elf64_Ehdr h = good_header();

	cr_expect(!elf_file_open(file_of(&d, &h, sizeof(h)), &f, &err), "%s",
		  err.msg);
	cr_expect(elf_file_machine(f) == ELF_X86_64);
	elf_file_close(f);
	cr_expect(elf_file_open(file_of(&d, &h, sizeof(h) - 1), &f, &err) ==
		  ERR_UNSUPPORTED);
	cr_expect(elf_file_open(file_of(&d, "", 0), &f, &err) ==
		  ERR_UNSUPPORTED);
	cr_expect(elf_file_open(open_path(d.path), &f, &err) ==
		  ERR_UNSUPPORTED);
	h.e_ident[EI_CLASS] = ELFCLASS32;
	cr_expect(elf_file_open(file_of(&d, &h, sizeof(h)), &f, &err) ==
		  ERR_UNSUPPORTED);
	h = good_header();
	h.e_ident[EI_DATA] = ELFDATA2MSB;
	cr_expect(elf_file_open(file_of(&d, &h, sizeof(h)), &f, &err) ==
		  ERR_UNSUPPORTED);
	h = good_header();
	h.e_machine = EM_RISCV;
	cr_expect(elf_file_open(file_of(&d, &h, sizeof(h)), &f, &err) ==
		  ERR_UNSUPPORTED);
	h = good_header();
	h.e_type = ET_CORE;
	cr_expect(elf_file_open(file_of(&d, &h, sizeof(h)), &f, &err) ==
		  ERR_UNSUPPORTED);
	tempdir_fini(&d);
}

Test(elf_file, a_fifo_does_not_block)
{
	struct tempdir d = tempdir_make();
	struct elf_file *f = NULL;
	struct err err;
	char path[4200];

	snprintf(path, sizeof(path), "%s/fifo", d.path);
	cr_assert(!mkfifo(path, 0600));
	cr_expect(elf_file_open(open_path(path), &f, &err) == ERR_UNSUPPORTED);
	tempdir_fini(&d);
}

/*
 * The first section header gives the number of sections if e_shnum is 0; a
 * sparse file that claims 2^32 of them must cost no memory.
 */
Test(elf_file, counts_are_limited_before_memory_is_taken)
{
	struct tempdir d = tempdir_make();
	struct elf_file *f = NULL;
	struct err err;
	struct {
		Elf64_Ehdr h;
		Elf64_Shdr first;
	} image = { .h = good_header(), .first.sh_size = UINT32_MAX };
	int fd;

	image.h.e_shoff = sizeof(image.h);
	fd = file_of(&d, &image, sizeof(image));
	cr_assert(!ftruncate(fd, (int64_t)1 << 39));
	cr_expect(elf_file_open(fd, &f, &err) == ERR_CORRUPT);
	image.h.e_shoff = 0;
	image.h.e_phnum = ELF_SEGMENTS_MAX + 1;
	cr_expect(elf_file_open(file_of(&d, &image, sizeof(image)), &f, &err) ==
		  ERR_CORRUPT);
	tempdir_fini(&d);
}

/* Change bytes of this program's file at random, and ask for everything. */
Test(elf_file, damaged_headers_give_errors)
{
	struct tempdir d = tempdir_make();
	int self = open_path("/proc/self/exe");
	struct stat st;
	uint8_t *image;
	uint64_t state = 88172645463325252;
	Elf64_Ehdr h;

	cr_assert(!fstat(self, &st));
	image = mem_alloc((size_t)st.st_size);
	cr_assert(pread(self, image, (size_t)st.st_size, 0) == st.st_size);
	memcpy(&h, image, sizeof(h));
	for (int i = 0; i < 300; i++) {
		struct elf_file *f = NULL;
		struct elf_section section;
		struct elf_build_id id;
		struct err err;
		size_t table = h.e_shoff + h.e_shnum * sizeof(Elf64_Shdr);
		size_t at;
		uint8_t old;

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		at = state % (64 + table - h.e_shoff);
		if (at >= 64)
			at += h.e_shoff - 64;
		old = image[at];
		image[at] = (uint8_t)(state >> 40);
		if (!elf_file_open(file_of(&d, image, (size_t)st.st_size), &f,
				   &err)) {
			int rc = elf_file_section(f, ".eh_frame", 1 << 20,
						  &section, &err);

			cr_expect(!rc || *err.msg);
			elf_file_build_id(f, &id);
			elf_file_close(f);
		}
		image[at] = old;
	}
	mem_free(image);
	close(self);
	tempdir_fini(&d);
}
