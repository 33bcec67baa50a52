/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file helper of the ELF reader.
 */
#include "bpf/process/elf_reader.h"

int main(void)
{
	static file_operation *const operations[] = {
		[ELF_READER_OPERATION] = elf_facts_read,
	};

	return file_helper_serve(0, operations, 1);
}
