/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the addresses of an ELF file: an operation of the file helper.
 *
 * Threads: one thread, which is that of the file helper.
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
	uint64_t limit;  /* where it ends in memory */
	uint64_t offset; /* of `start` in the file */
};

/* A question to elf_names_read(). The zero value is one about any file. */
struct elf_question {
	/*
	 * The mapping of the addresses; limit 0: they are as in the ELF file.
	 */
	struct name_mapping mapping;
	/* The build ID of the wanted file; len 0: any. */
	struct elf_build_id build_id;
	/* Largest size of the answer in bytes; 0: no limit. */
	size_t answer_max;
};

/*
 * Append a question of `count` addresses, at most NAME_QUESTION_MAX. `q` may be
 * NULL, which is the zero value.
 */
void elf_names_question(const struct elf_question *q, const uint64_t *addresses,
			size_t count, struct buf *out);

/*
 * Operation of a file helper: name the addresses of a question. The answer
 * begins with what elf_names_head() reads; the names follow
 * (symbols/names/name_answer.h). Addresses whose place in the file is not known have
 * no names. If the file is not the wanted one, there are no answers; if the
 * answers become too large, those of the last addresses are missing. Errors as
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
 * Operation of a file helper: the CRC-32 of all bytes of a file, by which a
 * link to a debug file is checked; the answer is big-endian.
 */
NODISCARD int file_crc_read(int fd, struct bytes argument, struct buf *out,
			    struct err *err);

#endif
