/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/names/name_reader.h"

int name_question_check(struct bytes question, struct err *err)
{
	if (question.len % sizeof(uint64_t) ||
	    name_question_count(question) > NAME_QUESTION_MAX)
		return err_set(err, ERR_INVALID,
			       "invalid request for names: it has %zu bytes",
			       question.len);
	return 0;
}

size_t name_question_count(struct bytes question)
{
	return question.len / sizeof(uint64_t);
}

uint64_t name_question_address(struct bytes question, size_t i)
{
	uint64_t address;

	memcpy(&address, question.ptr + i * sizeof(address), sizeof(address));
	return address;
}
