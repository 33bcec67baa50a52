/* SPDX-License-Identifier: Apache-2.0 */
#include "remotewrite/sender/batch.h"

size_t batch_bytes(const struct batch *b)
{
	size_t sum = 0;

	for (const struct queued_sample *i = b->first; i; i = i->next)
		sum += i->sample.raw_len;
	return sum;
}

struct batch batch_cut(struct queued_sample **list, size_t max_count,
		       size_t max_bytes)
{
	struct batch b = { .first = *list };
	struct queued_sample **end = &b.first;
	size_t bytes = 0;

	while (*end && b.count < max_count) {
		size_t one = (*end)->sample.raw_len;

		if (b.count && (bytes > max_bytes || one > max_bytes - bytes))
			break;
		bytes += one;
		b.count++;
		end = &(*end)->next;
	}
	*list = *end;
	*end = NULL;
	return b;
}
