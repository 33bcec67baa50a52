/* SPDX-License-Identifier: Apache-2.0 */
#include "remotewrite/wire/batch.h"

#include "base/clock.h"
#include "base/mem.h"

struct queued_sample *queued_sample_new(const struct logged_sample *s,
					struct bytes labels)
{
	struct queued_sample *i =
		mem_alloc(sizeof(*i) + labels.len + s->body.len);
	uint8_t *at = (uint8_t *)(i + 1);

	*i = (struct queued_sample){ .sample = *s,
				     .queued_ns = clock_mono_ns() };
	bytes_copy(at, labels);
	i->sample.labels = (struct bytes){ .ptr = at, .len = labels.len };
	at += labels.len;
	bytes_copy(at, s->body);
	i->sample.body = (struct bytes){ .ptr = at, .len = s->body.len };
	return i;
}

size_t queued_sample_size(const struct queued_sample *i)
{
	return sizeof(*i) + i->sample.labels.len + i->sample.body.len;
}

void queued_sample_free_all(struct queued_sample *list)
{
	while (list) {
		struct queued_sample *next = list->next;

		mem_free(list);
		list = next;
	}
}

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
