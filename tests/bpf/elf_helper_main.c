/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file helper of the ELF reader.
 */
#include "bpf/process/elf_reader.h"

int main(void)
{
	return file_helper_serve(0, elf_operations, ELF_OPERATIONS);
}
