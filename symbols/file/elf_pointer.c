/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/file/elf_pointer.h"

#include <elf.h>

/*
 * Look up the pointer at `address` in .rela.dyn, the list of what the dynamic
 * linker changes in memory when it loads the file. *out becomes the value of
 * the pointer before relocation. False: the section has no relative relocation
 * (such as R_X86_64_RELATIVE) for `address`, or cannot be read.
 */
static bool elf_pointer_relocated(struct elf_file *f, uint64_t address,
				  uint64_t *out)
{
	uint32_t relative = elf_file_machine(f) == ELF_X86_64 ?
				    R_X86_64_RELATIVE :
				    R_AARCH64_RELATIVE;
	struct elf_section s;

	if (elf_file_section(f, ".rela.dyn", ELF_RELOCATIONS_MAX, &s, NULL))
		return false;
	for (size_t at = 0; s.data.len - at >= sizeof(Elf64_Rela);
	     at += sizeof(Elf64_Rela)) {
		Elf64_Rela r;

		memcpy(&r, s.data.ptr + at, sizeof(r));
		if (r.r_offset == address &&
		    ELF64_R_TYPE(r.r_info) == relative) {
			*out = (uint64_t)r.r_addend;
			return true;
		}
	}
	return false;
}

bool elf_pointer_read(struct elf_file *f, uint64_t address, uint64_t *out)
{
	return elf_pointer_relocated(f, address, out) ||
	       elf_file_load_bytes(f, address, out, sizeof(*out));
}
