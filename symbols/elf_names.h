/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the addresses of an ELF file: an operation of the file helper.
 *
 * Ownership: appends to the caller's buffer.
 * Threads: any.
 */
#ifndef SYMBOLS_ELF_NAMES_H
#define SYMBOLS_ELF_NAMES_H

#include "base/buf.h"
#include "base/err.h"

/*
 * Operation of a file helper: `argument` is a question (symbols/name_answer.h)
 * with addresses as in the ELF file. The answer begins with the build ID of the
 * file (enc_str()). Errors as elf_file_open(), and ERR_INVALID:
 * the question is malformed.
 */
NODISCARD int elf_names_read(int fd, struct bytes argument, struct buf *out,
			     struct err *err);

#endif
