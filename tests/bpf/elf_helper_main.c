/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helpers of the ELF reader: without arguments, the one that reads files.
 */
#include "bpf/process/elf_reader.h"

int main(int argc, char **argv UNUSED)
{
	return argc > 1 ? process_reader_serve() :
			  file_helper_serve(0, elf_operations, ELF_OPERATIONS);
}
