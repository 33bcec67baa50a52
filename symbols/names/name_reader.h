/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Name reader: parses the addresses of a question for names (name_answer.h), in
 * the file helper.
 *
 * Threads: any.
 */
#ifndef SYMBOLS_NAMES_NAME_READER_H
#define SYMBOLS_NAMES_NAME_READER_H

#include "base/err.h"
#include "symbols/names/name_answer.h"

/*
 * Check that the bytes of `question` are a list of at most NAME_QUESTION_MAX
 * addresses. ERR_INVALID: they are not.
 */
NODISCARD int name_question_check(struct bytes question, struct err *err);

/* Return the number of addresses. */
size_t name_question_count(struct bytes question);

/*
 * Return address number `i`, counted from 0; the bytes of `question` need not
 * be aligned.
 */
uint64_t name_question_address(struct bytes question, size_t i);

#endif
