/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part that fuzzers of service discoveries have in common: the answers in an
 * input, and the checks of the targets that a provider has found.
 *
 * Ownership: answers are borrowed from the input.
 * Threads: one thread.
 */
#ifndef TESTS_FUZZ_SD_INPUT_H
#define TESTS_FUZZ_SD_INPUT_H

#include "discovery/core/provider.h"

/* Removes and returns the next answer of the input. */
static struct bytes take_answer(struct bytes *input)
{
	const uint8_t *end = memchr(input->ptr, 0xff, input->len);
	struct bytes text = *input;

	if (end)
		text.len = (size_t)(end - input->ptr);
	input->ptr += text.len + (end != NULL);
	input->len -= text.len + (end != NULL);
	return text;
}

/* Every label has a valid name and a value. */
static void check_labels(const struct label_list *l)
{
	for (; l; l = l->rest) {
		for (size_t i = 0; i < l->count; i++) {
			struct str name = l->v[i].name;
			struct str value = l->v[i].value;

			if (!name.len || !value.len || !str_is_utf8(value) ||
			    value.len > LABEL_VALUE_MAX)
				__builtin_trap();
			for (size_t k = 0; k < name.len; k++) {
				if ((unsigned char)name.ptr[k] >= 0x80)
					__builtin_trap();
			}
		}
	}
}

/* Checks all labels and the number of targets. */
static void check_found(const struct provider *p)
{
	for (size_t i = 0; i < p->found.count; i++) {
		const struct target_groups *g = p->found.v[i];
		size_t targets = 0;

		for (size_t k = 0; k < g->count; k++) {
			check_labels(&g->v[k].labels);
			for (size_t t = 0; t < g->v[k].target_count; t++)
				check_labels(&g->v[k].targets[t]);
			targets += g->v[k].target_count;
		}
		if (targets != g->targets)
			__builtin_trap();
	}
}

#endif
