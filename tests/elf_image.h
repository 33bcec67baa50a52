/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small ELF file for tests: sections at positions that the test chooses. One
 * segment loads the whole file.
 */
#ifndef TESTS_ELF_IMAGE_H
#define TESTS_ELF_IMAGE_H

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/check.h"

enum {
	ELF_IMAGE_BASE = 0x400000, /* address of the beginning of the file */
	ELF_IMAGE_SIZE = 64 << 10,
	ELF_IMAGE_SECTIONS = 16,
};

struct elf_image {
	uint8_t bytes[ELF_IMAGE_SIZE];
	Elf64_Shdr sections[ELF_IMAGE_SECTIONS];
	uint16_t count;
	char names[1024];
	uint32_t names_len;
};

/* Add a section at a position, which is the address without the base. */
static inline void elf_image_add(struct elf_image *e, const char *name,
				 uint32_t position, const void *data,
				 size_t len)
{
	if (!e->count) { /* the first section is none, the first name empty */
		e->count = 1;
		e->names_len = 1;
	}
	cr_assert(e->count < ELF_IMAGE_SECTIONS - 1);
	cr_assert(position + len < ELF_IMAGE_SIZE / 2);
	memcpy(&e->bytes[position], data, len);
	e->sections[e->count++] = (Elf64_Shdr){
		.sh_name = e->names_len,
		.sh_type = SHT_PROGBITS,
		.sh_flags = SHF_ALLOC,
		.sh_addr = ELF_IMAGE_BASE + position,
		.sh_offset = position,
		.sh_size = len,
	};
	strcpy(&e->names[e->names_len], name);
	e->names_len += (uint32_t)strlen(name) + 1;
}

/* Write the headers, and return a descriptor of the file. */
static inline int elf_image_file(struct elf_image *e)
{
	uint32_t names_at = ELF_IMAGE_SIZE / 2;
	uint32_t headers_at = names_at + sizeof(e->names);
	Elf64_Ehdr h = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
			     ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shoff = headers_at,
		.e_shentsize = sizeof(Elf64_Shdr),
	};
	Elf64_Phdr p = { .p_type = PT_LOAD,
			 .p_flags = PF_R | PF_X,
			 .p_vaddr = ELF_IMAGE_BASE,
			 .p_filesz = ELF_IMAGE_SIZE,
			 .p_memsz = ELF_IMAGE_SIZE };
	int fd = memfd_create("image", MFD_CLOEXEC);

	h.e_shstrndx = e->count;
	e->sections[e->count++] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
						.sh_offset = names_at,
						.sh_size = sizeof(e->names) };
	h.e_shnum = e->count;
	memcpy(e->bytes, &h, sizeof(h));
	memcpy(&e->bytes[h.e_phoff], &p, sizeof(p));
	memcpy(&e->bytes[names_at], e->names, sizeof(e->names));
	memcpy(&e->bytes[headers_at], e->sections, sizeof(e->sections));
	cr_assert(fd >= 0);
	cr_assert(write(fd, e->bytes, sizeof(e->bytes)) ==
		  (ssize_t)sizeof(e->bytes));
	return fd;
}

#endif
