/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two operations of the file helper (file_helper.h): elf_names_read() finds the
 * names for addresses of an ELF file; file_crc_read() computes the checksum by
 * which a link to a debug file is checked.
 *
 * Threads: one thread, which is that of the file helper, for elf_names_read()
 * and file_crc_read(); any for the other functions.
 */
#ifndef SYMBOLS_NAMES_ELF_NAMES_H
#define SYMBOLS_NAMES_ELF_NAMES_H

#include "base/buf.h"
#include "base/dec.h"
#include "base/err.h"
#include "symbols/file/elf_file.h"

/* Where a process had a file mapped. */
struct name_mapping {
	uint64_t start;  /* address in memory */
	uint64_t limit;  /* where the mapping ends in memory */
	uint64_t offset; /* of `start` in the file */
};

/*
 * The beginning of a question to elf_names_read(). The addresses follow it. In
 * the zero value, the file may have any build ID, the addresses are as in the
 * ELF file, and the answer has no limit.
 */
struct elf_question {
	/*
	 * The mapping that the addresses are in; mapping.limit 0: the addresses
	 * are as in the ELF file.
	 */
	struct name_mapping mapping;
	/* The build ID of the wanted file; len 0: any. */
	struct elf_build_id build_id;
	/* Largest size in bytes of the answer without its head; 0: no limit. */
	size_t answer_max;
};

/*
 * Append to `out` a question with `count` addresses, at most NAME_QUESTION_MAX.
 * `q` may be NULL, which stands for the zero value.
 */
void elf_names_question(const struct elf_question *q, const uint64_t *addresses,
			size_t count, struct buf *out);

/*
 * Operation of a file helper: name addresses in the file of `fd`. `argument` is
 * a question of elf_names_question(). The answer begins with the head that
 * elf_names_head() reads; then the names of the addresses follow
 * (symbols/names/name_answer.h). If the bias of the mapping is not known
 * (elf_file_bias()), no address has a name. If the file does not have the
 * wanted build ID, there is only the head. If the names become larger than the
 * question allows, those of the last addresses are missing. Errors as
 * elf_file_open(), and ERR_INVALID: the question is malformed.
 */
NODISCARD int elf_names_read(int fd, struct bytes argument, struct buf *out,
			     struct err *err);

/* The head of an answer: facts about the file. */
struct elf_names_head {
	struct bytes build_id; /* empty: the file has none */
	/* The file's link to its debug file (.gnu_debuglink); empty: none. */
	struct str debug_link;
	uint32_t debug_crc; /* CRC-32 of all bytes of the debug file */
};

/* Read the beginning of an answer; d->bad if it is malformed. */
struct elf_names_head elf_names_head(struct dec *d);

/*
 * Operation of a file helper: compute the CRC-32 of all bytes of the file of
 * `fd`, by which a link to a debug file is checked. The answer is the CRC,
 * big-endian; `argument` is not used. ERR_TOOBIG: the file is larger than 4
 * GiB; ERR_IO: it cannot be read.
 */
NODISCARD int file_crc_read(int fd, struct bytes argument, struct buf *out,
			    struct err *err);

#endif
